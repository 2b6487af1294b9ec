package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/fromtext"
)

// spanTasks are the threads of most scripts. They are older than the window.
const spanTasks = `
section boot_id=b open=100
task 1 comm=idle flags=idle
task 2 tid=20 pid=20 comm=ping start=5
task 3 tid=30 pid=30 comm=pong start=6
task 4 tid=31 pid=30 comm=side start=7
`

// spanned returns the spans of one thread, or of all, as text: a line for each. That of a time on a CPU has the time off
// it that it ended.
func spanned(t *testing.T, text string, of ...string) string {
	t.Helper()
	r := fromtext.Reader(t, text)
	var closed int64
	r.OnSectionEnd(func(end *format.End) { closed = end.Close })
	var spans []Span
	var lines []string
	s := NewSpans(r, func(s *Span) {
		if len(of) == 0 && !s.Thread.Idle() || slices.Contains(of, string(s.Thread.Def.Comm)) {
			spans, lines = append(spans, *s), append(lines, line(s, r))
		}
	})
	s.NewSection(r.Session())
	s.Open(r.Session().Open)
	for section := r.Sections(); ; {
		e, err := r.Next()
		if r.Sections() != section {
			section = r.Sections()
			if !r.Session().Continues {
				s.Close(closed)
			}
			s.NewSection(r.Session())
			if !r.Session().Continues {
				s.Open(r.Session().Open)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(e)
	}
	s.Close(closed)
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spans[a].Thread.TID, spans[b].Thread.TID) })
	var b strings.Builder
	for _, i := range order {
		b.WriteString(lines[i])
	}
	return b.String()
}

func line(s *Span, r *format.Reader) string {
	var b strings.Builder
	kind := [...]string{"unknown", "new", "running", "runnable", "blocked"}[s.Kind]
	fmt.Fprintf(&b, "%s %s %d-%d", s.Thread.Def.Comm, kind, s.From, s.To)
	switch s.Kind {
	case SpanRunning:
		fmt.Fprintf(&b, " cpu%d", s.CPU)
	case SpanBlocked:
		fmt.Fprintf(&b, " %v", s.State)
	}
	if s.Stack != 0 {
		fmt.Fprintf(&b, " stack %d", s.Stack)
	}
	if s.SinceKnown && s.Since != s.From {
		fmt.Fprintf(&b, " since %d", s.Since)
	}
	if s.Kind == SpanRunning && !s.Thread.Idle() || s.Open {
		b.WriteString(offTime(s, r))
	}
	if s.Open {
		b.WriteString(" open")
	}
	return b.String() + "\n"
}

func offTime(s *Span, r *format.Reader) string {
	var b strings.Builder
	if o := s.Off; o.Throttled {
		fmt.Fprintf(&b, " throttled %d", o.Since)
	} else if o.Preempted {
		fmt.Fprintf(&b, " preempted %d", o.Since)
	} else if o.Woken != 0 {
		waker := "none"
		if d := r.Task(o.Waker); d != nil {
			waker = string(d.Comm)
		}
		fmt.Fprintf(&b, " woken %d by %s on cpu%d", o.Woken, waker, o.WakerCPU)
		if o.WakerStack != 0 {
			fmt.Fprintf(&b, " at %d", o.WakerStack)
		}
	}
	if s.Off.Delay != 0 || s.Off.Compound != 0 || s.Off.Chain != 0 {
		fmt.Fprintf(&b, " delay %d of %d chain %d", s.Off.Delay, s.Off.Compound, s.Off.Chain)
	}
	return b.String()
}

func expectSpans(t *testing.T, text, want string, of ...string) {
	t.Helper()
	if got := spanned(t, text, of...); got != strings.TrimLeft(want, "\n") {
		t.Errorf("got\n%swant%s", got, want)
	}
}

func TestTimeOffIsBlockedUpToTheFirstWakingAndThenRunnable(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2 since=80
100 cpu1 state_cpu 3 since=80
120 cpu0 switch 2 next=1 prev_state=D
150 cpu1 waking 3 wakee=2 stack=8
155 cpu0 waking 1 wakee=2
160 cpu0 switch 1 next=2 since=120 next_state=D stack=7
end close=200`, `
ping running 100-120 cpu0 since 80
ping blocked 120-150 D stack 7
ping runnable 150-160 stack 7
ping running 160-200 cpu0 stack 7 woken 150 by pong on cpu1 at 8 delay 10 of 10 chain 1 open
`, "ping")
}

func TestPreemptedThreadIsRunnableAllTheTime(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
120 cpu0 switch 2 next=3 prev_state=R+
150 cpu0 switch 3 next=2 prev_state=S since=120 next_state=R+ stack=7
end close=200`, `
ping running 100-120 cpu0
ping runnable 120-150 stack 7
ping running 150-200 cpu0 stack 7 preempted 120 delay 30 of 30 chain 0 open
`, "ping")
}

