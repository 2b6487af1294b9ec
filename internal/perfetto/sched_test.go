package perfetto

import (
	"strings"
	"testing"

	"wprof/test/engine"
)

// query loads a trace into the engine and returns its slices of CPUs and its states of threads.
func query(t *testing.T, trace string, more ...string) [][]engine.Row {
	t.Helper()
	engine.CheckStats(t, trace)
	return engine.Query(t, trace, append([]string{schedSQL, stateSQL}, more...)...)
}

func TestOpeningStateIsThereFromTheFirstNanosecond(t *testing.T) {
	rows := query(t, written(t, machine+opening1+"end close=+1000000"))
	// The idle kernel threads pass over CPU 0 for no time: nothing else makes a row in state I.
	compare(t, "sched", rows[0], schedFields, `
		0 20 0 0 I
		0 21 0 0 I
		0 100 0 1000000 I
		0 0 1000000 0 -
		1 0 0 1000000 R
		1 0 1000000 0 -
	`)
	compare(t, "thread_state", rows[1], stateFields, `
		1 0 1000000 D - -
		2 0 1000000 S - -
		20 0 1000000 I - -
		21 0 1000000 I - -
		100 0 1000000 Running 0 -
		101 0 1000000 S - -
		200 0 1000000 S - -
	`)
}

