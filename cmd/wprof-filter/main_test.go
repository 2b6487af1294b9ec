package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/format/check"
	"wprof/format/textform"
	"wprof/test/fromtext"
	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }

const text = `
section boot_id=b open=0 close=9000
task 1 comm=swapper process_comm=swapper flags=idle
task 2 tid=20 pid=20 comm=ping process_comm=ping start=5
task 3 tid=30 pid=30 comm=pong process_comm=pong start=6
task 4 tid=31 pid=30 comm=side process_comm=pong start=7
task 5 tid=20 pid=20 comm=pong process_comm=pong start=5 continues=2
0 cpu0 state_cpu 1 prio=120 since=-10
0 cpu1 state_cpu 4 prio=120 since=-20
0 cpu0 state_thread 2 state=S prio=120 since=-30
0 cpu1 state_thread 3 state=D prio=120 since=-40 woken=-5 waker=1
1000 cpu1 waking 4 wakee=2 target_cpu=0
1500 cpu0 switch 1 next=2 since=-30 next_state=S
2000 cpu0 rename 5 prev=2
2500 cpu1 switch 4 next=3 prev_state=R+
3000 cpu0 waking 5 wakee=4
3500 cpu0 switch 5 next=4 prev_state=S since=2500 next_state=R+
3600 cpu1 lost from=3550 count=2 cause=ring
4000 cpu1 switch 3 next=1 prev_state=S
5000 cpu0 exit 4
5100 cpu0 switch 4 next=5 prev_state=X
9000 cpu0 state_cpu 5 prio=120 open
9000 cpu1 state_cpu 1 prio=120 open
9000 cpu1 state_thread 3 state=S prio=120 since=4000 open
end close=9000
`

