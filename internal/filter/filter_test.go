package filter

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/format/textform"
	"wprof/internal/container"
	"wprof/test/fromtext"
)

// testTasks are the threads of most captures here.
const testTasks = `section id=0x1 boot_id=b open=0 close=10000
  command wprof-record
  source 1 name=timer
  source 2
task 1 comm=swapper process_comm=swapper flags=idle
task 2 tid=20 pid=20 comm=ping process_comm=ping start=5
task 3 tid=30 pid=30 comm=pong process_comm=pong start=6
task 4 tid=31 pid=30 comm=side process_comm=pong start=7
task 5 tid=50 pid=50 comm=kworker process_comm=kworker flags=kthread start=1
`

// dump is a stream's text without the header, which other tests check.
func dump(t testing.TB, stream []byte) string {
	t.Helper()
	var b strings.Builder
	if err := textform.Dump(&b, bytes.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(b.String(), "\n")
	for strings.HasPrefix(text, "  ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.ReplaceAll(text, "+0.00000", "+")
}

// filterText filters the capture that a text describes, from a pipe and from a file; the results must be the same.
func filterText(t *testing.T, text string, o Options) string {
	t.Helper()
	stream := fromtext.Stream(t, text)
	fromPipe, fromFile := dump(t, filtered(t, stream, true, o)), dump(t, filtered(t, stream, false, o))
	if fromPipe != fromFile {
		t.Errorf("from a pipe\n%sfrom a file\n%s", fromPipe, fromFile)
	}
	return fromPipe
}

func expect(t *testing.T, text string, o Options, want string) {
	t.Helper()
	got := filterText(t, testTasks+text+"\nend close=10000", o)
	body, _, _ := strings.Cut(got, "index\n")
	if want = strings.TrimLeft(want, "\n"); body != want {
		t.Errorf("got\n%swant\n%s", body, want)
	}
}

func ms(n time.Duration) Bound { return Bound{set: true, offset: n} }

func pids(p ...int32) Options { return Options{Threads: Spec{PIDs: p}} }

func TestSwitchStaysWithTheSideThatIsKept(t *testing.T) {
	expect(t, `
100 cpu0 switch 1 next=2
200 cpu0 switch 2 next=3 prev_state=S
300 cpu0 switch 3 next=4 prev_state=S
400 cpu0 switch 4 next=2 prev_state=S`, pids(20), `
block definitions
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
  task 4 tid=31 pid=30 comm="side" process_comm="pong" start=7
block events
  +0100 cpu0 switch 1 next=2 prev_state=R prev_prio=0 next_prio=0 !subject
  +0200 cpu0 switch 2 next=3 prev_state=S prev_prio=0 next_prio=0 !object
  +0400 cpu0 switch 4 next=2 prev_state=S prev_prio=0 next_prio=0 !subject
`)
}

func TestFiltersOnlyClearVisibility(t *testing.T) {
	expect(t, `
100 cpu0 switch 2 next=3 prev_state=S !subject
200 cpu0 switch 3 next=2 prev_state=S !subject`, pids(20), `
block definitions
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
block events
  +0200 cpu0 switch 3 next=2 prev_state=S prev_prio=0 next_prio=0 !subject
`)
}

func TestConditionsMustHoldOnTheSameSide(t *testing.T) {
	o := Options{Threads: Spec{PIDs: []int32{20}, ThreadNames: []string{"pong"}}}
	expect(t, `
100 cpu0 switch 2 next=3 prev_state=S
200 cpu0 waking 2 wakee=3`, o, "")
}

// specOf is the Spec of flags on cgroups and containers.
func specOf(t *testing.T, words ...string) (s Spec) {
	t.Helper()
	for i := 0; i < len(words); i += 2 {
		to, globs := map[string]*[]string{
			"--cgroup": &s.Cgroups, "--no-cgroup": &s.NoCgroups, "--container": &s.Containers, "--no-container": &s.NoContainers,
		}[words[i]], pathGlobs
		if strings.HasSuffix(words[i], "container") {
			globs = container.Globs
		}
		made, err := globs(words[i+1])
		if err != nil {
			t.Fatal(err)
		}
		*to = append(*to, made...)
	}
	return s
}

func TestConditionsOnCgroups(t *testing.T) {
	const id = "3f8a1c0de5b74a6990c2d1e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8"
	text := `section id=0x1 boot_id=b open=0 close=10000
text 1 text="/system.slice/docker-` + id + `.scope"
text 2 text="/system.slice/docker-` + id + `.scope/system.slice/cron.service"
text 3 text="/system.slice/cron.service"
task 1 tid=20 pid=20 comm=in process_comm=in start=5 cgroup=1
task 2 tid=30 pid=30 comm=below process_comm=below start=6 cgroup=2
task 3 tid=31 pid=31 comm=beside process_comm=beside start=7 cgroup=3
task 4 tid=32 pid=32 comm=unknown process_comm=unknown start=8
100 cpu0 exit 1
101 cpu0 exit 2
102 cpu0 exit 3
103 cpu0 exit 4
end`
	for flags, want := range map[string]string{
		"--cgroup /system.slice": "1 2 3", "--cgroup /": "1 2 3", "--cgroup cron.service": "2 3", "--cgroup /cron.service": "",
		"--cgroup /system.slice/*.scope": "1 2", "--container 3f8a": "1 2", "--container " + id: "1 2", "--container 9f": "",
		"--no-container 3f8a1c0de5b7": "3 4", "--no-cgroup cron.service": "1 4", "--cgroup /system.slice --no-container 3f8a1c0de5b7": "3",
		"--container 3f8a --cgroup cron.service": "2", "--cgroup /system.slice/cron.service --cgroup *.scope/*/cron.service": "2 3",
	} {
		text := filterText(t, text, Options{Threads: specOf(t, strings.Fields(flags)...)})
		var ids []string
		for line := range strings.SplitSeq(text, "\n") {
			if _, id, ok := strings.Cut(line, " exit "); ok {
				ids = append(ids, strings.Fields(id)[0])
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: kept %q, want %q", flags, got, want)
		}
	}
}

// TestMovedThreadIsKeptFromItsMoveOn: a move is no event, so it counts from the next one on.
func TestMovedThreadIsKeptFromItsMoveOn(t *testing.T) {
	text := `section id=0x1 boot_id=b open=0 close=10000
text 1 text="/a"
text 2 text="/b"
task 1 tid=20 pid=20 comm=x process_comm=x start=5 cgroup=1
task 2 tid=20 pid=20 comm=x process_comm=x start=5 cgroup=2 continues=1
task 3 comm=swapper process_comm=swapper flags=idle
100 cpu0 switch 3 next=1 prev_state=R
200 cpu0 switch 1 next=3 prev_state=S
300 cpu0 switch 3 next=2 prev_state=R
400 cpu0 switch 2 next=3 prev_state=S
end close=10000`
	for path, want := range map[string][]string{"/a": {"switch 3 next=1", "switch 1 next=3"}, "/b": {"switch 3 next=2", "switch 2 next=3"}} {
		got := filterText(t, text, Options{Threads: specOf(t, "--cgroup", path)})
		for _, line := range want {
			if !strings.Contains(got, line) {
				t.Errorf("%s: %q is missing in\n%s", path, line, got)
			}
		}
		if n := strings.Count(got, " switch "); n != 2 {
			t.Errorf("%s: %d switches in\n%s", path, n, got)
		}
	}
}

func TestIdleAndKernelThreadsAreMembersOfTheProcessCondition(t *testing.T) {
	const text = `
100 cpu0 exit 1
101 cpu0 exit 2
102 cpu0 exit 3
105 cpu0 exit 5`
	for _, c := range []struct {
		spec Spec
		kept string
	}{
		{Spec{}, "1 2 3 5"},
		{Spec{PIDs: []int32{20}, Idle: true}, "1 2"},
		{Spec{Idle: true}, "1"},
		{Spec{Kthread: true}, "5"},
		{Spec{PIDs: []int32{30}, Kthread: true}, "3 5"},
		{Spec{NoKthread: true, NoIdle: true}, "2 3"},
		{Spec{PIDs: []int32{20, 30}, NoPIDs: []int32{30}}, "2"},
		{Spec{Names: []string{"p?ng"}, NoThreadNames: []string{"*o*"}}, "2"},
		{Spec{TIDs: []int32{50, 30}, NoTIDs: []int32{30}}, "5"},
		{Spec{NoNames: []string{"k*", "swapper"}}, "2 3"},
	} {
		text := filterText(t, testTasks+text+"\nend", Options{Threads: c.spec})
		var ids []string
		for line := range strings.SplitSeq(text, "\n") {
			if _, id, ok := strings.Cut(line, " exit "); ok {
				ids = append(ids, strings.Fields(id)[0])
			}
		}
		if got := strings.Join(ids, " "); got != c.kept {
			t.Errorf("%+v keeps %s, want %s", c.spec, got, c.kept)
		}
	}
}

func TestRenameToANameThatIsNotKeptLeavesTheCPU(t *testing.T) {
	expect(t, `
task 12 tid=20 pid=20 comm=other process_comm=other start=5 continues=2
100 cpu0 switch 1 next=2
200 cpu0 rename 12 prev=2
300 cpu0 switch 12 next=1 prev_state=S`, Options{Threads: Spec{Names: []string{"ping"}}}, `
block definitions
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
block events
  +0100 cpu0 switch 1 next=2 prev_state=R prev_prio=0 next_prio=0 !subject
  +0200 cpu0 cpu_left 2
`)
}

func TestThreadThatIsKeptFromARenameOnHasAState(t *testing.T) {
	expect(t, `
task 12 tid=20 pid=20 comm=other process_comm=other start=5 continues=2
task 13 tid=30 pid=30 comm=other process_comm=other start=6 continues=3
100 cpu0 switch 1 next=2 next_prio=120
110 cpu1 switch 3 next=1 prev_state=D prev_prio=110
120 cpu2 waking 1 wakee=3
200 cpu0 rename 12 prev=2
210 cpu0 rename 13 prev=3`, Options{Threads: Spec{Names: []string{"other"}}}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 12 tid=20 pid=20 comm="other" process_comm="other" start=5 continues=2
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
  task 13 tid=30 pid=30 comm="other" process_comm="other" start=6 continues=3
  task 1 comm="swapper" process_comm="swapper" flags=idle
block events
  +0200 cpu0 state_cpu 12 prio=120 since=+0100
  +0200 cpu0 rename 12 prev=2
  +0210 cpu1 state_thread 13 state=D prio=110 since=+0110 woken=+0120 waker=1 waker_cpu=2
  +0210 cpu0 rename 13 prev=3
`)
}

func TestSleeperThatIsNoLongerKeptIsRetracted(t *testing.T) {
	expect(t, `
task 12 tid=20 pid=20 comm=other process_comm=other start=5 continues=2
100 cpu0 switch 2 next=1 prev_state=S
200 cpu1 rename 12 prev=2`, Options{Threads: Spec{Names: []string{"ping"}}}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 1 comm="swapper" process_comm="swapper" flags=idle
block events
  +0100 cpu0 switch 2 next=1 prev_state=S prev_prio=0 next_prio=0 !object
  +0200 all cpu_left 2
`)
}

func TestStateStandsForADroppedRename(t *testing.T) {
	expect(t, `
task 12 tid=20 pid=20 comm=other process_comm=other start=5 continues=2
100 cpu0 switch 1 next=2
200 cpu0 rename 12 prev=2`, Options{Kinds: MakeKindSet(nil, []string{"rename"})}, `
block definitions
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 12 tid=20 pid=20 comm="other" process_comm="other" start=5 continues=2
block events
  +0100 cpu0 switch 1 next=2 prev_state=R prev_prio=0 next_prio=0
  +0200 cpu0 state_cpu 12 prio=0 since=+0100
`)
}

func TestDroppedRecordThatContradictsAKeptThreadTakesItOffTheCPU(t *testing.T) {
	expect(t, `
100 cpu0 switch 1 next=2
200 cpu0 switch 3 next=1 prev_state=S`, pids(20), `
block definitions
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
block events
  +0100 cpu0 switch 1 next=2 prev_state=R prev_prio=0 next_prio=0 !subject
  +0200 cpu0 cpu_left 2
`)
}

func TestStatesGoWithSwitches(t *testing.T) {
	expect(t, `
0 cpu0 state_cpu 2 prio=120
0 cpu0 state_thread 3 state=S prio=120 woken=-5 waker=2
100 cpu0 switch 2 next=1 prev_state=S
150 cpu0 waking 1 wakee=2
200 cpu0 exit 2`, Options{Kinds: MakeKindSet([]string{"exit"}, nil)}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
block events
  +0200 cpu0 exit 2 code=0
`)
}

func TestStateWithoutWakingsHasNoWaker(t *testing.T) {
	expect(t, `
0 cpu0 state_thread 3 state=S prio=120 woken=-5 waker=2
0 cpu0 state_thread 4 state=R prio=120 new woken=-5 waker=2`, Options{Kinds: MakeKindSet(nil, []string{"waking"})}, `
block definitions
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
  task 4 tid=31 pid=30 comm="side" process_comm="pong" start=7
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
block events state
  +0000 cpu0 state_thread 3 state=S prio=120
  +0000 cpu0 state_thread 4 state=R prio=120 woken=-0.000000005 waker=2 waker_cpu=0 new
`)
}

func TestOneCPUKeepsWhatHappensThereAndNoSleepers(t *testing.T) {
	cpus, err := ParseCPUs([]string{"1"})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, `
0 cpu0 state_cpu 2 prio=120
0 cpu1 state_cpu 3 prio=120
0 cpu1 state_thread 4 state=S prio=120
50 cpu0 waking 2 wakee=4
100 cpu1 switch 3 next=4 prev_state=S
120 cpu2 lost from=110 count=1 cause=ring`, Options{CPUs: cpus}, `
block definitions
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
  task 4 tid=31 pid=30 comm="side" process_comm="pong" start=7
block events state
  +0000 cpu1 state_cpu 3 prio=120
  +0100 cpu1 switch 3 next=4 prev_state=S prev_prio=0 next_prio=0
  +0120 cpu2 lost from=+0110 count=1 cause=ring what=any
`)
}

func TestTimeRangeBeginsWithTheStateAndEndsWithWhatIsOpen(t *testing.T) {
	expect(t, `
0 cpu0 state_cpu 2 prio=120 since=-300
0 cpu0 state_thread 3 state=S prio=110 since=-500
100 cpu0 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
700 cpu1 waking 1 wakee=3
2000 cpu0 switch 1 next=2
10000 cpu0 state_cpu 2 prio=120 open`, Options{Start: ms(500), End: ms(1000)}, `
block definitions
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
block events state
  +0500 cpu0 state_cpu 1 prio=120 since=+0100
  +0500 cpu0 state_thread 2 state=D prio=120 since=+0100
  +0500 cpu0 state_thread 3 state=S prio=110 since=-0.000000500
  +0700 cpu1 waking 1 wakee=3 prio=0 target_cpu=0
  +1000 cpu0 state_cpu 1 prio=120 since=+0100 open
  +1000 cpu0 state_thread 2 state=D prio=120 since=+0100 open
  +1000 cpu0 state_thread 3 state=S prio=110 since=-0.000000500 woken=+0700 waker=1 waker_cpu=1 open
`)
}

// The stack of a wait is recorded when the thread comes back, which may be after the range.
func TestTimeRangeHasStacksOfWaitsAtItsEnd(t *testing.T) {
	expect(t, `
module 1 path=/bin/ping
frame 1 module=1 offset=0x10
frame 2 module=1 offset=0x20
frame 3 module=1 offset=0x30
stack 1 frames=1
stack 2 frames=2
stack 3 frames=3
wait 1 call="read"
wait 2 call="fsync"
100 cpu0 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
200 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
2000 cpu0 switch 1 next=2 since=100 next_state=D stack=1 wait=2
2100 cpu0 switch 2 next=1 prev_state=S
2200 cpu0 switch 1 next=2 since=2100 next_state=S stack=2
10000 cpu0 state_cpu 2 prio=120 open
10000 cpu1 state_thread 3 state=S prio=120 since=200 stack=3 wait=1 open`, Options{Start: ms(50), End: ms(1000)}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
  module 1 path="/bin/ping"
  frame 1 module=1 offset=0x10
  stack 1 frames=1
  wait 2 call="fsync"
  frame 3 module=1 offset=0x30
  stack 3 frames=3
  wait 1 call="read"
block events
  +0100 cpu0 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
  +0200 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
  +1000 cpu0 state_cpu 1 prio=120 since=+0100 open
  +1000 cpu1 state_cpu 1 prio=120 since=+0200 open
  +1000 cpu0 state_thread 2 state=D prio=120 since=+0100 stack=1 wait=2 open
  +1000 cpu1 state_thread 3 state=S prio=120 since=+0200 stack=3 wait=1 open
`)
}

func TestRangeThatBeginsAtAStateHasItOnce(t *testing.T) {
	expect(t, `
0 cpu0 state_cpu 1 prio=120
100 cpu0 switch 1 next=2
500 cpu0 state_cpu 2 prio=0 since=100
600 cpu0 exit 2`, Options{Start: ms(500)}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
block events state
  +0500 cpu0 state_cpu 2 prio=0 since=+0100
  +0600 cpu0 exit 2 code=0
`)
}

func TestLossesAreKeptByEverythingButATimeRange(t *testing.T) {
	const text = `
100 cpu0 switch 2 next=3 prev_state=S
200 cpu1 lost from=150 count=3 cause=ring
300 cpu1 lost from=250 count=4 cause=ring
400 cpu1 lost from=350 count=5 cause=ring
500 all lost from=450 cause=damage`
	expect(t, text, Options{Threads: Spec{PIDs: []int32{1}}, Kinds: MakeKindSet([]string{"exit"}, nil)}, `
block events
  +0200 cpu1 lost from=+0150 count=3 cause=ring what=any
  +0300 cpu1 lost from=+0250 count=4 cause=ring what=any
  +0400 cpu1 lost from=+0350 count=5 cause=ring what=any
  +0500 all lost from=+0450 count=0 cause=damage what=any
`)
	// One that reaches into the range keeps its beginning; one that reaches out of it ends with it, open.
	expect(t, text, Options{Start: ms(260), End: ms(390)}, `
block definitions
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
block events state
  +0260 cpu0 state_cpu 3 prio=0 since=+0100
  +0300 cpu1 lost from=+0250 count=4 cause=ring what=any
  +0390 cpu1 lost from=+0350 count=5 cause=ring what=any open
  +0390 cpu0 state_cpu 3 prio=0 since=+0100 open
`)
}

func TestLossThatReachesOverTheEndLeavesItsCPUUnknown(t *testing.T) {
	expect(t, `
100 cpu0 switch 2 next=3 prev_state=S
110 cpu1 switch 1 next=4
400 cpu0 lost from=350 count=5 cause=ring`, Options{End: ms(390)}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 4 tid=31 pid=30 comm="side" process_comm="pong" start=7
block events
  +0100 cpu0 switch 2 next=3 prev_state=S prev_prio=0 next_prio=0
  +0110 cpu1 switch 1 next=4 prev_state=R prev_prio=0 next_prio=0
  +0390 cpu0 lost from=+0350 count=5 cause=ring what=any open
  +0390 cpu1 state_cpu 4 prio=0 since=+0110 open
`)
}

func TestBlockIsMarkedAsAStateOnlyIfItBeginsWithOne(t *testing.T) {
	expect(t, `
0 cpu0 state_cpu 3
0 cpu0 exit 2
500 cpu0 state_cpu 3
500 cpu1 state_cpu 2
600 cpu1 exit 2`, pids(20), `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
block events
  +0000 cpu0 exit 2 code=0
block events state
  +0500 cpu1 state_cpu 2 prio=0
  +0600 cpu1 exit 2 code=0
`)
}

func TestEndBlockCountsWhatIsKeptAndKeepsTheRecordersLosses(t *testing.T) {
	stream := fromtext.Stream(t, testTasks+`
0 cpu0 state_cpu 2
300 cpu0 switch 2 next=3 prev_state=S
500 cpu0 switch 3 next=2 prev_state=S
500 cpu0 exit 3
10000 cpu0 state_cpu 2 open
end close=10000
  loss cpu=3 kind=switch cause=tail count=9
  process 20 comm=ping ns=77
  cost user_ns=5 peak_rss=6`)
	text := dump(t, filtered(t, stream, true, pids(20)))
	for _, want := range []string{
		`process 20 comm="ping" ns=9800 start=5`, "loss cpu=cpu3 kind=switch cause=tail count=9", "cost user_ns=5 peak_rss=6",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "process 30") || strings.Contains(text, "exit") {
		t.Errorf("more than process 20 in\n%s", text)
	}
	r := read(t, filtered(t, stream, true, pids(20)))
	for _, k := range r.End().Kinds {
		if want := map[uint32]uint64{1: 2, 9: 2}[k.Kind]; k.Events != want {
			t.Errorf("%d events of kind %d counted, want %d", k.Events, k.Kind, want)
		}
	}
}

func read(t testing.TB, stream []byte) *format.Reader {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return r
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSessionHasRangeHistoryAndWhatIsLeftOut(t *testing.T) {
	cpus, _ := ParseCPUs([]string{"0-3", "7"})
	o := Options{Start: ms(500), End: ms(900), CPUs: cpus, Kinds: MakeKindSet(nil, []string{"fork"}), Command: "wprof-filter --start 500ns", Version: "v7"}
	stream := filtered(t, fromtext.Stream(t, testTasks+"100 cpu0 exit 2\nend close=10000"), true, o)
	o.Command, o.Start, o.End = "again", ms(600), ms(700)
	s := read(t, filtered(t, stream, true, o)).Session()
	if got := strings.Join(s.History, "; "); got != "wprof-filter --start 500ns; again" {
		t.Errorf("history %q", got)
	}
	if s.RangeStart != 600 || s.RangeEnd != 700 || s.Open != 0 || s.Close != 10000 || s.Version != "v7" {
		t.Errorf("range %d to %d of %d to %d, version %s; want 600 to 700 of 0 to 10000, version v7", s.RangeStart, s.RangeEnd, s.Open, s.Close, s.Version)
	}
	if got := s.Config[0].Key + "=" + s.Config[0].Value + " " + s.Config[1].Key + "=" + s.Config[1].Value; got != "filter.cpu=0-3,7 filter.no-kind=fork" {
		t.Errorf("config %q", got)
	}
}

func TestNothingKeptIsAWholeEmptyCapture(t *testing.T) {
	for _, o := range []Options{pids(999), {Start: ms(5000)}, {Start: ms(50000)}, {End: ms(50)}} {
		r := read(t, filtered(t, fromtext.Stream(t, testTasks+"100 cpu0 exit 2\nend close=10000"), true, o))
		if r.End() == nil || len(r.End().Kinds) != 0 || r.Damage() != nil {
			t.Errorf("%+v: end %v, damage %v", o, r.End(), r.Damage())
		}
	}
}

func TestChildrenAreTheDescendants(t *testing.T) {
	// 31 is shown before its parent 30; 40 is created by 31 and outlives it; 50 has no known parent.
	const text = `section boot_id=b open=0
task 1 tid=31 pid=31 ppid=30 comm=grandchild start=3
task 2 tid=30 pid=30 ppid=20 comm=child start=2
task 3 tid=20 pid=20 ppid=1 comm=shell start=1
task 4 tid=50 pid=50 ppid=1 comm=other start=4
0 cpu0 state_thread 1 state=S
0 cpu0 state_thread 2 state=S
0 cpu0 state_thread 3 state=S
0 cpu0 state_thread 4 state=S
task 5 tid=40 pid=40 ppid=31 comm=late start=9
100 cpu0 fork 1 child=5
task 6 tid=40 pid=40 ppid=1 comm=renamed start=9 continues=5
200 cpu0 rename 6 prev=5
task 7 tid=31 pid=31 ppid=50 comm=reused start=300
300 cpu0 fork 4 child=7
end`
	got := filterText(t, text, Options{Threads: Spec{PIDs: []int32{20}, Children: true}})
	for _, want := range []string{"state_thread 1 ", "state_thread 2 ", "state_thread 3 ", "fork 1 child=5\n", "rename 6 prev=5\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for _, not := range []string{"state_thread 4 ", "fork 4"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in\n%s", not, got)
		}
	}
}

func TestMomentIsFoundByTheClockSnapshots(t *testing.T) {
	const text = `section boot_id=b open=1000 close=9000
clock monotonic=1000 realtime=1700000000000000000
clock monotonic=5000 realtime=1700000000000004100
task 2 tid=20 pid=20
1500 cpu0 exit 2
5500 cpu0 exit 2
end`
	at, err := ParseBound("@2023-11-14T22:13:20.0000046Z") // 500 ns after the second snapshot
	if err != nil {
		t.Fatal(err)
	}
	if got := filterText(t, text, Options{Start: at}); !strings.Contains(got, "+4500 cpu0 exit") || strings.Contains(got, "+0500") {
		t.Errorf("from 5500 on was not kept alone:\n%s", got)
	}
	late, _ := ParseBound("@2023-11-15T00:13:20.000004601+02:00")
	if got := filterText(t, text, Options{Start: late}); strings.Contains(got, "exit") {
		t.Errorf("after 5500 nothing happens:\n%s", got)
	}
	f, err := New(bytes.NewReader(fromtext.Stream(t, testTasks+"end")), io.Discard, false, Options{Start: at})
	if err == nil {
		f.close()
		t.Error("a capture without time of day was accepted")
	}
}

func TestClockSnapshotsAmongDefinitionsArePassedOn(t *testing.T) {
	stream := fromtext.Stream(t, testTasks+"block definitions\nclock monotonic=7 realtime=8\n100 cpu0 exit 2\nend")
	r := read(t, filtered(t, stream, true, pids(20)))
	if c := r.Clocks(); len(c) != 1 || c[0].Realtime != 8 {
		t.Errorf("clocks %v", c)
	}
}

func TestHeaderThatIsLostDoesNotBreakTheOutput(t *testing.T) {
	epoch := func(n string) string {
		return "task 2 tid=20 pid=20 start=5\n" + n + " cpu0 exit 2\nend last=false\n"
	}
	first := fromtext.Stream(t, testTasks+"100 cpu0 exit 2\nend last=false")
	all := fromtext.Stream(t, testTasks+"100 cpu0 exit 2\nend last=false\nsection continues\n"+epoch("200")+"section continues\n"+epoch("300"))
	broken := bytes.Clone(all)
	broken[len(first)+20] ^= 0xff // in the header block of the second section
	var out bytes.Buffer
	f, err := New(io.MultiReader(bytes.NewReader(broken)), &out, true, Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := f.Run()
	if err != nil || result.Damage == nil {
		t.Fatalf("error %v, damage %v; want damage", err, result.Damage)
	}
	r := read(t, out.Bytes())
	if r.Sections() != 3 || r.Damage() != nil {
		t.Errorf("%d sections, damage %v; want 3 whole ones", r.Sections(), r.Damage())
	}
}

// The switch that took the thread off its CPU was lost; it now runs on a CPU that is left out.
func TestThreadSeenOnADroppedCPULeavesItsOtherCPU(t *testing.T) {
	o := Options{}
	o.CPUs, _ = ParseCPUs([]string{"0"})
	expect(t, `
100 cpu0 switch 1 next=2
200 cpu1 switch 1 next=2
300 cpu1 switch 2 next=1 prev_state=S`, o, `
block definitions
  task 1 comm="swapper" process_comm="swapper" flags=idle
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
block events
  +0100 cpu0 switch 1 next=2 prev_state=R prev_prio=0 next_prio=0
  +0200 cpu0 cpu_left 2
`)
}

// A report without conditions is about the whole machine, not about all threads that were selected.
func TestNoConditionIsNoSelector(t *testing.T) {
	if NewSelector(Spec{}, nil) != nil || NewSelector(Spec{NoIdle: true}, nil) == nil {
		t.Error("a selector without conditions, or none with one")
	}
}
