package chrome

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
)

// machine begins a capture of 1 ms on two CPUs.
const machine = `
section host=box boot_id=b kernel_release=6.18.0 open=1000000000 close=+1000000
  command "wprof-record" "-S"
  metadata key=run value=7
  cpu 0 node=0
  cpu 1 node=1
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
  source 1 name=timer period=1000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=ping process_comm=ping start=5
task 3 tid=101 pid=100 comm=pong process_comm=ping start=6
task 4 tid=200 pid=200 comm=hog process_comm=hog start=7
`

func frames() string {
	return `
module 1 path="/bin/ping" build_id=01abcd kind=file
module 2 path="[kernel]" kind=kernel
frame 1 module=1 offset=0x1100 caller
  line function="main" file="ping.c" line=7
frame 2 module=2 offset=0x1200 caller
  line function="futex_wait"
frame 3 module=2 offset=0x1300 caller
  line function="schedule"
stack 1 frames=1,2,3 kernel_frames=2
stack 2 frames=1
`
}

const state = `
+0 cpu0 state_cpu 2 prio=120 since=-50
+0 cpu1 state_cpu 1 prio=120
+0 cpu1 state_thread 3 state=S prio=120 since=-100
+0 cpu0 state_thread 4 state=S prio=120 since=-100000
`

