package timeline

import (
	"strings"
	"testing"
)

// A thread that sets its sleep state can be woken before it leaves its CPU; it still leaves in that state.
func TestWakingThatCameBeforeTheThreadLeftEndsItsTimeOffIfNoOtherDoes(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2 since=80
100 cpu1 state_cpu 3 since=80
110 cpu1 waking 3 wakee=2 stack=7
115 cpu1 waking 3 wakee=2 stack=8
120 cpu0 switch 2 next=1 prev_state=S
160 cpu0 switch 1 next=2 since=120 next_state=S
end close=200`, `
ping running 100-120 cpu0 since 80
ping runnable 120-160
ping running 160-200 cpu0 woken 115 by pong on cpu1 at 8 delay 40 of 40 chain 1 open
`, "ping")
}

func TestEarlyWakingYieldsToOneOfTheTimeOffItself(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
110 cpu1 waking 3 wakee=2 stack=7
120 cpu0 switch 2 next=1 prev_state=S
150 cpu1 waking 3 wakee=2 stack=8
160 cpu0 switch 1 next=2 since=120 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping blocked 120-150 S
ping runnable 150-160
ping running 160-200 cpu0 woken 150 by pong on cpu1 at 8 delay 10 of 10 chain 1 open
`, "ping")
}

func TestEarlyWakingEndsNoPreemptionNorALaterSleep(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
110 cpu1 waking 3 wakee=2
120 cpu0 switch 2 next=1 prev_state=R+
130 cpu0 switch 1 next=2 since=120 next_state=R+
140 cpu0 switch 2 next=1 prev_state=S
160 cpu0 switch 1 next=2 since=140 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping runnable 120-130
ping running 130-140 cpu0 preempted 120 delay 10 of 10 chain 0
ping blocked 140-160 S
ping running 160-200 cpu0 open
`, "ping")
}

// Until it comes back, it is not certain whether the thread noticed the waking before it slept.
func TestThreadWithAnEarlyWakingIsBlockedWhereTheWindowEnds(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
110 cpu1 waking 3 wakee=2
120 cpu0 switch 2 next=1 prev_state=S
end close=200`, `
ping running 100-120 cpu0
ping blocked 120-200 S open
`, "ping")
}

func TestThreadThatWakesItselfGoesOnRunning(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
110 cpu0 waking 2 wakee=2
120 cpu0 switch 2 next=1 prev_state=S
160 cpu0 switch 1 next=2 since=120 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping blocked 120-160 S
ping running 160-200 cpu0 open
`, "ping")
}

func TestEarlyWakingAtTheTimeOfTheSwitchCounts(t *testing.T) {
	for _, order := range []string{`
120 cpu1 waking 3 wakee=2
120 cpu0 switch 2 next=1 prev_state=S`, `
120 cpu0 switch 2 next=1 prev_state=S
120 cpu1 waking 3 wakee=2`} {
		expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3`+order+`
160 cpu0 switch 1 next=2 since=120 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping runnable 120-160
ping running 160-200 cpu0 woken 120 by pong on cpu1 delay 40 of 40 chain 1 open
`, "ping")
	}
}

func TestEarlyWakingIsDroppedWhereAnotherOneMayBeLost(t *testing.T) {
	for _, what := range []string{"waking", "any"} {
		expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
110 cpu1 waking 3 wakee=2
120 cpu0 switch 2 next=1 prev_state=S
140 cpu7 lost from=130 count=1 cause=ring what=`+what+`
160 cpu0 switch 1 next=2 since=120 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping blocked 120-160 S
ping running 160-200 cpu0 open
`, "ping")
	}
}

func TestEarlyWakingIsKeptOverAState(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2 since=80
100 cpu1 state_cpu 3 since=80
110 cpu1 waking 3 wakee=2
120 cpu0 switch 2 next=1 prev_state=S
130 cpu0 state_cpu 1 since=120
130 cpu1 state_cpu 3 since=80
130 cpu0 state_thread 2 state=S since=120
160 cpu0 switch 1 next=2 since=120 next_state=S
end close=200`, `
ping running 100-120 cpu0 since 80
ping runnable 120-160
ping running 160-200 cpu0 woken 110 by pong on cpu1 delay 40 of 40 chain 1 open
`, "ping")
}

// Even if the state before is unknown, as after a loss, a thread that is woken and comes back has waited in between.
func TestWakingOfAThreadInAnUnknownStateCounts(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu1 state_cpu 3
120 cpu1 waking 3 wakee=2
130 cpu0 switch 1 next=2
140 cpu0 switch 2 next=1 prev_state=S
150 cpu0 lost from=141 count=1 cause=ring what=switch
155 cpu1 waking 3 wakee=2
170 cpu0 switch 4 next=2
end close=200`, `
ping unknown 100-120
ping runnable 120-130
ping running 130-140 cpu0 woken 120 by pong on cpu1 delay 10 of 10 chain 1
ping blocked 140-141 S
ping unknown 141-155
ping runnable 155-170
ping running 170-200 cpu0 woken 155 by pong on cpu1 delay 15 of 15 chain 1 open
`, "ping")
}

// The thread may have run and slept again on a CPU that is left out.
func TestEarlyWakingHasNoEffectWhereCPUsAreLeftOut(t *testing.T) {
	someCPUs := strings.Replace(spanTasks, "open=100", "open=100\n  config key=\"filter.cpu\" value=\"0-1\"", 1)
	expectSpans(t, someCPUs+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
110 cpu1 waking 3 wakee=2
120 cpu0 switch 2 next=1 prev_state=S
160 cpu0 switch 1 next=2
end close=200`, `
ping running 100-120 cpu0
ping unknown 120-160
ping running 160-200 cpu0 open
`, "ping")
}

// The wakee did not wait for the interrupted thread.
func TestChainsBeginAnewWhereAnInterruptWakes(t *testing.T) {
	expectSpans(t, spanTasks+`
100 cpu0 state_cpu 2
100 cpu1 state_cpu 3
110 cpu1 switch 3 next=1 prev_state=R+
120 cpu0 switch 2 next=1 prev_state=S
140 cpu1 switch 1 next=3 since=110 next_state=R+
150 cpu1 waking 3 wakee=2 interrupt
160 cpu0 switch 1 next=2 since=120 next_state=S
end close=200`, `
ping running 100-120 cpu0
ping blocked 120-150 S
ping runnable 150-160
ping running 160-200 cpu0 woken 150 by pong on cpu1 delay 10 of 10 chain 1 open
`, "ping")
}
