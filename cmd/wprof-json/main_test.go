package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/internal/ndjson"
	"wprof/test/fromtext"
	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }

// Busy and lazy share a CPU for 10 ms: lazy sleeps from the beginning, is woken at 4 ms, and takes the CPU at 5 ms.
const capture = `
section host=box boot_id=b kernel_release=6.18.0 open=1000000000 close=+10000000
  cpu 0 node=3
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
  source 1 name=timer period=1000000
  command wprof-record
  metadata key=job value="night \"7\""
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=busy process_comm=busy start=5
task 3 tid=101 pid=100 comm=lazy process_comm=busy start=6
task 4 tid=102 pid=0 flags=8
task 5 tid=101 pid=100 comm="\xff\"\n" process_comm=busy start=6 continues=3
module 1 path="/bin/busy" build_id=01abcd kind=file
module 2 path="[kernel]" kind=kernel
frame 1 module=1 offset=0x1100 function_offset=0x1a caller
  line function="work" file="work.h" line=3
  line function="main" file="busy.c" line=7
frame 2 module=2 offset=0x10
frame 3 module=2 offset=0x20
  line function="schedule"
stack 1 frames=1
stack 7 frames=1,2,3 kernel_frames=2
+0 cpu0 state_cpu 2 prio=120
+0 cpu0 state_thread 3 state=S prio=120 since=-1000
+2000000 cpu0 sample 2 stack=1 source=1
+4000000 cpu0 waking 2 wakee=3 prio=120 target_cpu=0
+5000000 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=-1000 next_state=S stack=7
+5500000 cpu0 rename 5 prev=3
+6000000 cpu0 switch 5 next=2 prev_state=S prev_prio=120 next_prio=120 since=+5000000 next_state=R+
+7000000 cpu0 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
+8000000 cpu0 waking 4 wakee=2 prio=120 target_cpu=0
+9000000 all lost from=+8000000 count=3 cause=ring what=switch
end close=+10000000
`

const stacks = `
{"id":1,"frames":["[U] main+0x1a","[U] work (inlined)"],"srcs":["busy.c:7","work.h:3"],"modules":["/bin/busy","/bin/busy"]}
{"id":7,"frames":["[U] main+0x1a","[U] work (inlined)","[K] <unknown>","[K] schedule"],"srcs":["busy.c:7","work.h:3","",""],"modules":["/bin/busy","/bin/busy","[kernel]","[kernel]"]}`

const (
	busy = `{"tid":100,"pid":100,"comm":"busy","pcomm":"busy"}`
	lazy = `{"tid":101,"pid":100,"comm":"lazy","pcomm":"busy"}`
)

const events = `
{"ts":0.002000000,"t":"timer","cpu":0,"task":` + busy + `,"stack_id":1}
{"ts":0.004000000,"t":"waking","cpu":0,"waker":` + busy + `,"wakee":` + lazy + `}
{"ts":0.005000000,"t":"switch","cpu":0,"prev":` + busy + `,"next":` + lazy + `,"prev_state":"preempted","prev_prio":120,"next_prio":120,"waking_ts":0.004000000,"waking_reason":"woken","waker":` + busy + `,"waking_cpu":0,"offcpu_dur":0.005000000,"next_state":"interruptible_sleep","offcpu_stack_id":7,"wait_class":"unknown","compound_delay":0.001000000,"compound_chain_len":1}
{"ts":0.005500000,"t":"task_rename","cpu":0,"task":{"tid":101,"pid":100,"comm":"�\"\n","pcomm":"busy","old_comm":"lazy"}}
{"ts":0.006000000,"t":"switch","cpu":0,"prev":{"tid":101,"pid":100,"comm":"�\"\n","pcomm":"busy"},"next":` + busy + `,"prev_state":"interruptible_sleep","prev_prio":120,"next_prio":120,"waking_ts":0.005000000,"waking_reason":"preempted","waker":` + lazy + `,"waking_cpu":0,"offcpu_dur":0.001000000,"next_state":"preempted","wait_class":"preempted","compound_delay":0.001000000,"compound_chain_len":0}
{"ts":0.007000000,"t":"switch","cpu":0,"prev":` + busy + `,"next":{"pid":0,"comm":"swapper/0","pcomm":"swapper/0"},"prev_state":"uninterruptible_sleep","prev_prio":120,"next_prio":120,"offcpu_dur":0.007000000}
{"ts":0.008000000,"t":"waking","cpu":0,"waker":{"tid":102,"pid":0,"comm":"TID 102","pcomm":"<unknown>"},"wakee":` + busy + `}
{"ts":0.009000000,"t":"lost","dur":0.001000000,"start_ts":0.008000000,"count":3,"cause":"ring","what":"switch"}`