func TestThrottledThreadIsRunnableAllTheTime(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
120 cpu0 switch 2 next=3 prev_state=Rq+ called
150 cpu0 switch 3 next=2 prev_state=S since=120 next_state=Rq+ since_called stack=7
160 cpu0 switch 2 next=3 prev_state=Rq+ called
end close=200`, `
ping running 100-120 cpu0
ping runnable 120-150 stack 7
ping running 150-160 cpu0 stack 7 throttled 120 delay 30 of 30 chain 0
ping runnable 160-200 throttled 160 delay 40 of 70 chain 0 open
`, "ping")
}

func TestTimeOffWithoutAWakingIsBlocked(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
120 cpu0 switch 2 next=3 prev_state=S
150 cpu0 switch 3 next=2 prev_state=S since=120 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping blocked 120-150 S
ping running 150-200 cpu0 open
`, "ping")
}

func TestSpansFollowAThreadFromCPUToCPU(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
120 cpu0 switch 2 next=1 prev_state=R+
130 cpu1 switch 3 next=2 prev_state=S since=120 next_state=R+
140 cpu1 switch 2 next=1 prev_state=S
145 cpu3 waking 1 wakee=2
150 cpu2 switch 1 next=2 since=140 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping runnable 120-130
ping running 130-140 cpu1 preempted 120 delay 10 of 10 chain 0
ping blocked 140-145 S
ping runnable 145-150
ping running 150-200 cpu2 woken 145 by idle on cpu3 delay 5 of 5 chain 1 open
`, "ping")
}

// Each of three wakers passes on what it waited itself; a preemption adds to that.
func TestCompoundDelayGrowsAlongAChainOfWakings(t *testing.T) {
	expectSpans(t, spanTasks+`
task 5 tid=40 pid=40 comm=last start=8
100 cpu0 state_cpu 1
100 cpu0 state_thread 2 state=S since=90
100 cpu0 state_thread 3 state=S since=90
100 cpu0 state_thread 4 state=S since=90
100 cpu0 state_thread 5 state=S since=90
110 cpu1 waking 1 wakee=2
113 cpu0 switch 1 next=2
120 cpu0 waking 2 wakee=3
125 cpu1 switch 1 next=3
130 cpu1 switch 3 next=1 prev_state=R+
137 cpu1 switch 1 next=3
140 cpu1 waking 3 wakee=4
151 cpu2 switch 1 next=4
155 cpu2 waking 4 wakee=5
156 cpu2 switch 4 next=5 prev_state=S
end close=200`, `
ping blocked 100-110 S since 90
ping runnable 110-113
ping running 113-200 cpu0 woken 110 by idle on cpu1 delay 3 of 3 chain 1 open
pong blocked 100-120 S since 90
pong runnable 120-125
pong running 125-130 cpu1 woken 120 by ping on cpu0 delay 5 of 8 chain 2
pong runnable 130-137
pong running 137-200 cpu1 preempted 130 delay 7 of 15 chain 2 open
side blocked 100-140 S since 90
side runnable 140-151
side running 151-156 cpu2 woken 140 by pong on cpu1 delay 11 of 26 chain 3
side blocked 156-200 S open
last blocked 100-155 S since 90
last runnable 155-156
last running 156-200 cpu2 woken 155 by side on cpu2 delay 1 of 27 chain 4 open
`)
}

// Delay of the waker after the waking is not passed on.
func TestWakerPassesOnWhatItHasAtTheWaking(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 1
100 cpu1 state_thread 3 state=S since=90
120 cpu0 waking 2 wakee=3
130 cpu0 switch 2 next=1 prev_state=R+
140 cpu0 switch 1 next=2
150 cpu1 switch 1 next=3
end close=200`, `
pong blocked 100-120 S since 90
pong runnable 120-150
pong running 150-200 cpu1 woken 120 by ping on cpu0 delay 30 of 30 chain 1 open
`, "pong")
}

