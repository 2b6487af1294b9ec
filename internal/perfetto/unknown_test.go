package perfetto

import (
	"testing"
)

// placeholderSQL finds waiting and sleeping states of placeholder threads, and all states of idle.
const placeholderSQL = `select tid, state from thread_state join thread using (utid)
	where tid = 0 or tid > 4194304 and (state is null or state not in ('Running', 'I'))`

const namesSQL = `select tid, name from thread where tid between 1 and 4194304 and name not glob 'k*' order by tid`

// After a loss it is unknown how a thread has left its CPU. The next waking shows that it was blocked.
func TestStateIsUnknownAfterALoss(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		task 20 tid=200 pid=200 comm=renamed process_comm=sleeper ppid=1 start=7 continues=4
		+1000 cpu1 switch 1 next=4 prev_state=R prev_prio=120 next_prio=120
		+7000 all lost from=+3000 cause=damage
		+8000 cpu0 waking 2 wakee=4 prio=120 target_cpu=1
		+9000 cpu1 switch 1 next=4 prev_state=R prev_prio=120 next_prio=120
		+9100 cpu1 rename 20 prev=4
		+9200 cpu1 switch 20 next=1 prev_state=D prev_prio=120 next_prio=120
		end close=+1000000
	`), placeholderSQL, namesSQL)
	compare(t, "thread_state", only(rows[1], 100, 200, 4195329, 4195330), stateFields, `
		100 0 3000 Running 0 -
		100 3000 1 I - -
		100 3001 4999 - - -
		100 8000 992000 Running 0 -
		200 0 1000 S - -
		200 1000 2000 Running 1 -
		200 3000 1 I - -
		200 3001 4999 - - -
		200 8000 1000 R - 100
		200 9000 200 Running 1 -
		200 9200 990800 D - -
		4195329 3000 5000 Running 0 -
		4195329 8000 992000 I - -
		4195330 3000 6000 Running 1 -
		4195330 9000 991000 I - -
	`)
	compare(t, "states of those that stand for others", rows[2], "tid state", "")
	compare(t, "names", rows[3], "tid name", "1 init\n100 ping\n101 pong\n200 renamed\n")
}

// A switch shows that another thread has run: how the previous one has left is unknown.
func TestStateIsUnknownWhereASwitchIsMissing(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+1000 cpu0 switch 4 next=1 prev_state=S prev_prio=120 next_prio=120
		+2000 cpu0 waking 1 wakee=2 prio=120 target_cpu=0
		+2500 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120
		+3000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`), placeholderSQL)
	compare(t, "thread_state", only(rows[1], 100, 200), stateFields, `
		100 0 1000 Running 0 -
		100 1000 1 I - -
		100 1001 999 - - -
		100 2000 500 R - 0
		100 2500 500 Running 0 -
		100 3000 997000 S - -
		200 0 1000 S - -
		200 1000 999000 S - -
	`)
	compare(t, "states of those that stand for others", rows[2], "tid state", "")
}

// A thread that goes on in the nanosecond in which its CPU turns out to be another's was never in an unknown state.
func TestStateIsKnownAgainAtOnce(t *testing.T) {
	for what, next := range map[string]string{
		"runs":  "+1000 cpu0 switch 4 next=2 prev_state=S prev_prio=120 next_prio=120",
		"woken": "+1000 cpu0 switch 4 next=1 prev_state=S prev_prio=120 next_prio=120\n+1000 cpu0 waking 1 wakee=2 prio=120 target_cpu=0",
		"freed": "+1000 cpu0 switch 4 next=1 prev_state=S prev_prio=120 next_prio=120\n+1000 cpu0 free 2",
	} {
		rows := query(t, written(t, machine+opening1+next+`
			+3000 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
			end close=+1000000
		`), `select count(*) as n from thread_state where state is null`, `select count(*) as n from thread where tid = 100`)
		compare(t, what+": unknown states", rows[2], "n", "0\n")
		compare(t, what+": threads", rows[3], "n", "1\n")
	}
}

// A thread cannot run on two CPUs: where it appears on another one, its switch from the first is missing, and since that
// CPU's last event its state is unknown.
func TestThreadThatAppearsOnAnotherCPUHasLeftTheFirst(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+2000 cpu1 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120
		+3000 cpu0 switch 4 next=1 prev_state=S prev_prio=120 next_prio=120
		+4000 cpu1 switch 2 next=1 prev_state=D prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "thread_state", only(rows[1], 100, 4195329), stateFields, `
		100 0 1 I - -
		100 1 1999 - - -
		100 2000 2000 Running 1 -
		100 4000 996000 D - -
		4195329 0 3000 Running 0 -
		4195329 3000 997000 I - -
	`)
}

// Between two windows the state of a thread that ran is unknown.
func TestStateIsUnknownBetweenWindows(t *testing.T) {
	rows := query(t, written(t, machine+opening1+"end close=+1000000\n"+secondWindow))
	compare(t, "thread_state", only(rows[1], 100), stateFields, `
		100 0 1000000 Running 0 -
		100 1000000 1 I - -
		100 1000001 7000999999 - - -
		100 7002000000 1000 Running 0 -
		100 7002001000 999000 D - -
	`)
}

// A state in the middle of a window has the state in which a thread has left its CPU, and shows that another's is unknown.
func TestStateInTheMiddleShowsHowAThreadHasLeft(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+1000 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		+400000 cpu0 state_cpu 1 prio=120
		+400000 cpu1 state_cpu 4 prio=120
		+400000 cpu0 state_thread 2 state=t prio=120
		end close=+1000000
	`))
	compare(t, "thread_state", only(rows[1], 100, 101, 200), stateFields, `
		100 0 400000 Running 0 -
		100 400000 600000 t - -
		101 0 1000 S - -
		101 1000 399000 Running 1 -
		101 400000 1 I - -
		101 400001 599999 - - -
		200 0 400000 S - -
		200 400000 600000 Running 1 -
	`)
}

// The state of a thread that a filter hides while it sleeps is unknown from there on.
func TestStateIsUnknownWhereAFilterHidesASleeper(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		+2000 all cpu_left 4
		+3000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "thread_state", only(rows[1], 200), stateFields, `
		200 0 2001 S - -
		200 2001 997999 - - -
	`)
}