func header(dur, count, lost, unit string) string {
	zero := map[string]string{"s": "0.000000000", "ns": "0"}[unit]
	return `{"version":"3.9","timestamp":"2023-11-14T22:13:20Z","dur":` + dur + `,"timer_freq_hz":1000,"capture_sched":true,"capture_wakeup":true,"capture_task_life":true,"capture_ipis":false,"capture_requests":false,"capture_scx":false,"capture_cuda":false,"capture_pystacks":false,"capture_pytrace":false,"capture_pytorch":false,"capture_utrace":false,"stacks":["timer"],"stack_cnt":` + count + `,"pmus":[],"metadata":{"job":"night \"7\""},"extras":["wprof-record"],"host":"box","boot_id":"b","kernel_release":"6.18.0","arch":"","uuid":"dba09dbb-05e7-894c-a519-b1d46b44bf97","start_time":"2023-11-14T22:13:20.000000000Z","start_ts":` + zero + `,"lost":` + lost + `,"time_unit":"` + unit + `"}`
}

func run(t *testing.T, stdin []byte, args ...string) tools.Result {
	t.Helper()
	return tools.Try(t, time.Minute, stdin, "wprof-json", args...)
}

func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	if g, w := lines(got), lines(want); !slices.Equal(g, w) {
		for i := range max(len(g), len(w)) {
			if i >= len(g) || i >= len(w) || g[i] != w[i] {
				t.Errorf("%s: line %d: got\n%s\nwant\n%s", what, i, strings.Join(g[min(i, len(g)):], "\n"), strings.Join(w[min(i, len(w)):], "\n"))
				return
			}
		}
	}
}

// Every type of line, from a file and from a pipe.
func TestLines(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	file := filepath.Join(t.TempDir(), "x.wprof")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	want := header("0.010000000", "2", "3", "s") + stacks + events
	for _, got := range []tools.Result{run(t, nil, file), run(t, stream)} {
		compare(t, "plain", string(got.Stdout), want)
		if got.Status != 0 || strings.Count(string(got.Stderr), "\n") != 1 || !strings.Contains(string(got.Stderr), "not UTF-8") {
			t.Errorf("status %d, %s", got.Status, got.Stderr)
		}
	}
}

func TestWhatIsWritten(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	seven := lines(stacks)[1]
	for _, c := range []struct{ args, want string }{
		{"-k lost", header("0.010000000", "2", "3", "s") + stacks + "\n" + lines(events)[7]},
		{"-k task_rename --no-stacks", strings.Replace(header("0.010000000", "0", "3", "s"), `"stacks":["timer"]`, `"stacks":[]`, 1) + "\n" + lines(events)[3]},
		{"-k rename --no-stacks", strings.Replace(header("0.010000000", "0", "3", "s"), `"stacks":["timer"]`, `"stacks":[]`, 1) + "\n" + lines(events)[3]},
		{"-k timer,lost --fields cause,cpu --time ns", header("10000000", "2", "3", "ns") + stacks + `
			{"ts":2000000,"t":"timer","cpu":0}
			{"ts":9000000,"t":"lost","cause":"ring"}`},
		{"-k timer -e numa --fields numa", header("0.010000000", "2", "3", "s") + stacks + `
			{"ts":0.002000000,"t":"timer","numa":3}`},
		{"--stream -k switch --fields offcpu_stack_id,offcpu_dur", header("0.010000000", "null", "null", "s") + "\n" + seven + `
			{"ts":0.005000000,"t":"switch","offcpu_dur":0.005000000,"offcpu_stack_id":7}
			{"ts":0.006000000,"t":"switch","offcpu_dur":0.001000000}
			{"ts":0.007000000,"t":"switch","offcpu_dur":0.007000000}`},
		{"--stream -k switch --fields offcpu_dur", header("0.010000000", "null", "null", "s") + `
			{"ts":0.005000000,"t":"switch","offcpu_dur":0.005000000}
			{"ts":0.006000000,"t":"switch","offcpu_dur":0.001000000}
			{"ts":0.007000000,"t":"switch","offcpu_dur":0.007000000}`},
	} {
		got := run(t, stream, strings.Fields(c.args)...)
		if got.Status != 0 {
			t.Errorf("%s: status %d: %s", c.args, got.Status, got.Stderr)
		}
		compare(t, c.args, string(got.Stdout), c.want)
	}
}