func TestHiddenWakerPassesNothingOn(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
110 cpu0 switch 2 next=1 prev_state=R+
115 cpu0 switch 1 next=2
120 cpu1 switch 3 next=1 prev_state=S
130 cpu0 waking 2 wakee=3 !subject
135 cpu1 switch 1 next=3
end close=200`, `
pong running 100-120 cpu1
pong blocked 120-130 S
pong runnable 130-135
pong running 135-200 cpu1 woken 130 by none on cpu0 delay 5 of 5 chain 1 open
`, "pong")
}

func TestRenameSplitsNoSpan(t *testing.T) {
	expectSpans(t, spanTasks+`
task 5 tid=20 pid=20 comm=renamed start=5 continues=2
100 cpu0 state_cpu 2
110 cpu0 rename 5 prev=2
120 cpu0 switch 5 next=1 prev_state=S
end close=200`, `
renamed running 100-120 cpu0
renamed blocked 120-200 S open
`)
}

func TestExecOfAnotherThreadThanTheLeaderEndsItAndGoesOnAsTheLeader(t *testing.T) {
	expectSpans(t, spanTasks+`
task 5 tid=30 pid=30 comm=side start=6 continues=3
task 6 tid=30 pid=30 comm=new start=6 continues=5
100 cpu0 state_cpu 4 since=100
100 cpu1 state_cpu 3
106 cpu1 switch 3 next=1 prev_state=Z
110 cpu0 rename 6 prev=5
111 cpu0 exec 6 prev=5 old_tid=31 filename=/bin/new
120 cpu0 switch 6 next=1 prev_state=S
end close=200`, `
pong running 100-106 cpu1
new running 111-120 cpu0 since 100
new blocked 120-200 S open
side running 100-111 cpu0
`)
}

func TestLastSwitchEndsTheSpansAndAReusedTidHasItsOwn(t *testing.T) {
	expectSpans(t, spanTasks+`
task 5 tid=20 pid=20 comm=second start=130
100 cpu0 state_cpu 2
120 cpu0 switch 2 next=1 prev_state=X
135 cpu1 fork 3 child=5
136 cpu1 wakeup_new 3 wakee=5 target_cpu=0
140 cpu0 switch 1 next=5
141 cpu1 free 2
end close=200`, `
ping running 100-120 cpu0
second new 130-136
second runnable 136-140
second running 140-200 cpu0 woken 136 by pong on cpu1 delay 4 of 4 chain 1 open
`, "ping", "second")
}

func TestThreadWhoseEndWasLostIsUnknownUntilItIsFreedOrItsTidIsReused(t *testing.T) {
	begin := spanTasks + `
task 5 tid=20 pid=20 comm=second start=150
100 cpu0 state_cpu 2
120 cpu0 switch 2 next=1 prev_state=S
130 cpu1 waking 3 wakee=2
`
	expectSpans(t, begin+"160 cpu1 free 2\nend close=200", `
ping running 100-120 cpu0
ping blocked 120-130 S
ping unknown 130-160
`, "ping")
	expectSpans(t, begin+"170 cpu1 switch 1 next=5\nend close=200", `
ping running 100-120 cpu0
ping blocked 120-130 S
ping unknown 130-150
`, "ping")
}

func TestThreadSeenElsewhereEndsItsStateAtItsLastSureSighting(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
110 cpu0 waking 2 wakee=3
150 cpu1 switch 2 next=1 prev_state=S
end close=200`, `
ping running 100-110 cpu0
ping unknown 110-150
ping blocked 150-200 S open
`, "ping")
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
150 cpu1 waking 2 wakee=3
170 cpu0 switch 2 next=1 prev_state=S
end close=200`, `
ping unknown 100-170
ping blocked 170-200 S open
`, "ping")
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
110 cpu0 sample 2 source=1
130 cpu0 switch 3 next=1
150 cpu1 switch 1 next=2 since=140 next_state=D stack=7
end close=200`, `
ping running 100-110 cpu0
ping unknown 110-140
ping blocked 140-150 D stack 7
ping running 150-200 cpu1 stack 7 open
`, "ping")
}

