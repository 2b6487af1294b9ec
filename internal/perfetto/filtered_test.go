package perfetto

import (
	"strings"
	"testing"
)

// Output of wprof-filter -p 100: hidden threads take over CPUs, wake and are woken.
func TestHiddenThreadsTakeTheirPlace(t *testing.T) {
	rows := query(t, written(t, strings.Replace(machine, "  cpu 0\n", "  history \"wprof-filter -p 100\"\n  cpu 0\n", 1)+`
		+0 cpu0 state_cpu 2 prio=120
		+0 cpu1 state_thread 3 state=S prio=120
		+1000 cpu0 switch 2 next=4 prev_state=S prev_prio=120 next_prio=120 !object
		+2000 cpu1 waking 4 wakee=2 prio=120 target_cpu=0 !subject
		+2500 cpu1 waking 2 wakee=4 prio=120 target_cpu=0 !object
		+3000 cpu0 switch 4 next=2 prev_state=S prev_prio=120 next_prio=120 !subject
		+3500 cpu0 waking 2 wakee=3 prio=120 target_cpu=0
		+4000 cpu0 cpu_left 2
		+5000 cpu0 switch 4 next=3 prev_state=S prev_prio=120 next_prio=120 !subject
		+6000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "sched", rows[0], schedFields+" name", `
		0 100 0 1000 S ping
		0 4194305 1000 2000 I <filtered>
		0 100 3000 1000 I ping
		0 4194305 4000 1000 I <filtered>
		0 0 4001 0 R swapper
		0 100 4001 0 - ping
		0 101 5000 1000 S pong
		0 100 6000 994000 I ping
		0 0 1000000 0 - swapper
		1 4194306 0 1000000 I <filtered>
		1 0 1000000 0 - swapper
	`)
	compare(t, "thread_state", only(rows[1], 100, 101), stateFields, `
		100 0 1000 Running 0 -
		100 1000 1000 S - -
		100 2000 1000 R - 4194306
		100 3000 1000 Running 0 -
		100 4000 1 I - -
		100 4001 1999 - - -
		100 6000 994000 Running 0 -
		101 0 3500 S - -
		101 3500 1500 R - 100
		101 5000 1000 Running 0 -
		101 6000 994000 S - -
	`)
}

// A recording of a command has no states at its opening, because it begins with the exec.
func TestHiddenThreadsRunUntilTheCommandsExec(t *testing.T) {
	rows := query(t, written(t, strings.Replace(machine, "  cpu 0\n", "  config key=\"scope\" value=\"the command and its children\"\n  cpu 0\n", 1)+`
		+1000 cpu0 exec 2 prev=2 filename="/bin/ping"
		+1000 cpu0 state_cpu 2 prio=120 since=+1000
		+3000 cpu0 switch 2 next=4 prev_state=S prev_prio=120 next_prio=120 !object
		end close=+1000000
	`))
	compare(t, "sched", rows[0], schedFields+" name", `
		0 4194305 0 1000 I <filtered>
		0 100 1000 2000 S ping
		0 4194305 3000 997000 I <filtered>
		0 0 1000000 0 - swapper
		1 4194306 0 1000000 I <filtered>
		1 0 1000000 0 - swapper
	`)
}

// A process or thread that a hidden thread creates belongs to its own process, not to the placeholder's.
func TestChildrenOfHiddenThreads(t *testing.T) {
	rows := query(t, written(t, machine+`
		task 10 tid=300 pid=300 comm=child process_comm=child ppid=100 start=11
		task 11 tid=301 pid=300 comm=thread process_comm=child ppid=100 start=12
		+1000 cpu0 fork 2 child=10 !subject
		+1100 cpu0 wakeup_new 2 wakee=10 prio=120 target_cpu=1 !subject
		+1200 cpu0 fork 2 child=11 !subject
		+1300 cpu0 wakeup_new 2 wakee=11 prio=120 target_cpu=1 !subject
		+1400 cpu1 fork 10 child=2 !object
		+1500 cpu1 switch 1 next=10 prev_state=R prev_prio=120 next_prio=120 !subject
		end close=+1000000
	`), threadSQL)
	compare(t, "thread_state", only(rows[1], 300, 301), stateFields, `
		300 1100 400 R - 4194305
		300 1500 998500 Running 1 -
		301 1300 998700 R - 4194305
	`)
	compare(t, "thread", rows[2][:4], "tid pid name", `
		300 300 child
		4196380 4196380 -
		4194305 4196380 <filtered>
		301 300 thread
	`)
}

// Perfetto follows a waking only to a waker that runs, which a hidden thread under its own name would not.
func TestCriticalPathWithAHiddenWaker(t *testing.T) {
	rows := query(t, written(t, machine+`
		+0 cpu0 state_cpu 2 prio=120
		+0 cpu1 state_thread 3 state=S prio=120
		+1000 cpu1 waking 4 wakee=3 prio=120 target_cpu=0 !subject
		+3000 cpu0 switch 2 next=3 prev_state=S prev_prio=120 next_prio=120
		+4000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`), `include perfetto module sched.thread_executing_span_with_slice;
		select ts - 15000000000 as ts, dur, name from _critical_path_stack((select utid from thread where tid = 101),
			(select start_ts from trace_bounds), (select end_ts - start_ts from trace_bounds), 1, 1, 1, 1)
		where name glob 'thread_state: *' order by ts`)
	compare(t, "critical path", rows[2], "ts dur name", `
		1000 2000 thread_state: R
		3000 1000 thread_state: Running
	`)
}