// TestOffCPUStackOfTheThreadThatLeaves: by default the stack of a switch is that of the thread that comes back. The idle thread has
// the time in which its CPU was not idle, and none after a loss.
func TestOffCPUStackOfTheThreadThatLeaves(t *testing.T) {
	begin, _, _ := strings.Cut(capture, "+0 cpu0")
	begin = strings.Replace(begin, "  command wprof-record\n", "  command wprof-record\n  config key=features value=\"sched,samples\"\n", 1)
	stream := fromtext.Stream(t, begin+`
		+0 cpu0 state_cpu 2 prio=120
		+1000000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		+2000000 cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		+2500000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120 since=+1000000 next_state=S stack=7
		+4000000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		+5000000 cpu0 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+2500000 next_state=S stack=1
		+6000000 all lost from=+5500000 count=3 cause=ring what=switch
		+7000000 cpu0 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+10000000
	`)
	for args, want := range map[string]string{
		"": `
			{"ts":0.001000000,"t":"switch","offcpu_dur":0.001000000}
			{"ts":0.002000000,"t":"switch"}
			{"ts":0.002500000,"t":"switch","offcpu_dur":0.001500000,"offcpu_stack_id":7}
			{"ts":0.004000000,"t":"switch","offcpu_dur":0.002000000}
			{"ts":0.005000000,"t":"switch","offcpu_dur":0.002500000,"offcpu_stack_id":1}
			{"ts":0.007000000,"t":"switch"}`,
		"-e prev-stack": `
			{"ts":0.001000000,"t":"switch","offcpu_dur":0.001000000,"offcpu_stack_id":7}
			{"ts":0.002000000,"t":"switch"}
			{"ts":0.002500000,"t":"switch","offcpu_dur":0.001500000,"offcpu_stack_id":1}
			{"ts":0.004000000,"t":"switch","offcpu_dur":0.002000000}
			{"ts":0.005000000,"t":"switch","offcpu_dur":0.002500000}
			{"ts":0.007000000,"t":"switch"}`,
	} {
		got := run(t, stream, append(strings.Fields(args), "-k", "switch", "--fields", "offcpu_stack_id,offcpu_dur")...)
		head, rest, _ := strings.Cut(string(got.Stdout), "\n")
		compare(t, args, rest, stacks[1:]+want)
		if !strings.Contains(head, `"capture_sched":true,"capture_wakeup":false,"capture_task_life":false`) {
			t.Errorf("the header is %s", head)
		}
	}
	if got := run(t, stream, "-e", "prev-stack", "--stream"); got.Status != 2 || !strings.Contains(string(got.Stderr), "leave out --stream") {
		t.Errorf("with --stream: status %d: %s", got.Status, got.Stderr)
	}
}

// TestInterruptsThatWakeAreNamed: the thread that an interrupt had interrupted is its waker in name only.
func TestInterruptsThatWakeAreNamed(t *testing.T) {
	stream := fromtext.Stream(t, strings.Replace(capture, "waking 2 wakee=3 prio=120 target_cpu=0", "waking 2 wakee=3 prio=120 target_cpu=0 interrupt", 1))
	got := run(t, stream, "-k", "waking,switch", "--no-stacks")
	context := `,"waking_context":"interrupt"`
	all := lines(events)
	all[1] = strings.Replace(all[1], `}}`, `}`+context+`}`, 1)
	all[2] = strings.Replace(all[2], `"waking_cpu":0`, `"waking_cpu":0`+context, 1)
	all[2] = strings.Replace(all[2], `,"offcpu_stack_id":7`, "", 1)
	if want := []string{all[1], all[2], all[4], all[5], all[6]}; got.Status != 0 || !slices.Equal(lines(string(got.Stdout))[1:], want) {
		t.Errorf("status %d: %s\ngot\n%s\nwant\n%s", got.Status, got.Stderr, got.Stdout, strings.Join(want, "\n"))
	}
}

