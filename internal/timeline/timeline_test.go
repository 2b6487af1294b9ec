package timeline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
)

// testTasks are the threads of most scripts: two of one process, one of another, and idle.
const testTasks = `
section boot_id=b open=0
task 1 comm=swapper flags=idle
task 2 tid=20 pid=20 comm=ping start=5
task 3 tid=30 pid=30 comm=pong start=6
task 4 tid=31 pid=30 comm=side start=7
`

// play applies the events of a text to a new timeline.
func play(t *testing.T, text string) *Timeline {
	t.Helper()
	tl, _ := follow(t, text, func(*Timeline, *format.Event) {})
	return tl
}

func follow(t *testing.T, text string, each func(*Timeline, *format.Event)) (*Timeline, *format.Reader) {
	t.Helper()
	r := fromtext.Reader(t, text)
	tl := New(r)
	section := r.Sections()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return tl, r
		}
		if err != nil {
			t.Fatal(err)
		}
		if section != r.Sections() {
			section = r.Sections()
			tl.NewSection()
		}
		tl.Apply(e)
		each(tl, e)
	}
}

// state is the timeline as text: a line for each CPU and each thread whose state is known.
func state(tl *Timeline) string {
	var b strings.Builder
	for _, n := range tl.seenCPUs() {
		who := "unknown"
		if t := tl.Running(n); t != nil {
			c := &tl.cpus[n]
			who = fmt.Sprintf("%s since %s", t.Def.Comm, when(c.Since, c.SinceKnown))
		}
		fmt.Fprintf(&b, "cpu%d %s\n", n, who)
	}
	for _, t := range tl.allThreads() {
		if t.Status != Off {
			continue
		}
		fmt.Fprintf(&b, "%s %v since %s", t.Def.Comm, t.State, when(t.Since, t.SinceKnown))
		if t.Woken != 0 {
			fmt.Fprintf(&b, " woken %d by task %d on cpu%d", t.Woken, t.Waker, t.WakerCPU)
		}
		for _, flag := range []struct {
			set  bool
			name string
		}{{t.New, "new"}, {t.Approx, "approx"}} {
			if flag.set {
				b.WriteString(" " + flag.name)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func when(t int64, known bool) string {
	if !known {
		return "?"
	}
	return fmt.Sprint(t)
}

func expect(t *testing.T, text, want string) {
	t.Helper()
	if got := state(play(t, text+"\nend close=+1s")); got != strings.TrimLeft(want, "\n") {
		t.Errorf("got\n%swant%s", got, want)
	}
}

func TestSwitchShowsRunningAndLeavingThreads(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=3 prev_state=S
120 cpu1 switch 1 next=4
150 cpu0 switch 3 next=1 prev_state=R+`, `
cpu0 swapper since 150
cpu1 side since 120
ping S since 100
pong R+ since 150
`)
}

func TestFirstWakingOfATimeOffTheCPUCounts(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=1 prev_state=S
110 cpu3 waking 3 wakee=2
120 cpu2 waking 4 wakee=2`, `
cpu0 swapper since 100
ping S since 100 woken 110 by task 3 on cpu3
`)
}

func TestWakingOfARunningThreadHasNoEffect(t *testing.T) {
	expect(t, testTasks+`
90 cpu0 switch 1 next=2
95 cpu3 waking 3 wakee=2
100 cpu0 switch 2 next=1 prev_state=S`, `
cpu0 swapper since 100
ping S since 100
`)
}

func TestThreadThatRunsIsNotWoken(t *testing.T) {
	tl := play(t, testTasks+"90 cpu0 switch 1 next=2\n95 cpu3 waking 3 wakee=2\nend")
	if got := tl.Thread(2).Woken; got != 0 {
		t.Errorf("woken at %d, want not at all", got)
	}
}

func TestSwitchKeepsNothingOfTheLastTimeOff(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=1 prev_state=S
110 cpu0 waking 1 wakee=2
120 cpu1 switch 1 next=2
130 cpu1 switch 2 next=1 prev_state=D`, `
cpu0 swapper since 100
cpu1 swapper since 130
ping D since 130
`)
}

func TestNewThreadIsRunnableFromItsWakeup(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 fork 2 child=4
101 cpu0 wakeup_new 2 wakee=4 target_cpu=1
105 cpu0 waking 3 wakee=4`, `
side R since 101 woken 101 by task 2 on cpu0 new
`)
}

func TestThreadKeepsItsStateUnderANewName(t *testing.T) {
	tl := play(t, testTasks+`
task 5 tid=20 pid=20 comm=renamed start=5 continues=2
100 cpu0 switch 1 next=2
110 cpu0 rename 5 prev=2
120 cpu0 switch 5 next=1 prev_state=S
end close=+1s`)
	if got, want := state(tl), "cpu0 swapper since 120\nrenamed S since 120\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if tl.Thread(5) == nil || tl.Thread(5) != tl.Thread(2) || tl.Thread(2).Task != 5 {
		t.Errorf("the two definitions do not name one thread whose latest is 5")
	}
}

func TestExecOfAnotherThreadThanTheLeaderGoesOnAsTheLeader(t *testing.T) {
	tl := play(t, testTasks+`
task 5 tid=30 pid=30 comm=side start=6 continues=3
task 6 tid=30 pid=30 comm=new start=6 continues=5
100 cpu0 switch 1 next=4
105 cpu1 exit 3
106 cpu1 switch 3 next=1 prev_state=X
110 cpu0 rename 6 prev=5
111 cpu0 exec 6 prev=5 old_tid=31 filename=/bin/new
end close=+1s`)
	if got, want := state(tl), "cpu0 new since 100\ncpu1 swapper since 106\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if dead := tl.Thread(4); dead.Status != Dead {
		t.Errorf("tid 31 has status %d, want dead", dead.Status)
	}
}

