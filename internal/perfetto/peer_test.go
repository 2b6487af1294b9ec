package perfetto

import "testing"

// Categories, names and arguments that the C program wprof has too.
func TestCategoriesAndNamesOfTheCProgram(t *testing.T) {
	text := `
		section host=box boot_id=b kernel_release=6.18.0 machine=x86_64 open=10000000000 close=+9000000
		  cpu 0 node=3
		  clock monotonic=10000000000 boottime=15000000000 realtime=1700000000000000000
		  command wprof-record -d5s -- make all
		  config key=rings value="2 of 8mb"
		task 1 tid=0 pid=0 comm=swapper flags=2
		task 2 tid=100 pid=100 comm=ping process_comm=ping ppid=1 start=5
		task 3 tid=501 pid=500 comm=old process_comm=old ppid=1 start=6
		task 4 tid=500 pid=500 comm=new process_comm=new ppid=1 start=6 continues=3
		task 5 tid=300 pid=300 comm=child process_comm=child ppid=100 start=11
		module 1 path="/bin/ping" build_id=01 kind=file
		frame 1 module=1 offset=1
		  line function=spin
		stack 1 frames=1
		+0 cpu0 state_cpu 2 prio=120
		+0 cpu0 state_thread 3 state=S prio=120 since=-1000
		+1000 cpu0 fork 2 child=5
		+2000 cpu0 waking 2 wakee=3 prio=120 target_cpu=0
		+5000 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=-1000 next_state=S
		+6000 cpu0 exec 4 prev=3 filename="/bin/new" old_tid=501
		+2000000 cpu0 switch 4 next=2 prev_state=S prev_prio=120 next_prio=120 since=+5000 next_state=R+ stack=1
		end close=+9000000
	`
	options := DefaultOptions()
	options.Set([]string{"numa,wprof-names,sched-extras,preempted"})
	rows := query(t, writtenWith(t, text, options), `select s.name, category, extract_arg(s.arg_set_id, 'debug.numa_node') as node,
			coalesce(extract_arg(s.arg_set_id, 'debug.filename'), extract_arg(s.arg_set_id, 'debug.forked_into'), extract_arg(s.arg_set_id, 'debug.forked_from')) as text,
			coalesce(extract_arg(s.arg_set_id, 'debug.waking_delay_us'), extract_arg(s.arg_set_id, 'debug.tid_changed_from')) as number,
			extract_arg(s.arg_set_id, 'debug.stack') as stack
		from slice s where s.name not glob 'wprof*' and s.name not glob 'make*' order by ts, s.name`,
		`select s.name, category, extract_arg(s.arg_set_id, 'debug.kernel') as kernel, extract_arg(s.arg_set_id, 'debug.started') as started,
			extract_arg(s.arg_set_id, 'debug.setting rings') as rings, ts - 15000000000 as ts, dur from slice s join track t on t.id = track_id where t.name = 'Session'`,
		`select name, str_value from metadata where name in ('trace_uuid', 'unique_session_name') order by 1`)
	compare(t, "drawn", rows[2], "name category node text number stack", `
		on CPU 0 ONCPU 3 - - -
		fork: child FORKING 3 child - -
		forked by ping FORKED - ping - -
		on CPU 0 ONCPU 3 - 3 -
		preempted OFFCPU - - - spin
		exec: /bin/new EXEC 3 /bin/new 501 -
		on CPU 0 ONCPU 3 - 3 -
		blocked: unknown (S) (open) OFFCPU - - - -
		on CPU 0 (open) ONCPU 3 - - -
	`)
	compare(t, "session", rows[3], "name category kernel started rings ts dur", "make all on box recording 6.18.0 2023-11-14T22:13:20Z 2 of 8mb 0 9000000\n")
	compare(t, "metadata", rows[4], "name str_value", "trace_uuid dba09dbb-05e7-894c-a519-b1d46b44bf97\nunique_session_name make all on box\n")
}