// TestInterruptsHaveTheirTime: the switch from a thread has the time that interrupts took of its running interval, and the one to a thread
// the interrupt that woke it.
func TestInterruptsHaveTheirTime(t *testing.T) {
	stream := fromtext.Stream(t, `section host=box boot_id=b open=1000000 close=+1000
task 1 comm=idle flags=idle
task 2 tid=20 pid=20 comm=ping start=5
task 3 tid=30 pid=30 comm=pong start=6
text 1 text="eth0"
eventtype 1 name="hardirq" shape=span on=cpu interrupts=hard
  field "handler" type=text hint=name
eventtype 2 name="softirq" shape=span on=cpu interrupts=soft
+0 cpu0 state_cpu 2 since=-50
+0 cpu0 state_thread 3 state=S since=-50
+50 cpu0 typed 2 type=2 start=-10
+220 cpu0 waking 2 wakee=3 interrupt
+230 cpu0 typed 2 type=1 start=+210 .handler=1
+300 cpu0 typed 2 type=2 start=+200
+400 cpu0 switch 2 next=3 prev_state=R since=-50 next_state=S
+500 cpu0 switch 3 next=1 prev_state=S
+510 cpu0 typed 1 type=1 start=+503 .handler=1
+600 cpu0 switch 1 next=3 prev_state=R since=+500 next_state=S
end close=+1000
`)
	got := run(t, stream, "-k", "switch", "--no-stacks")
	all := lines(string(got.Stdout))[1:]
	if got.Status != 0 || len(all) != 3 {
		t.Fatalf("status %d: %s%s", got.Status, got.Stderr, got.Stdout)
	}
	for i, want := range []string{`"waking_context":"interrupt","waking_interrupt":"hardirq:eth0",`, "", ""} {
		if want != "" && !strings.Contains(all[i], want) || want == "" && strings.Contains(all[i], "waking_interrupt") {
			t.Errorf("%s lacks %s, or has an interrupt", all[i], want)
		}
	}
	for i, want := range []string{`"interrupts_dur":0.000000150`, "", `"interrupts_dur":0.000000007`} {
		if want != "" && !strings.Contains(all[i], want) || want == "" && strings.Contains(all[i], "interrupts_dur") {
			t.Errorf("%s lacks %s, or has a time in interrupts", all[i], want)
		}
	}
}

// A part of the time: what began before it is reported from its start on.
func TestTimeRange(t *testing.T) {
	got := run(t, fromtext.Stream(t, capture), "--start", "4.5ms", "--end", "5.2ms", "-k", "switch")
	switched := `{"ts":0.005000000,"t":"switch","cpu":0,"prev":` + busy + `,"next":` + lazy + `,"prev_state":"preempted","prev_prio":120,"next_prio":120,"waking_reason":"woken","waker":` + busy + `,"waking_cpu":0,"offcpu_dur":0.000500000,"next_state":"interruptible_sleep","offcpu_stack_id":7,"wait_class":"unknown","compound_delay":0.001000000,"compound_chain_len":1}`
	if got.Status != 0 {
		t.Errorf("status %d: %s", got.Status, got.Stderr)
	}
	all := lines(string(got.Stdout))
	if !strings.Contains(all[0], `"dur":0.000700000`) || !strings.Contains(all[0], `"start_ts":0.004500000`) || !strings.Contains(all[0], "--start 4.5ms") || all[len(all)-1] != switched {
		t.Errorf("got\n%s\nwant\n%s", got.Stdout, switched)
	}
}

// Two recordings have one header, and a line for the time between them. Each has its own stack ids.
func TestTwoRecordings(t *testing.T) {
	later := strings.NewReplacer("open=1000000000", "open=3000000000", "monotonic=1000000000", "monotonic=3000000000",
		"key=job", "key=again", "command wprof-record", `command wprof-record -o "b c"`).Replace(capture)
	stream := append(fromtext.Stream(t, capture), fromtext.Stream(t, later)...)
	all := lines(string(run(t, stream, "-k", "gap,lost").Stdout))
	for _, want := range []string{`"dur":2.010000000`, `"stack_cnt":4`, `"metadata":{"again":"night \"7\"","job":"night \"7\""}`, `"lost":6`, `"extras":["wprof-record","wprof-record -o 'b c'"]`} {
		if !strings.Contains(all[0], want) {
			t.Errorf("the header lacks %s: %s", want, all[0])
		}
	}
	lost := lines(events)[7]
	want := []string{lost, `{"ts":2.000000000,"t":"gap","dur":1.990000000,"start_ts":0.010000000}`, strings.Replace(lost, `"ts":0.`, `"ts":2.`, 1)}
	want[2] = strings.Replace(want[2], `"start_ts":0.`, `"start_ts":2.`, 1)
	if !slices.Equal(all[5:], want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(all[5:], "\n"), strings.Join(want, "\n"))
	}
	if got := lines(string(run(t, stream, "-k", "gap,lost", "--start", "1s").Stdout)); !strings.Contains(got[0], `"dur":0.010000000`) || !strings.Contains(got[0], `"start_ts":2.000000000`) || !slices.Equal(got[3:], want[2:]) {
		t.Errorf("a part of the second: %s", got)
	}
	if got := lines(string(run(t, fromtext.Stream(t, capture), "-k", "switch", "--fields", "offcpu_stack_id").Stdout)); !strings.Contains(got[3], `"offcpu_stack_id":7`) {
		t.Errorf("got %s", got)
	}
	second := lines(string(run(t, stream, "-k", "switch", "--fields", "offcpu_stack_id").Stdout))
	if !strings.HasPrefix(second[4], `{"id":14,`) || !strings.Contains(second[8], `"offcpu_stack_id":14`) {
		t.Errorf("stacks of the second recording: %s", second)
	}
}