// contents returns a stream's definitions and events as text, without blocks and the filters' history.
func contents(t *testing.T, stream []byte) string {
	t.Helper()
	var b strings.Builder
	if err := textform.Dump(&b, bytes.NewReader(stream)); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	var lines []string
	for line := range strings.Lines(b.String()) {
		word := strings.Fields(line)[0]
		if word != "block" && word != "history" && word != "config" && word != "section" && word != "end" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// run is one tool; the result is its output, its messages and its exit status.
func run(t *testing.T, stdin io.Reader, args ...string) (out []byte, messages string, status int) {
	t.Helper()
	cmd := exec.Command(tools.Path("wprof-filter"), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.Bytes(), stderr.String(), cmd.ProcessState.ExitCode()
}

// chain runs filters at the same time, each reading what the one before it writes.
func chain(t *testing.T, stream []byte, filters [][]string) []byte {
	t.Helper()
	var in io.Reader = bytes.NewReader(stream)
	var out bytes.Buffer
	var cmds []*exec.Cmd
	for i, args := range filters {
		cmd := exec.Command(tools.Path("wprof-filter"), args...)
		cmd.Stdin, cmd.Stderr = in, os.Stderr
		if i == len(filters)-1 {
			cmd.Stdout = &out
		} else {
			pipe, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			in = pipe
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range cmds {
		if err := cmds[len(cmds)-1-i].Wait(); err != nil {
			t.Fatalf("%v: %v", filters, err)
		}
	}
	return out.Bytes()
}

func TestProcessesInAChainAgreeInAnyOrder(t *testing.T) {
	stream := fromtext.Stream(t, text)
	file := filepath.Join(t.TempDir(), "in.wprof")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3][]string{
		{{"-n", "pong"}, {"--cpu", "0"}, {"--start", "1900ns"}},
		{{"-p", "20", "--idle"}, {"-K", "rename"}, {"-N", "ping"}},
		{{"--no-thread-name", "pong"}, {"--end=3us"}, {"--tid", "20,31"}},
		{{"-k", "switch,exit"}, {"-P30"}, {"--start", "1.2us"}},
		{{"--no-idle"}, {"--thread-name", "p*"}, {"-K", "waking"}},
	} {
		want, _, status := run(t, nil, append(append(append(c[0][:len(c[0]):len(c[0])], c[1]...), c[2]...), file)...)
		if status != 0 {
			t.Fatalf("%v: exit status %d", c, status)
		}
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			filters := [][]string{c[order[0]], c[order[1]], c[order[2]]}
			if got := contents(t, chain(t, stream, filters)); got != contents(t, want) {
				t.Errorf("one tool with %v writes\n%sthe chain %v\n%s", c, contents(t, want), filters, got)
			}
		}
	}
}

func TestExitStatus(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, fromtext.Stream(t, text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := write("whole", text)
	cutOff := write("cut", strings.Replace(text, "end close=9000", "", 1))
	newer := write("newer", "section boot_id=b features=0x8000\nend")
	elsewhere := write("elsewhere", strings.ReplaceAll(text, "boot_id=b", "boot_id=c"))
	for _, c := range []struct {
		args    string
		status  int
		message string
	}{
		{whole, 0, ""},
		{"-p 7 " + whole, 0, "nothing of"},
		{whole + " " + elsewhere, 1, "do not share a timeline"},
		{"-p x " + whole, 2, `"x" is not a process or thread id`},
		{"-p 7, " + whole, 2, `--pid: "7," has an empty entry; write one id`},
		{"--no-tid= " + whole, 2, "--no-tid: the value is empty"},
		{"-p 0 " + whole, 2, "--idle"},
		{"-k openat " + whole, 0, "nothing of"}, {"-K openat " + whole, 0, ""}, {"-k openatt " + whole, 2, `"openatt" is not one of its values`},
		{"-k swich " + whole, 2, "did you mean switch?"}, {"-K renam " + whole, 2, "did you mean rename?"},
		{"-k state_cpu " + whole, 2, `"state_cpu" is not one of its values`},
		{"-K lost " + whole, 2, `"lost" is not one of its values`},
		{"--cpu 3-1 " + whole, 2, "0-3,7"},
		{"--start 2s --end 1s " + whole, 2, "--start is not before --end"},
		{"--start= " + whole, 2, "--start: the value is empty; "},
		{"--end= " + whole, 2, "--end: the value is empty; "},
		{"--start=-1s " + whole, 2, `"-1s" is negative`},
		{"--start @noon " + whole, 2, "is not a time of day"},
		{"--start @2026-01-01T00:00:00Z " + whole, 2, "it has no time of day"},
		{"--children " + whole, 2, "--pid"},
		{"-n @" + filepath.Join(dir, "missing") + " " + whole, 2, "missing"},
		{newer, 3, "newer version"},
		{cutOff, 4, " are missing; the output has all the rest that the filters keep"},
		{"--fail-on-loss " + whole, 5, "are missing"},
		{"--fail-on-loss --end 2us " + whole, 0, ""},
		{"-o " + whole + " " + whole, 1, "it is the input as well"},
		{filepath.Join(dir, "missing"), 1, "missing"},
	} {
		out, messages, status := run(t, nil, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(messages, c.message) || c.message == "" && messages != "" {
			t.Errorf("%s: exit status %d, message %q; want %d, %q", c.args, status, messages, c.status, c.message)
		}
		if (status == 0 || status == 4 || status == 5 || strings.Contains(c.args, elsewhere)) && contents(t, out) == "" && !strings.Contains(c.args, "-p 7") {
			t.Errorf("%s: the output is empty", c.args)
		}
	}
}

// If nothing is kept, the tool reports the reason.
func TestNothingKeptSaysWhy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, fromtext.Stream(t, text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := write("whole", text)
	empty := write("empty", "section boot_id=b open=1000 close=9000\nend")
	lost := write("lost", "section boot_id=b open=1000 close=9000\n2000 all lost from=1500 count=3 cause=ring\nend close=9000")
	some := write("some", "section boot_id=b open=1000 close=9000\ntask 1 tid=4 pid=4\n1500 cpu0 exit 1\n2000 all lost from=1500 count=3 cause=ring\nend close=9000")
	broken := write("broken", "section boot_id=b open=1000 close=9000\ntask 1 tid=4 pid=4\nblock events bad_crc\n1500 cpu0 exit 1\nend close=9000")
	half := write("half", "section boot_id=b open=1000 close=9000\ntask 1 tid=4 pid=4\n1200 cpu0 exit 1\nblock events bad_crc\n1500 cpu0 exit 1\nend close=9000")
	opened := write("opened", "section boot_id=b open=1000 close=9000\n  clock monotonic=1000 realtime=1700000000000000000\ntask 1 tid=4 pid=4\n1200 cpu0 exit 1\nend close=9000")
	for _, c := range []struct {
		args   string
		status int
		why    string
	}{
		{"-p 7 " + whole, 0, "no event meets the conditions, as far as events were not lost"},
		{"-p 7 " + opened, 0, "no event meets the conditions"},
		{empty, 0, "it has no events"},
		{"-p 7 " + empty, 0, "it has no events"},
		{"--start 1us --end 2us " + empty, 0, "it has no events in the time range"},
		{lost, 0, "it has nothing but reports of lost events"},
		{"-p 7 " + some, 0, "no event meets the conditions, as far as events were not lost"},
		{broken, 4, "none of its events is whole"},
		{"--start 5us " + broken, 4, "nothing that is whole of it lies in the time range"},
		{"-p 7 " + half, 4, "no event that is whole meets the conditions"},
		{"--start 1s " + whole, 0, "its window closes before --start"},
		{"--end @2023-11-14T22:13:19Z " + opened, 0, "its window opens after --end"},
	} {
		out, messages, status := run(t, nil, strings.Fields(c.args)...)
		isOne := strings.Count(messages, "\n") == 1
		if status != c.status || !isOne || !strings.Contains(messages, "is kept: "+c.why+"; the output is an empty capture") {
			t.Errorf("%s: exit status %d, message %q; want %d, %q", c.args, status, messages, c.status, c.why)
		}
		if got := found(t, out); len(got) > 0 {
			t.Errorf("%s: check of the output: %q", c.args, got)
		}
	}
}

// found is what a check of a stream finds.
func found(t *testing.T, stream []byte) []string {
	t.Helper()
	var all []string
	if _, err := check.Stream(bytes.NewReader(stream), func(f check.Finding) { all = append(all, f.Text) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// Of a capture with many processes and their stacks, one process takes little.
func TestOneProcessTakesItsOwnStacksOnly(t *testing.T) {
	const processes = 100
	var b strings.Builder
	b.WriteString("section boot_id=b open=0 close=1000000\n  source 1 name=timer period=1000\nmodule 1 path=[kernel] kind=kernel\n")
	for i := range processes {
		p := i + 10
		fmt.Fprintf(&b, "cmdline %d args=\"program\\x00%d\\x00\"\ntask %d tid=%d pid=%d comm=p%d process_comm=p%d start=5 command=%d\nmodule %d path=/bin/p%d kind=file\n",
			p, p, p, p, p, p, p, p, p, p)
		for j := range 20 {
			fmt.Fprintf(&b, "frame %d%02d module=%d offset=0x%d00 function_offset=0x9\n  line function=function_%d_%d\nstack %d%02d frames=%d%02d\n",
				p, j, p, j+1, i, j, p, j, p, j)
		}
	}
	for i := range processes * 40 {
		fmt.Fprintf(&b, "%d cpu0 sample %d stack=%d%02d source=1\n", 10*i, i%processes+10, i%processes+10, i/processes%20)
	}
	b.WriteString("end close=1000000")
	stream := fromtext.Stream(t, b.String())
	out, _, status := run(t, bytes.NewReader(stream), "-p", "42")
	if got := found(t, out); status != 0 || len(got) > 0 {
		t.Fatalf("exit status %d, check of the output: %q", status, got)
	}
	kept := contents(t, out)
	for what, want := range map[string]int{" sample 42 ": 40, " sample ": 40, "stack 42": 20, "  stack ": 20, "  frame ": 20, "module 42 ": 1, "  module ": 1, "  task ": 1, "  cmdline ": 1} {
		if n := strings.Count(kept, what); n != want {
			t.Errorf("%q stands %d times in the output, not %d", what, n, want)
		}
	}
	if len(out) > len(stream)/40 {
		t.Errorf("the output has %d bytes of %d", len(out), len(stream))
	}
	if chained := contents(t, chain(t, stream, [][]string{{"-k", "sample"}, {"-p", "42"}})); chained != kept {
		t.Errorf("the chain writes\n%sone tool\n%s", chained, kept)
	}
}

func TestListsComeFromFiles(t *testing.T) {
	list := filepath.Join(t.TempDir(), "pids")
	if err := os.WriteFile(list, []byte("# those that matter\n20\n\n31\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stream := fromtext.Stream(t, text)
	a, _, _ := run(t, bytes.NewReader(stream), "--tid", "@"+list)
	b, _, _ := run(t, bytes.NewReader(stream), "--tid", "20", "--tid=31")
	if contents(t, a) != contents(t, b) || len(contents(t, a)) < 500 {
		t.Errorf("from the file\n%sfrom flags\n%s", contents(t, a), contents(t, b))
	}
}

func TestFileIsCompressedAndPipeIsNot(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	stream := fromtext.Stream(t, text)
	toPipe, _, _ := run(t, bytes.NewReader(stream))
	run(t, bytes.NewReader(stream), "-o", out)
	toFile, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	requested, _, _ := run(t, bytes.NewReader(stream), "-z1")
	packed := func(b []byte) bool {
		r := format.NewBlockReader(bytes.NewReader(b))
		for {
			block, err := r.Next()
			if err != nil {
				return false
			}
			if block.Header.Flags&format.BlockZstd != 0 {
				return true
			}
		}
	}
	if packed(toPipe) || !packed(toFile) || !packed(requested) {
		t.Errorf("compressed: pipe %v, file %v, -z1 %v; want false, true, true", packed(toPipe), packed(toFile), packed(requested))
	}
	if contents(t, toPipe) != contents(t, toFile) {
		t.Error("file and pipe do not say the same")
	}
}

// A live stream that stays open is left when a second has passed in it after the range.
func TestPipeIsClosedASecondAfterTheRange(t *testing.T) {
	live := strings.NewReplacer(" close=9000\n", "\n", "end close=9000", "2s cpu0 free 4")
	stream := fromtext.Stream(t, live.Replace(text))
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	go writer.Write(stream)
	out, messages, status := run(t, reader, "--end", "3us")
	if status != 0 || messages != "" {
		t.Errorf("exit status %d, %s", status, messages)
	}
	if got := contents(t, out); !strings.Contains(got, "+0.000003000 cpu0 state_cpu 5") || strings.Contains(got, "exit") {
		t.Errorf("got\n%s", got)
	}
}

// On a live stream in which nothing happens, the clock decides.
func TestLiveStreamEndsASecondAfterTheRange(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	w := format.NewWriter(writer, format.WriterOptions{Live: true})
	session := &format.Session{Id: 1, BootId: "b", Open: 1000, Clocks: []*format.ClockSnapshot{{Monotonic: 1000, Realtime: time.Now().UnixNano()}}}
	e := format.Event{Time: 2000, Kind: format.KindStateCPU, Flags: format.FlagSubject, Task: 1}
	for _, err := range []error{w.Begin(session), w.DefineTask(&format.Task{Id: 1, Tid: 5, Pid: 5}), w.Write(&e), w.Flush()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	out, messages, status := run(t, reader, "--end", "100ms")
	if took := time.Since(start); took < 900*time.Millisecond || took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if status != 0 || messages != "" {
		t.Errorf("exit status %d, %s", status, messages)
	}
	if got := contents(t, out); !strings.Contains(got, "+0.100000000 cpu0 state_cpu 1 prio=0 open") {
		t.Errorf("got\n%s", got)
	}
}

// Events of a live stream are written before further ones arrive.
func TestLiveStreamIsPassedOnAtOnce(t *testing.T) {
	cmd := exec.Command(tools.Path("wprof-filter"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := format.NewWriter(in, format.WriterOptions{Live: true})
	e := format.Event{Time: 2000, Kind: format.KindExit, Flags: format.FlagSubject, Task: 1}
	for _, err := range []error{w.Begin(&format.Session{Id: 1, BootId: "b", Open: 1000}), w.DefineTask(&format.Task{Id: 1, Tid: 5}), w.Write(&e), w.Flush()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := format.NewReader(out)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Next(); err != nil || got.Kind != format.KindExit {
		t.Errorf("got %v, %v; want the exit while the input is open", got, err)
	}
	in.Close()
	io.Copy(io.Discard, out)
	cmd.Wait()
}

// Mistakes in conditions are shown at their place, before anything is read or written.
func TestAroundRefusesWithThePlace(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--around=spam(req) > 50ms", "  spam(req) > 50ms\n  ^~~~ did you mean span?"},
		{"--around=span(req) > 50", "  span(req) > 50\n              ^~"},
		{"--before=5ms", "--before is for what surrounds the conditions of --around"},
		{"--after=5x", "the unit is one of"},
	} {
		r := tools.Try(t, time.Minute, nil, "wprof-filter", c.args, filepath.Join(t.TempDir(), "absent.wprof"))
		if r.Status != 2 || !strings.Contains(string(r.Stderr), c.want) || len(r.Stdout) > 0 {
			t.Errorf("%s: status %d: %s", c.args, r.Status, r.Stderr)
		}
	}
}

// From a pipe and from a file, several conditions are alternatives, and what is found nowhere is said.
func TestAroundOnAPipe(t *testing.T) {
	stream := fromtext.Stream(t, text)
	file := filepath.Join(t.TempDir(), "in.wprof")
	if err := os.WriteFile(file, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--around", "event(rename)", "--around", "offcpu(side) > 400ns", "--around", "span(none) > 1s", "--before", "100ns", "--after", "100ns"}
	fromPipe := tools.Try(t, time.Minute, stream, "wprof-filter", args...)
	fromFile := tools.Try(t, time.Minute, nil, "wprof-filter", append(args, file)...)
	if a, b := contents(t, fromPipe.Stdout), contents(t, fromFile.Stdout); a != b || fromPipe.Status != 0 || fromFile.Status != 0 {
		t.Errorf("status %d, from a pipe\n%sstatus %d, from a file\n%s", fromPipe.Status, a, fromFile.Status, b)
	}
	if want := "the capture has no span for 'span(none) > 1s'; of spans it has none"; !strings.Contains(string(fromFile.Stderr), want) {
		t.Errorf("%q is missing in %s", want, fromFile.Stderr)
	}
	var stretches []string
	_, err := check.Stream(bytes.NewReader(fromFile.Stdout), func(f check.Finding) { t.Error(f.Text) })
	if err != nil {
		t.Fatal(err)
	}
	tools.Walk(t, bytes.NewReader(fromFile.Stdout), func(r *format.Reader, e *format.Event) {
		s := r.Session()
		if at := fmt.Sprint(s.RangeStart, "-", s.RangeEnd); len(stretches) == 0 || stretches[len(stretches)-1] != at {
			stretches = append(stretches, at)
		}
	})
	// The thread side was preempted from 2500 to 3500, which is no wait; it was blocked at no time.
	if got := fmt.Sprint(stretches); got != "[1900-2101]" {
		t.Errorf("stretches %s", got)
	}
}