func TestLossEndsWhatIsSureWhereItBegins(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 4
105 cpu1 switch 4 next=3 prev_state=S
150 cpu0 lost from=120 count=3 cause=ring
160 cpu0 switch 2 next=1 prev_state=S
170 cpu1 switch 3 next=4 prev_state=S since=165 next_state=D
end close=200`, `
ping running 100-120 cpu0
ping unknown 120-160
ping blocked 160-200 S open
pong unknown 100-105
pong running 105-170 cpu1
pong blocked 170-200 S open
side running 100-105 cpu1
side blocked 105-120 S
side unknown 120-165
side blocked 165-170 D
side running 170-200 cpu1 open
`)
}

// The switch that brings a thread back has the time since when it was off-CPU. If that is before the loss, it slept through it.
func TestLossDoesNotHideATimeOffReportedAfterIt(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
110 cpu0 switch 2 next=1 prev_state=S
150 cpu1 lost from=120 count=3 cause=ring
160 cpu0 waking 1 wakee=2
165 cpu0 switch 1 next=2 since=110 next_state=S stack=7
end close=200`, `
ping running 100-110 cpu0
ping blocked 110-160 S stack 7
ping runnable 160-165 stack 7
ping running 165-200 cpu0 stack 7 woken 160 by idle on cpu0 delay 5 of 5 chain 1 open
`, "ping")
}

func TestLossThatLastsUpToTheCloseLeavesTheRestUnknown(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
150 all lost from=120 cause=damage
end close=200`, `
ping running 100-120 cpu0
ping unknown 120-200 open
`)
}

func TestHiddenThreadIsUnknownFromThereOn(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
120 cpu0 cpu_left 2
130 cpu1 switch 3 next=4 !subject
160 cpu1 switch 4 next=3 prev_state=S since=150 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping unknown 120-200 open
pong running 100-130 cpu1
pong unknown 130-150
pong blocked 150-160 S
pong running 160-200 cpu1 open
`, "ping", "pong")
}

func TestThreadThatIsSeenFirstInTheMiddleWasUnknownBefore(t *testing.T) {
	expectSpans(t, spanTasks+`
130 cpu0 switch 2 next=3 prev_state=S
140 cpu0 switch 3 next=4 prev_state=S since=60 next_state=D
end close=200`, `
ping unknown 100-130
ping blocked 130-200 S open
pong unknown 100-130
pong running 130-140 cpu0
pong blocked 140-200 S open
side blocked 100-140 D since 60
side running 140-200 cpu0 open
`)
}

func TestWindowCutsWhatReachesOverIt(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2 since=40
100 cpu0 state_thread 3 state=S since=30 woken=70 waker=4 waker_cpu=1
100 cpu0 state_thread 4 state=D since=-50 approx
150 cpu0 switch 2 next=3 prev_state=S since=30 next_state=S
200 cpu0 state_thread 4 state=D since=-50 approx stack=9 open
end close=200`, `
ping running 100-150 cpu0 since 40
ping blocked 150-200 S open
pong runnable 100-150 since 70
pong running 150-200 cpu0 woken 70 by side on cpu1 delay 80 of 80 chain 1 open
side blocked 100-200 D stack 9 since 50 open
`)
}

func TestThreadIsNewUpToItsWakeup(t *testing.T) {
	expectSpans(t, spanTasks+`
task 5 tid=40 pid=40 comm=young start=110
task 6 tid=41 pid=41 comm=never start=120
task 7 tid=42 pid=42 comm=waits start=60
100 cpu0 state_cpu 2
100 cpu1 state_thread 7 state=R since=70 woken=70 waker=2 new
112 cpu0 fork 2 child=5
115 cpu0 wakeup_new 2 wakee=5 target_cpu=1 stack=8
125 cpu1 switch 1 next=5
130 cpu0 fork 2 child=6
end close=200`, `
young new 110-115
young runnable 115-125
young running 125-200 cpu1 woken 115 by ping on cpu0 at 8 delay 10 of 10 chain 1 open
never new 120-200 open
waits runnable 100-200 since 70 woken 70 by ping on cpu0 delay 130 of 130 chain 1 open
`, "young", "never", "waits")
}

// Spans continue over an epoch; ids and stacks of the section before are not valid in it.
func TestSpansGoOnOverAnEpoch(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
110 cpu0 switch 2 next=1 prev_state=S
120 cpu1 waking 3 wakee=2 stack=8
end close=130
section continues
task 2 tid=30 pid=30 comm=pong start=6
task 3 tid=20 pid=20 comm=ping start=5
task 4 comm=idle flags=idle
130 cpu0 state_cpu 4
130 cpu1 state_cpu 2 since=100
130 cpu0 state_thread 3 state=S since=110 woken=120 waker=2 waker_cpu=1
140 cpu0 switch 4 next=3 stack=7
end close=200`, `
ping running 100-110 cpu0
ping blocked 110-120 S stack 7
ping runnable 120-140 stack 7
ping running 140-200 cpu0 stack 7 woken 120 by pong on cpu1 delay 20 of 20 chain 1 open
pong running 100-200 cpu1 open
`)
}