func compare(t *testing.T, got []string, want string) {
	t.Helper()
	slices.Sort(got)
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	if !slices.Equal(got, lines) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func TestThreadStatesAndEventsAreDrawn(t *testing.T) {
	for what, c := range map[string]struct{ events, want string }{
		"a waking, with its arrow": {`
+100001 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
+100500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=119 since=-100 next_state=S stack=1
+200000 cpu1 switch 3 next=1 prev_state=D prev_prio=119 next_prio=120
`, `
X Running 100/100 @0.000 +1000.000 {"cpu":0,"open":true,"prio":120}
X ping 4194305/4194321 @0.000 +1000.000 {"pid":100,"prio":120,"tid":100}
X blocked:_futex_wait 100/101 @0.000 +100.001 main;futex_wait;schedule {"length_us":100.101,"prio":120,"state":"S","wait_class":"condition"}
X Runnable 100/101 @100.001 +0.499 {"cpu":1,"prio":120,"waker":"ping 100"}
i wakes_pong 100/100 @100.001 {"cpu":0,"tid":101}
s wakes 100/100 @100.001 id=1
X Running 100/101 @100.500 +99.500 {"cpu":1,"delay_us":0.499,"left":"D","off_us":100.600,"prio":119,"waker":"ping 100","was":"S"}
f wakes 100/101 @100.501 id=1e
X pong 4194305/4194322 @100.500 +99.500 {"pid":100,"prio":119,"tid":101}
X blocked:_unknown_(D) 100/101 @200.000 +800.000 {"open":true,"prio":119,"state":"D"}
X blocked:_unknown_(S) 200/200 @0.000 +1000.000 {"length_us":1100.000,"open":true,"prio":120,"state":"S"}
`},
		"an interrupt that wakes while the CPU is idle": {`
+100000 cpu1 waking 1 wakee=3 prio=120 target_cpu=1 interrupt
+100500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=-100 next_state=S
`, `
X Running 100/100 @0.000 +1000.000 {"cpu":0,"open":true,"prio":120}
X ping 4194305/4194321 @0.000 +1000.000 {"pid":100,"prio":120,"tid":100}
X blocked:_unknown_(S) 100/101 @0.000 +100.000 {"length_us":100.100,"prio":120,"state":"S"}
X Runnable 100/101 @100.000 +0.500 {"cpu":1,"prio":120,"waker":"idle","waking_context":"interrupt"}
i wakes_pong 4194305/4194322 @100.000 {"cpu":1,"tid":101,"waking_context":"interrupt"}
s wakes 4194305/4194322 @100.000 id=1
X Running 100/101 @100.500 +899.500 {"cpu":1,"delay_us":0.500,"off_us":100.600,"open":true,"prio":120,"waker":"idle","waking_context":"interrupt","was":"S"}
f wakes 100/101 @100.501 id=1e
X pong 4194305/4194322 @100.500 +899.500 {"pid":100,"prio":120,"tid":101}
X blocked:_unknown_(S) 200/200 @0.000 +1000.000 {"length_us":1100.000,"open":true,"prio":120,"state":"S"}
`},
		"a preemption, and delays that add up": {`
+1000 cpu0 waking 2 wakee=4 prio=120 target_cpu=0
+2000 cpu0 switch 2 next=4 prev_state=R+ prev_prio=120 next_prio=120 since=-100000 next_state=S
+3000 cpu0 waking 4 wakee=3 prio=120 target_cpu=0
+5000 cpu0 switch 4 next=3 prev_state=S prev_prio=120 next_prio=120 since=-100 next_state=S
+6000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120 since=+2000 next_state=R+
`, `
X Running 100/100 @0.000 +2.000 {"cpu":0,"left":"R+","prio":120}
X ping 4194305/4194321 @0.000 +2.000 {"pid":100,"prio":120,"tid":100}
X blocked:_unknown_(S) 200/200 @0.000 +1.000 {"length_us":101.000,"prio":120,"state":"S"}
X Runnable 200/200 @1.000 +1.000 {"cpu":0,"prio":120,"waker":"ping 100"}
i wakes_hog 100/100 @1.000 {"cpu":0,"tid":200}
s wakes 100/100 @1.000 id=1
X Running 200/200 @2.000 +3.000 {"cpu":0,"delay_us":1.000,"left":"S","off_us":102.000,"prio":120,"waker":"ping 100","was":"S"}
f wakes 200/200 @2.001 id=1e
X hog 4194305/4194321 @2.000 +3.000 {"pid":200,"prio":120,"tid":200}
X blocked:_unknown_(S) 100/101 @0.000 +3.000 {"length_us":3.100,"prio":120,"state":"S"}
X Runnable 100/101 @3.000 +2.000 {"cpu":1,"prio":120,"waker":"hog 200"}
i wakes_pong 200/200 @3.000 {"cpu":0,"tid":101}
s wakes 200/200 @3.000 id=2
X Running 100/101 @5.000 +1.000 {"chain":2,"compound_delay_us":3.000,"cpu":0,"delay_us":2.000,"left":"S","off_us":5.100,"prio":120,"waker":"hog 200","was":"S"}
f wakes 100/101 @5.001 id=2e
X pong 4194305/4194321 @5.000 +1.000 {"pid":100,"prio":120,"tid":101}
X Runnable_(preempted) 100/100 @2.000 +4.000 {"cpu":0,"prio":120}
i preempts_ping 200/200 @2.002 {"cpu":0,"tid":100}
s preempts 200/200 @2.002 id=3
X Running 100/100 @6.000 +994.000 {"cpu":0,"delay_us":4.000,"off_us":4.000,"open":true,"prio":120,"was":"R+"}
f preempts 100/100 @6.001 id=3e
X ping 4194305/4194321 @6.000 +994.000 {"pid":100,"prio":120,"tid":100}
X blocked:_unknown_(S) 200/200 @5.000 +995.000 {"open":true,"prio":120,"state":"S"}
X blocked:_unknown_(S) 100/101 @6.000 +994.000 {"open":true,"prio":120,"state":"S"}
`},
		"a life, a sample and a loss": {`
task 5 tid=300 pid=300 comm=ping process_comm=ping start=1000001000
task 6 tid=300 pid=300 comm=child process_comm=child start=1000001000 continues=5
+1000 cpu0 fork 2 child=5
+1500 cpu0 wakeup_new 2 wakee=5 prio=120 target_cpu=1
+2000 cpu1 switch 1 next=5 prev_state=R prev_prio=120 next_prio=120
+2500 cpu1 rename 6 prev=5
+2600 cpu1 exec 6 prev=6 filename="/bin/child\xff"
+2700 cpu1 sample 6 stack=2 source=1
+3000 cpu1 exit 6 code=9
+4000 cpu1 switch 6 next=1 prev_state=X prev_prio=120 next_prio=120
+9000 cpu0 lost from=+5000 count=3 cause=ring
`, `
X Running 100/100 @0.000 +5.000 {"cpu":0,"prio":120}
X ping 4194305/4194321 @0.000 +5.000 {"pid":100,"prio":120,"tid":100}
i fork:_ping 100/100 @1.000 {"child":300,"cpu":0}
i wakes_ping 100/100 @1.500 {"cpu":0,"tid":300}
s wakes 100/100 @1.500 id=1
X Runnable 300/300 @1.500 +0.500 {"cpu":1,"prio":120,"waker":"ping 100"}
f wakes 300/300 @2.001 id=1e
X Running 300/300 @2.000 +2.000 {"cpu":1,"delay_us":0.500,"left":"X","new":true,"prio":120,"waker":"ping 100"}
X child 4194305/4194322 @2.000 +2.000 {"pid":300,"prio":120,"tid":300}
i rename:_ping_to_child 300/300 @2.500 {"cpu":1}
i exec:_/bin/child� 300/300 @2.600 {"cpu":1}
i sample 300/300 @2.700 main {"cpu":1,"function":"main"}
i exit 300/300 @3.000 {"code":0,"cpu":1,"signal":9}
X lost:_ring 4194306/4259857 @5.000 +4.000 {"cause":"ring","count":3,"length_us":4.000}
X blocked:_unknown_(S) 100/101 @0.000 +5.000 {"length_us":5.100,"prio":120,"state":"S"}
X blocked:_unknown_(S) 200/200 @0.000 +5.000 {"length_us":105.000,"prio":120,"state":"S"}
`},
	} {
		t.Run(what, func(t *testing.T) {
			tr, _, _ := written(t, fromtext.Stream(t, machine+frames()+state+c.events+"end close=+1000000\n"), Options{})
			compare(t, tr.lines(), c.want)
		})
	}
}

func TestProcessesAndThreadsHaveNames(t *testing.T) {
	text := machine + `
cmdline 1 args="/usr/bin/ping -c 1"
task 5 tid=100 pid=100 comm="\x80\"\\\n" process_comm=ping start=5 command=1 continues=2
task 6 tid=7 pid=0 comm="" start=9 flags=8
` + state + `
+10 cpu0 rename 5 prev=2
+20 cpu0 waking 5 wakee=6 prio=120 target_cpu=1
+30 cpu0 switch 5 next=6 prev_state=S prev_prio=120 next_prio=120
end close=+1000000
`
	text = strings.Replace(text, `"/usr/bin/ping -c 1"`, `"/usr/bin/ping\x00-c\x001\x00"`, 1)
	tr, done, _ := written(t, fromtext.Stream(t, text), Options{Numa: true})
	want := map[string]string{
		"process_name 4194305": "CPUs<nil>", "4194305/4194321": "CPU 0, node 0", "4194305/4194322": "CPU 1, node 1",
		"process_name 100": "/usr/bin/ping<nil>", "process_labels 100": "<nil>/usr/bin/ping -c 1",
		"100/100": "\ufffd\"\\\n", "100/101": "pong", "process_name 200": "hog<nil>", "200/200": "hog",
		"process_name 4194307": "<unknown><nil>", "4194307/7": "TID 7",
	}
	if got := tr.names(); !maps.Equal(got, want) {
		t.Errorf("names are %q, want %q", got, want)
	}
	if done.NotUTF8 != "\ufffd\"\\\n" {
		t.Errorf("the result has NotUTF8 %q", done.NotUTF8)
	}
	for _, e := range tr.TraceEvents {
		if e.Name == "Running" && e.Args["numa"] != json.Number("0") {
			t.Errorf("a slice on CPU 0 has the NUMA node %v, want 0", e.Args["numa"])
		}
	}
}

func TestNoStacksLeavesStacksOut(t *testing.T) {
	stream := fromtext.Stream(t, machine+frames()+state+`
+100 cpu0 sample 2 stack=2 source=1
+100500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=119 since=-100 next_state=S stack=1
end close=+1000000
`)
	tr, _, text := written(t, stream, Options{NoStacks: true})
	if len(tr.StackFrames) != 0 || bytes.Contains(text, []byte("futex_wait")) || bytes.Contains(text, []byte(`"sf"`)) {
		t.Errorf("the trace has stacks: %s", text)
	}
	if tr, _, _ = written(t, stream, Options{}); len(tr.StackFrames) != 3 {
		t.Errorf("with stacks it has the frames %v, want 3", tr.StackFrames)
	}
}

func TestMetadataDescribesTheRecording(t *testing.T) {
	tr, done, _ := written(t, fromtext.Stream(t, machine+state+"+10 cpu0 lost from=+5 count=3 cause=ring\nend close=+1000000\n"), Options{})
	want := map[string]any{
		"host": "box", "boot_id": "b", "start_time": "2023-11-14T22:13:20.000000000Z", "command": "wprof-record -S", "metadata run": "7", "lost": true,
	}
	if !maps.Equal(tr.OtherData, want) || tr.DisplayTimeUnit != "ns" || !done.Lost || done.Events != 5 {
		t.Errorf("it says %q, %q, and the result %+v; want %v", tr.OtherData, tr.DisplayTimeUnit, done, want)
	}
}

func TestMetadataDescribesAllRecordings(t *testing.T) {
	other := strings.NewReplacer("open=1000000000", "open=1005000000", `"-S"`, `"-a"`, "key=run value=7", "key=run value=8\n  metadata key=more value=9")
	stream := append(fromtext.Stream(t, machine+state+"end close=+1000000\n"), fromtext.Stream(t, other.Replace(machine)+"end close=+1000000\n")...)
	tr, _, _ := written(t, stream, Options{})
	want := map[string]any{
		"host": "box", "boot_id": "b", "start_time": "2023-11-14T22:13:20.000000000Z", "command": "wprof-record -S", "command 2": "wprof-record -a",
		"metadata run": "7", "metadata more": "9", "lost": false,
	}
	if !maps.Equal(tr.OtherData, want) {
		t.Errorf("it says %q, want %q", tr.OtherData, want)
	}
}

// Where a switch is missing, unknown times are not drawn: how long its prev ran, and what its next did before.
func TestNothingIsDrawnWhereASwitchIsMissing(t *testing.T) {
	text := machine + state + `
+100000 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=-100 next_state=S
+200000 cpu1 sample 3 source=1
+300000 cpu1 switch 4 next=1 prev_state=S prev_prio=120 next_prio=120
+400000 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 since=+350000 next_state=S
end close=+1000000
`
	tr, _, _ := written(t, fromtext.Stream(t, text), Options{})
	compare(t, tr.lines(), `
X Running 100/100 @0.000 +1000.000 {"cpu":0,"open":true,"prio":120}
X ping 4194305/4194321 @0.000 +1000.000 {"pid":100,"prio":120,"tid":100}
X blocked:_unknown_(S) 100/101 @0.000 +100.000 {"length_us":100.100,"prio":120,"state":"S"}
X Running 100/101 @100.000 +100.000 {"cpu":1,"off_us":100.100,"prio":120,"was":"S"}
X pong 4194305/4194322 @100.000 +100.000 {"pid":100,"prio":120,"tid":101}
i sample 100/101 @200.000 {"cpu":1}
X blocked:_unknown_(S) 100/101 @350.000 +50.000 {"prio":120,"state":"S"}
X Running 100/101 @400.000 +600.000 {"cpu":1,"off_us":50.000,"open":true,"prio":120,"was":"S"}
X pong 4194305/4194322 @400.000 +600.000 {"pid":100,"prio":120,"tid":101}
X blocked:_unknown_(S) 200/200 @300.000 +700.000 {"open":true,"prio":120,"state":"S"}
`)
}

// Overlapping losses of one CPU are drawn end to end, with their true lengths as arguments; so is the time between two windows.
func TestRecordingIsDrawn(t *testing.T) {
	first := fromtext.Stream(t, machine+state+"+5000 cpu0 lost from=+1000 count=3 cause=ring\n+6000 cpu0 lost from=+2000 cause=nesting what=waking\nend close=+1000000\n")
	second := fromtext.Stream(t, strings.Replace(machine, "open=1000000000", "open=1005000000", 1)+"+7000 cpu7 lost from=+0 cause=ring\nend close=+1000000\n")
	tr, _, _ := written(t, append(first, second...), Options{})
	var got []string
	for _, line := range tr.lines() {
		if strings.Contains(line, strconv.Itoa(recordingPID)) {
			got = append(got, line)
		}
	}
	compare(t, got, `
X lost:_ring 4194306/4259857 @1.000 +4.000 {"cause":"ring","count":3,"length_us":4.000}
X lost_waking:_nesting 4194306/4259857 @5.000 +1.000 {"cause":"nesting","length_us":4.000}
X not_recorded 4194306/4194308 @1000.000 +4000.000 {"length_us":4000.000}
X lost:_ring 4194306/4259864 @5000.000 +7.000 {"cause":"ring","length_us":7.000}
`)
}

func TestTimesAreExact(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0.000", 1: "0.001", 999: "0.999", 12345: "12.345", 100_000: "100.000", -1: "-0.001", 9_999_999: "9999.999",
		math.MaxInt64: "9223372036854775.807", math.MinInt64: "-9223372036854775.808",
	} {
		if got := string(appendMicros(nil, n)); got != want {
			t.Errorf("%d ns is written %s, want %s", n, got, want)
		}
	}
}

func TestWritingStopsWhenTheOutputDoes(t *testing.T) {
	for _, after := range []int{0, 1, 3} {
		r, err := format.NewReader(bytes.NewReader(pingPong(t, 20_000)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Write(r, &brokenPipe{after}, Options{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("after %d writes: %v, want that the pipe is closed", after, err)
		}
		r.Close()
	}
}

// brokenPipe takes some writes.
type brokenPipe struct{ left int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}