func TestLastSwitchEndsAThread(t *testing.T) {
	for _, letter := range []string{"X", "Z"} {
		tl := play(t, testTasks+`
100 cpu0 switch 1 next=2
110 cpu0 exit 2
120 cpu0 switch 2 next=1 prev_state=`+letter+`
end close=+1s`)
		if len(tl.allThreads()) != 0 || tl.Thread(2).Status != Dead {
			t.Errorf("%s: still there: %v", letter, tl.allThreads())
		}
	}
}

func TestFreeEndsAThreadWhoseLastSwitchWasNotSeen(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=1 prev_state=S
110 cpu1 free 2`, `
cpu0 swapper since 100
`)
}

func TestTidThatIsUsedAgainEndsTheThreadThatHadIt(t *testing.T) {
	tl := play(t, testTasks+`
task 5 tid=20 pid=20 comm=second start=90
100 cpu0 switch 2 next=1 prev_state=S
110 cpu0 switch 1 next=5
end close=+1s`)
	if got, want := state(tl), "cpu0 second since 110\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if tl.Thread(2).Status != Dead || tl.Thread(2) == tl.Thread(5) {
		t.Error("the first thread with tid 20 is not dead")
	}
}

func TestNewSectionKeepsThreadsAndForgetsIds(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=3 prev_state=S
end close=200
section continues
task 2 tid=30 pid=30 comm=pong start=6
task 3 tid=20 pid=20 comm=ping start=5
210 cpu0 switch 2 next=3 prev_state=D`, `
cpu0 ping since 210
pong D since 210
`)
}