func TestArrayIsOneValue(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	plain := lines(string(run(t, stream).Stdout))
	for _, stream := range [][]byte{stream, stream[:len(stream)-60]} {
		var all []json.RawMessage
		got := run(t, stream, "--array")
		if err := json.Unmarshal(got.Stdout, &all); err != nil {
			t.Fatalf("%v: %s", err, got.Stdout)
		}
		for i, value := range all[1:] {
			if i+1 < len(plain) && string(value) != plain[i+1] {
				t.Errorf("element %d is %s, want %s", i+1, value, plain[i+1])
			}
		}
	}
}

func TestExitStatusDependsOnTheInput(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	other := strings.NewReplacer("boot_id=b", "boot_id=c", "host=box", "host=other").Replace(capture)
	quiet := []string{"--no-stacks", "-k", "waking,switch,timer,lost", "--fields", "cpu"}
	for _, c := range []struct {
		what   string
		stdin  []byte
		args   string
		status int
		stderr string
		output bool
	}{
		{"a truncated stream", stream[:len(stream)-60], "", 4, "damaged", true},
		{"a truncated stream, as it comes", stream[:len(stream)-60], "--stream", 4, "damaged", true},
		{"a truncated stream, a part of it", stream[:len(stream)-60], "--start 1ms", 4, "damaged", true},
		{"no stream", []byte("hello"), "", 1, "not a wprof stream", false},
		{"no stream, as it comes", []byte("hello"), "--stream", 1, "not a wprof stream", false},
		{"no stream, a part of it", []byte("hello"), "--start 1ms", 1, "not a wprof stream", false},
		{"a newer stream", fromtext.Stream(t, strings.Replace(capture, "section ", "section major=9 ", 1)), "", 3, "newer", false},
		{"two machines", append(bytes.Clone(stream), fromtext.Stream(t, other)...), "", 1, "different machines", false},
		{"two machines, as they come", append(bytes.Clone(stream), fromtext.Stream(t, other)...), "--stream", 1, "different machines", true},
		{"a kind without a source", stream, "-k hardirq", 0, "does not record them", true},
		{"nothing in the range", stream, "--start 1h", 0, "the output has no events", true},
		{"a loss that fails", stream, "--fail-on-loss", 5, "are missing", true},
	} {
		got := run(t, c.stdin, append(quiet, strings.Fields(c.args)...)...)
		messages := strings.Split(strings.TrimSuffix(string(got.Stderr), "\n"), "\n")
		messages = slices.DeleteFunc(messages, func(line string) bool { return strings.Contains(line, "UTF-8") })
		if got.Status != c.status || len(messages) != 1 || !strings.Contains(messages[0], c.stderr) {
			t.Errorf("%s: status %d, want %d; stderr %q", c.what, got.Status, c.status, got.Stderr)
		}
		if len(got.Stdout) > 0 != c.output {
			t.Errorf("%s: %d bytes of output, want some: %v", c.what, len(got.Stdout), c.output)
		}
		for _, line := range lines(string(got.Stdout)) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: no JSON: %s", c.what, line)
			}
		}
	}
}