func TestEachWindowHasItsOwnSpans(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
110 cpu0 switch 2 next=3 prev_state=S
end close=150
section boot_id=b open=300
task 2 tid=20 pid=20 comm=ping start=5
300 cpu0 state_thread 2 state=S since=110
320 cpu0 switch 9 next=2 since=110 next_state=S
end close=400`, `
ping running 100-110 cpu0
ping blocked 110-150 S open
ping blocked 300-320 S since 110
ping running 320-400 cpu0 open
`, "ping")
}

func TestLateSwitchEndsTheSpanWhereItHappened(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
120 cpu0 switch 3 next=1 prev_state=S
120 cpu0 switch 2 next=3 prev_state=D own=110
end close=200`, `
ping running 100-110 cpu0
ping blocked 110-200 D open
`, "ping")
}

func TestIdleTimeIsEmittedByCPU(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 1 since=80
100 cpu1 state_cpu 1
100 cpu2 state_cpu 1
110 cpu0 switch 1 next=2
130 cpu0 switch 2 next=1 prev_state=S
140 cpu1 lost from=120 count=1 cause=ring
150 cpu2 switch 3 next=4 prev_state=S
end close=200`, `
idle running 100-110 cpu0 since 80
idle running 100-120 cpu1
idle running 130-200 cpu0 open
`, "idle")
}

func TestSpanHasThreadsBeforeAndAfter(t *testing.T) {
	var got []string
	s := NewSpans(definitions{1: {Tid: 1}, 2: {Tid: 2}, 3: {Tid: 3}}, func(s *Span) {
		if s.Kind == SpanRunning && s.Thread.TID == 2 {
			got = append(got, fmt.Sprint(s.Off.Prev, s.Next, s.Left))
		}
		if s.Kind == SpanRunnable {
			got = append(got, fmt.Sprint("runnable after ", s.Off.Prev))
		}
	})
	s.Open(0)
	sleep := format.Event{Time: 5, Kind: format.KindStateThread, Flags: format.FlagsVisible, Task: 2}
	sleep.StateThread().SetState(format.StateInterruptible)
	s.Apply(&sleep)
	waking := format.Event{Time: 7, Kind: format.KindWaking, Flags: format.FlagsVisible, Task: 1}
	waking.Waking().SetWakee(2)
	s.Apply(&waking)
	for at, pair := range [][2]format.TaskID{{1, 2}, {2, 3}} {
		e := format.Event{Time: int64(at + 10), Kind: format.KindSwitch, Flags: format.FlagsVisible, Task: pair[0]}
		e.Switch().SetNext(pair[1])
		e.Switch().SetPrevState(format.StateUninterruptible)
		s.Apply(&e)
	}
	s.Close(100)
	if want := []string{"runnable after 1", "1 3 D"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestThreadOfAnEarlierWindowIsNotTakenToRunOn(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
end close=150
section boot_id=b open=300
task 2 tid=20 pid=20 comm=ping start=5
task 3 tid=30 pid=30 comm=pong start=6
320 cpu0 waking 2 wakee=3
end close=400`, `
ping running 100-150 cpu0 open
ping unknown 300-400 open
`, "ping")
}

func TestWakerIsNamedAsItWasCalledAtTheWaking(t *testing.T) {
	expectSpans(t, spanTasks+`
task 5 tid=30 pid=30 comm=renamed start=6 continues=3
100 cpu1 state_cpu 3
100 cpu0 state_thread 2 state=S since=90
120 cpu1 waking 3 wakee=2
125 cpu1 rename 5 prev=3
130 cpu0 switch 1 next=2
end close=200`, `
ping blocked 100-120 S since 90
ping runnable 120-130
ping running 130-200 cpu0 woken 120 by pong on cpu1 delay 10 of 10 chain 1 open
`, "ping")
}

func TestNewThreadIsNewEvenWithoutItsFork(t *testing.T) {
	expectSpans(t, spanTasks+`
task 5 tid=40 pid=40 comm=young start=110
115 cpu0 wakeup_new 2 wakee=5 target_cpu=1
end close=200`, `
young new 110-115
young runnable 115-200 woken 115 by ping on cpu0 delay 85 of 85 chain 1 open
`, "young")
}