func TestLossOnACPULeavesOnlyThreadsOnOtherCPUsCertain(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=3 prev_state=S
110 cpu1 switch 1 next=4
200 cpu0 lost from=150 count=3 cause=ring`, `
cpu0 unknown
cpu1 side since 110
`)
	expect(t, testTasks+`
100 cpu0 switch 2 next=3 prev_state=S
110 cpu1 switch 1 next=4
200 all lost from=150 cause=damage`, `
cpu0 unknown
cpu1 unknown
`)
}

func TestLossOfWakingsLeavesStatesSure(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=3 prev_state=S
200 cpu0 lost from=150 count=3 cause=ring what=waking`, `
cpu0 pong since 100
ping S since 100
`)
}

func TestThreadIsKnownAgainWhenItIsSeenAfterALoss(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=3 prev_state=S
200 all lost from=150 cause=damage
210 cpu0 waking 3 wakee=2
220 cpu1 switch 1 next=2
230 cpu0 switch 3 next=1 prev_state=D`, `
cpu0 swapper since 230
cpu1 ping since 220
pong D since 230
`)
}

func TestStateCorrectsEarlierState(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 1 next=2
110 cpu1 switch 1 next=3
200 cpu0 state_cpu 3 since=150
200 cpu1 state_thread 2 state=D since=140 woken=160 waker=4 waker_cpu=7
200 cpu2 state_thread 4 state=S approx since=-50`, `
cpu0 pong since 150
cpu1 unknown
ping D since 140 woken 160 by task 4 on cpu7
side S since -50 approx
`)
}

func TestHiddenThreadIsNotFollowed(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=3 prev_state=S !object
110 cpu0 waking 3 wakee=2 !subject
120 cpu0 switch 3 next=1 prev_state=D !subject`, `
cpu0 swapper since 120
ping S since 100 woken 110 by task 3 on cpu0
`)
	expect(t, testTasks+`
100 cpu0 switch 2 next=3 prev_state=S !object`, `
cpu0 unknown
ping S since 100
`)
}

func TestCPULeftMakesTheThreadUnknown(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 1 next=2
105 cpu1 switch 3 next=1 prev_state=S
110 cpu0 cpu_left 2
120 all cpu_left 3`, `
cpu0 unknown
cpu1 swapper since 105
`)
}

func TestLateSwitchDoesNotUndoLaterOnes(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 1 next=2
120 cpu0 switch 3 next=1 prev_state=S
120 cpu0 switch 2 next=3 prev_state=D own=110`, `
cpu0 swapper since 120
ping D since 110
pong S since 120
`)
}

func TestLateSwitchDoesNotTakeOverACPUThatWasLost(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 1 next=2
120 cpu0 lost from=115 count=1 cause=ring
130 cpu0 switch 1 next=3 own=110`, `
cpu0 unknown
`)
}

func TestSwitchFromAnotherThreadThanTheOneThatRanLeavesThatUnknown(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 1 next=2
110 cpu0 switch 3 next=4 prev_state=S
120 cpu1 waking 1 wakee=2`, `
cpu0 side since 110
pong S since 110
`)
	tl := play(t, testTasks+"100 cpu0 switch 1 next=2\n110 cpu0 switch 3 next=4\nend")
	if got := tl.Thread(2).Status; got != Unknown {
		t.Errorf("the thread that ran has status %d, want unknown", got)
	}
}

func TestThreadThatIsHiddenFromNowOnIsUnknown(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 2 next=1 prev_state=S
110 cpu0 switch 1 next=2 !object
120 cpu1 switch 1 next=3
125 cpu2 switch 1 next=4
130 cpu3 switch 3 next=1 !subject`, `
cpu0 unknown
cpu1 unknown
cpu2 side since 125
cpu3 swapper since 130
`)
}