func TestWrongUsageIsRefused(t *testing.T) {
	for _, c := range []struct{ args, stderr string }{
		{"-k swich", "did you mean switch?"}, {"-k renam", "did you mean rename?"}, {"-k exi", "did you mean exit or"},
		{"--fields tss", "did you mean ts or task?"},
		{"-e nuna", "numa"},
		{"--time ms", "not one of its values"},
		{"--parquet x --chrome", "--parquet does not go with --chrome"},
		{"--parquet x -o y", "--parquet does not go with --output"},
		{"--parquet=", "the name of the file is empty"},
		{"--chrome --stream", "--chrome does not go with --stream"},
		{"--schema=html", "not one of its values"},
		{"--schema FILE", "--schema takes no file"},
		{"--start x", "time of day"},
		{"-p 12", "wprof-filter -p PID FILE | wprof-json"},
	} {
		got := run(t, nil, strings.Fields(c.args)...)
		if got.Status != 2 || !strings.Contains(string(got.Stderr), c.stderr) || len(got.Stdout) > 0 || strings.Count(string(got.Stderr), "\n") != 1 {
			t.Errorf("%q: status %d, stderr %q, %d bytes", c.args, got.Status, got.Stderr, len(got.Stdout))
		}
	}
}

// The page in the documentation is what the tool prints.
func TestPageIsCurrent(t *testing.T) {
	want, err := ndjson.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil || !bytes.Equal(page, want) {
		t.Errorf("docs/json.md is not what it should be (%v): wprof-json --schema=md > docs/json.md", err)
	}
	if got := run(t, nil, "--schema=md"); !bytes.Equal(got.Stdout, want) {
		t.Errorf("--schema=md prints %.200s", got.Stdout)
	}
}

// A folder never holds files of two captures, and one that was made for nothing goes again.
func TestColumnsOfOneCaptureOnly(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	dir := filepath.Join(t.TempDir(), "columns")
	if got := run(t, []byte("hello"), "--parquet", dir); got.Status != 1 {
		t.Errorf("no stream: status %d", got.Status)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was left behind")
	}
	for _, c := range []struct {
		args, stderr string
		status       int
	}{
		{"-k switch,timer", "", 0}, {"", "", 0}, {"", "", 0},
		{"-k switch", "waking.parquet of an earlier conversion", 1}, {"--no-stacks", "stacks.parquet of an earlier conversion", 1},
	} {
		got := run(t, stream, append(strings.Fields(c.args), "--parquet", dir)...)
		if got.Status != c.status || !strings.Contains(string(got.Stderr), c.stderr) {
			t.Errorf("%q: status %d, %s", c.args, got.Status, got.Stderr)
		}
	}
}

// TestCgroupsOfTasks: -e cgroup adds what is known of each task, and nothing else.
func TestCgroupsOfTasks(t *testing.T) {
	const id = "3f8a1c0de5b74a6990c2d1e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8"
	stream := fromtext.Stream(t, `section id=0x1 boot_id=b open=0 close=10000
text 1 text="/kubepods.slice/kubepods-pod2c48913c_b29f_11e7_9350_020968147796.slice/cri-containerd-`+id+`.scope"
text 2 text="(lost)"
task 1 tid=20 pid=20 comm=a process_comm=a start=5 cgroup=1 ns_tid=2 ns_pid=1
task 2 tid=30 pid=30 comm=b process_comm=b start=6 cgroup=2
task 3 tid=31 pid=31 comm=c process_comm=c start=7
100 cpu0 free 1
101 cpu0 free 2
102 cpu0 free 3
end
`)
	plain := `{"ts":0.000000100,"t":"task_free","cpu":0,"task":{"tid":20,"pid":20,"comm":"a","pcomm":"a"@1}}
{"ts":0.000000101,"t":"task_free","cpu":0,"task":{"tid":30,"pid":30,"comm":"b","pcomm":"b"}}
{"ts":0.000000102,"t":"task_free","cpu":0,"task":{"tid":31,"pid":31,"comm":"c","pcomm":"c"}}
`
	more := `,"cgroup":"/kubepods.slice/kubepods-pod2c48913c_b29f_11e7_9350_020968147796.slice/cri-containerd-` + id + `.scope","runtime":"containerd","container":"` + id +
		`","pod":"2c48913c-b29f-11e7-9350-020968147796","unit":"cri-containerd-` + id + `.scope","ns_tid":2,"ns_pid":1`
	for flag, extra := range map[string]string{"-e=cgroup": more, "--time=s": ""} {
		_, got, _ := strings.Cut(string(run(t, stream, flag).Stdout), "\n")
		if want := strings.Replace(plain, "@1", extra, 1); got != want {
			t.Errorf("%s: got\n%swant\n%s", flag, got, want)
		}
	}
}