func TestWakingAfterALossBelongsToTheTimeOffThatItIsIn(t *testing.T) {
	begin := spanTasks + `
100 cpu0 state_cpu 2
150 cpu0 lost from=120 count=3 cause=ring
160 cpu1 waking 3 wakee=2 stack=8
`
	expectSpans(t, begin+"165 cpu0 switch 1 next=2 since=140 next_state=S\nend close=200", `
ping running 100-120 cpu0
ping unknown 120-140
ping blocked 140-160 S
ping runnable 160-165
ping running 165-200 cpu0 woken 160 by pong on cpu1 at 8 delay 5 of 5 chain 1 open
`, "ping")
	expectSpans(t, begin+"170 cpu0 switch 1 next=2 since=165 next_state=S\nend close=200", `
ping running 100-120 cpu0
ping unknown 120-165
ping blocked 165-170 S
ping running 170-200 cpu0 open
`, "ping")
	expectSpans(t, begin+"170 cpu0 state_thread 2 state=S since=140 woken=160 waker=3 waker_cpu=1\nend close=200", `
ping running 100-120 cpu0
ping unknown 120-140
ping blocked 140-160 S
ping runnable 160-200 woken 160 by pong on cpu1 at 8 delay 40 of 40 chain 1 open
`, "ping")
}

func TestStateOfAnotherThreadEndsIdleTimeWhereItIsLastSure(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 1
110 cpu0 waking 1 wakee=3
130 cpu0 state_cpu 2 since=125
end close=200`, `
idle running 100-110 cpu0
`, "idle")
}

func TestObservedTimeOffWinsOverAnEarlierReportedOne(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
120 cpu0 switch 2 next=1 prev_state=S
130 cpu0 waking 1 wakee=2
140 cpu0 switch 1 next=2 since=90 next_state=D
end close=200`, `
ping running 100-120 cpu0
ping blocked 120-130 S
ping runnable 130-140
ping running 140-200 cpu0 woken 130 by idle on cpu0 delay 10 of 10 chain 1 open
`, "ping")
}

func TestStateOfAnotherTimeOffTakesNothingFromTheOneBefore(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_thread 2 state=S since=90 stack=7
100 cpu1 state_cpu 1
110 cpu1 switch 1 next=3 since=95 next_state=R+
120 cpu0 state_cpu 1
150 cpu0 state_thread 2 state=D since=140
150 cpu1 state_thread 3 state=R+ since=145
160 cpu1 switch 1 next=3 since=145 next_state=R+
end close=200`, `
ping unknown 100-140
ping blocked 140-200 D open
pong runnable 100-110 since 95
pong unknown 110-145
pong runnable 145-160
pong running 160-200 cpu1 preempted 145 delay 15 of 15 chain 0 open
`, "ping", "pong")
}

// Threads from before an epoch are not referred to by ids that now have another meaning.
func TestEpochForgetsAWakerThatHasEndedAndStacks(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 1
100 cpu1 state_cpu 3
100 cpu0 state_thread 2 state=S since=90
100 cpu0 state_thread 4 state=S since=90
110 cpu1 waking 3 wakee=2
111 cpu1 waking 3 wakee=4 stack=8
115 cpu0 switch 1 next=4 stack=7
120 cpu1 switch 3 next=1 prev_state=X
end close=130
section continues
task 2 tid=20 pid=20 comm=ping start=5
task 3 tid=50 pid=50 comm=other start=9
task 4 tid=31 pid=30 comm=side start=7
task 5 comm=idle flags=idle
140 cpu1 switch 5 next=2
150 cpu0 switch 4 next=5 prev_state=S
end close=200`, `
ping blocked 100-110 S since 90
ping runnable 110-140
ping running 140-200 cpu1 woken 110 by none on cpu1 delay 30 of 30 chain 1 open
side blocked 100-111 S stack 7 since 90
side runnable 111-115 stack 7
side running 115-150 cpu0 woken 111 by none on cpu1 delay 4 of 4 chain 1
side blocked 150-200 S open
`, "ping", "side")
}

func TestExecOfTheIdleThreadHasNoEffect(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
110 cpu0 exec 1 prev=1 old_tid=20 filename=/bin/new
end close=200`, `
ping running 100-200 cpu0 open
`)
}