func TestStateOfAThreadTakesItOffItsCPU(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 switch 1 next=2
110 cpu0 state_thread 2 state=S since=105`, `
cpu0 unknown
ping S since 105
`)
}

func TestStateOfANewThreadIsNotCompletedByAWaking(t *testing.T) {
	expect(t, testTasks+`
100 cpu0 state_thread 2 state=R new
110 cpu1 waking 3 wakee=2`, `
ping R since ? new
`)
}

func TestStreamOfSomeCPUsLeavesOffCPUThreadsUnknown(t *testing.T) {
	tl := New(definitions{1: {Id: 1, Tid: 1}, 2: {Id: 2, Tid: 2}})
	tl.SetCoverage(CoverageOf(&format.Session{Config: []*format.KeyValue{{Key: ConfigCPUs, Value: "0"}}}))
	e := format.Event{Time: 5, Kind: format.KindSwitch, Flags: format.FlagsVisible, Task: 1}
	e.Switch().SetNext(2)
	tl.Apply(&e)
	if one, two := tl.Thread(1).Status, tl.Thread(2).Status; one != Unknown || two != Running {
		t.Errorf("left: status %d, want unknown; runs: status %d, want running", one, two)
	}
}

func TestStreamWithoutSwitchesIsUnknown(t *testing.T) {
	tl := New(definitions{1: {Id: 1, Tid: 1}, 2: {Id: 2, Tid: 2}})
	tl.SetCoverage(CoverageOf(&format.Session{Config: []*format.KeyValue{{Key: ConfigNoKinds, Value: "fork,switch"}}}))
	e := format.Event{Time: 5, Kind: format.KindWakeupNew, Flags: format.FlagsVisible, Task: 1}
	e.WakeupNew().SetWakee(2)
	tl.Apply(&e)
	if got := tl.Thread(2).Status; got != Unknown {
		t.Errorf("status %d, want unknown", got)
	}
}

func TestIdleRunsOnManyCPUsWithItsOwnTimes(t *testing.T) {
	text := testTasks + `
0 cpu0 state_cpu 1 prio=120 since=-7
0 cpu1 state_cpu 1 prio=110 since=-9
100 cpu2 switch 2 next=1 prev_state=S next_prio=100
end close=+1s`
	tl := play(t, text)
	if got, want := state(tl), "cpu0 swapper since -7\ncpu1 swapper since -9\ncpu2 swapper since 100\nping S since 100\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	var prios []int32
	for _, e := range states(t, tl, 200) {
		if e.Kind == format.KindStateCPU {
			prios = append(prios, e.StateCPU().Prio())
		}
	}
	if want := []int32{120, 110, 100}; !slices.Equal(prios, want) {
		t.Errorf("priorities %v, want %v", prios, want)
	}
}

func TestUsageCountsProcessesAndCutsAtLosses(t *testing.T) {
	var u *Usage
	text := testTasks + `
0 cpu0 state_cpu 2
0 cpu1 state_cpu 4 since=-500
100 cpu0 switch 2 next=3 prev_state=S
150 cpu0 switch 3 next=1 prev_state=S
300 cpu1 lost from=200 count=1 cause=ring
400 cpu0 switch 1 next=2
450 cpu0 cpu_left 2
500 cpu0 switch 2 next=3 !subject !object
end close=+1000`
	_, r := follow(t, text, func(tl *Timeline, e *format.Event) {
		if u == nil {
			u = NewUsage(tl.defs)
			u.NewSection(&format.Session{})
		}
		u.Apply(e)
	})
	_ = r
	got := fmt.Sprint(u.Close(1000))
	want := fmt.Sprint([]*format.ProcessTime{{Pid: 20, Ns: 150, Start: 5}, {Pid: 30, Ns: 250, Start: 6}})
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if again := u.Close(2000); len(again) != 0 {
		t.Errorf("after the section: %v, want nothing", again)
	}
}

// allThreads are all threads that are not dead, by tid and start; the idle thread is not among them.
func (tl *Timeline) allThreads() []*Thread {
	return sortThreads(slices.Clone(tl.live))
}

// seenCPUs are the CPUs that events have named.
func (tl *Timeline) seenCPUs() []uint32 {
	var all []uint32
	for i := range tl.cpus {
		if tl.cpus[i].Seen {
			all = append(all, uint32(i))
		}
	}
	return all
}