func TestOpeningShowsWhoIsRunnableAndWhoWokeIt(t *testing.T) {
	rows := query(t, written(t, machine+`
		+0 cpu0 state_cpu 2 prio=120
		+0 cpu1 state_cpu 1 prio=120
		+0 cpu1 state_thread 3 state=S prio=120 since=-100 woken=-50 waker=2 waker_cpu=0
		+0 cpu0 state_thread 4 state=R+ prio=120
		+0 cpu0 state_thread 8 state=R prio=120
		+500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "thread_state", rows[1], stateFields, `
		1 0 1000000 R - -
		100 0 1000000 Running 0 -
		101 0 500 R - 100
		101 500 999500 Running 1 -
		200 0 1000000 R+ - -
	`)
}

// Two threads pass a token back and forth on two CPUs, one of them is preempted, one enters other states.
func TestStatesAndWakersToTheNanosecond(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+1000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
		+1500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		+2000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		+3000 cpu1 waking 3 wakee=2 prio=120 target_cpu=0
		+3200 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120
		+4000 cpu1 switch 3 next=1 prev_state=D prev_prio=120 next_prio=120
		+5000 cpu0 waking 2 wakee=3 prio=120 target_cpu=0
		+6001 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120
		+7000 cpu0 switch 3 next=2 prev_state=T prev_prio=120 next_prio=120
		+8000 cpu0 waking 2 wakee=3 prio=120 target_cpu=0
		+9000 cpu0 switch 2 next=3 prev_state=t prev_prio=120 next_prio=120
		+9500 cpu0 switch 3 next=1 prev_state=DK prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "sched", rows[0], schedFields, `
		0 20 0 0 I
		0 21 0 0 I
		0 100 0 2000 S
		0 0 2000 1200 R
		0 100 3200 2801 R+
		0 101 6001 999 T
		0 100 7000 2000 t
		0 101 9000 500 D
		0 0 9500 990500 R
		0 0 1000000 0 -
		1 0 0 1500 R
		1 101 1500 2500 D
		1 0 4000 996000 R
		1 0 1000000 0 -
	`)
	compare(t, "thread_state", rows[1], stateFields, `
		1 0 1000000 D - -
		2 0 1000000 S - -
		20 0 1000000 I - -
		21 0 1000000 I - -
		100 0 2000 Running 0 -
		100 2000 1000 S - -
		100 3000 200 R - 101
		100 3200 2801 Running 0 -
		100 6001 999 R+ - -
		100 7000 2000 Running 0 -
		100 9000 991000 t - -
		101 0 1000 S - -
		101 1000 500 R - 100
		101 1500 2500 Running 1 -
		101 4000 1000 D - -
		101 5000 1001 R - 100
		101 6001 999 Running 0 -
		101 7000 1000 T - -
		101 8000 1000 R - 100
		101 9000 500 Running 0 -
		101 9500 990500 D - -
		200 0 1000000 S - -
	`)
}

// Of events at the same nanosecond the engine takes compact switches before compact wakings.
func TestWakerIsRightWhereItLeavesInTheSameNanosecond(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+1000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
		+1000 cpu0 switch 2 next=4 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "thread_state", only(rows[1], 100, 101, 200), stateFields, `
		100 0 1000 Running 0 -
		100 1000 999000 S - -
		101 0 1000 S - -
		101 1000 999000 R - 100
		200 0 1000 S - -
		200 1000 999000 Running 0 -
	`)
}

func only(rows []engine.Row, tids ...int64) []engine.Row {
	var some []engine.Row
	for _, row := range rows {
		for _, tid := range tids {
			if row["tid"] == tid {
				some = append(some, row)
			}
		}
	}
	return some
}

// A stream without a state, such as one that a filter by kinds has made, begins with each CPU's first switch.
func TestStreamWithoutOpeningState(t *testing.T) {
	rows := query(t, written(t, machine+`
		+1000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		+1500 cpu1 waking 3 wakee=2 prio=120 target_cpu=0
		+2000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "sched", rows[0], schedFields, `
		0 0 1000 1000 R
		0 100 2000 998000 I
		0 0 1000000 0 -
	`)
	compare(t, "thread_state", rows[1], stateFields, `
		100 1000 500 S - -
		100 1500 500 R - 101
		100 2000 998000 Running 0 -
	`)
}

func TestStatesInTheMiddleChangeNothingThatIsKnown(t *testing.T) {
	const (
		before = `
		+1000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		`
		state = `
		+400000 cpu0 state_cpu 1 prio=120
		+400000 cpu1 state_cpu 1 prio=120
		+400000 cpu0 state_thread 2 state=S prio=120 since=+1000
		+400000 cpu0 state_thread 6 state=I prio=120
		`
		after = `
		+500000 cpu0 switch 1 next=4 prev_state=R prev_prio=120 next_prio=120
		+1000000 cpu0 state_cpu 4 prio=120 open
		+1000000 cpu0 state_thread 2 state=S prio=120 open
		end close=+1000000`
	)
	with := query(t, written(t, machine+opening1+before+state+after))
	without := query(t, written(t, machine+opening1+before+after))
	for i, fields := range []string{schedFields, stateFields} {
		if a, b := lines(with[i], fields), lines(without[i], fields); a != b {
			t.Errorf("with a state in the middle\n%swithout\n%s", a, b)
		}
	}
}

func TestCriticalPathFollowsWakers(t *testing.T) {
	trace, err := convert(t, pingPong(t, 600), schedOnly())
	if err != nil {
		t.Fatal(err)
	}
	rows := query(t, trace, `include perfetto module sched.thread_executing_span_with_slice;
		select name, count(*) as n from _critical_path_stack((select utid from thread where name = 'ping1'),
			(select start_ts from trace_bounds), (select end_ts - start_ts from trace_bounds), 1, 1, 1, 1)
		where name glob 'blocking thread_name: *' group by name`)
	if len(rows[2]) != 1 || rows[2][0]["name"] != "blocking thread_name: ping0" || rows[2][0]["n"].(int64) < 40 {
		t.Errorf("ping1 waits for %v, want ping0, about 50 times", rows[2])
	}
}

// Wakings in interrupts are marked as such, but where Perfetto takes no mark: at the opening, and with a switch at the same time.
func TestInterruptsThatWakeAreNamed(t *testing.T) {
	text := machine + strings.Replace(opening1, "state_thread 4 state=S prio=120 since=-100000", "state_thread 4 state=S prio=120 since=-100 woken=-50 waker=2 waker_cpu=0 interrupt", 1) + `
		+1000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
		+1500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		+2000 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
		+3000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1 interrupt
		+3500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		+4000 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
		+5000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
		+5500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		+6000 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
		+7000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1 interrupt
		+7000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		+7500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		end close=+1000000
	`
	rows := query(t, written(t, text), `select s.ts - 15000000000 as ts, tid, irq_context from thread_state s join thread using (utid) where state = 'R' and s.waker_utid is not null order by s.ts`)
	compare(t, "wakings", rows[2], "ts tid irq_context", `
		0 200 -
		1000 101 0
		3000 101 1
		5000 101 0
		7000 101 -
	`)
	rows = engine.Query(t, writtenWith(t, text, withArrows()), `select s.ts - 15000000000 as ts, s.name, extract_arg(s.arg_set_id, 'debug.waking_context') as context
		from slice s where s.name = 'wakes pong' or extract_arg(s.arg_set_id, 'debug.waking_context') is not null order by s.ts`)
	compare(t, "marks and slices", rows[0], "ts name context", `
		1000 wakes pong -
		3000 wakes pong interrupt
		3500 on CPU 1 interrupt
		5000 wakes pong -
		7000 wakes pong interrupt
		7500 on CPU 1 (open) interrupt
	`)
}
