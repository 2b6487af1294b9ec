package perfetto

import "testing"

const threadSQL = `select tid, (select pid from process where process.upid = thread.upid) as pid, name,
	start_ts - 15000000000 as start, end_ts - 15000000000 as end from thread where tid >= 300 order by utid`

const processSQL = `select p.pid, (select pid from process q where q.upid = p.parent_upid) as ppid, p.name, p.cmdline,
	(select count(*) from thread where thread.upid = p.upid) as threads from process p where p.pid < 4194304 order by p.upid`

func TestForkExecRenameExitFree(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		task 10 tid=300 pid=300 comm=ping process_comm=ping ppid=100 start=11
		task 11 tid=300 pid=300 comm=ls process_comm=ls ppid=100 start=11 continues=10
		task 12 tid=301 pid=300 comm=ls process_comm=ls ppid=100 start=12
		task 13 tid=301 pid=300 comm=lister process_comm=ls ppid=100 start=12 continues=12
		task 14 tid=22 pid=22 comm="kworker/u:3" process_comm="kworker/u:3" ppid=2 start=13 flags=1
		+1000 cpu0 fork 2 child=10
		+1010 cpu0 wakeup_new 2 wakee=10 prio=120 target_cpu=1
		+1500 cpu1 switch 1 next=10 prev_state=R prev_prio=120 next_prio=120
		+1600 cpu1 rename 11 prev=10
		+1600 cpu1 exec 11 prev=10 filename="/bin/ls"
		+1700 cpu1 fork 11 child=12
		+1710 cpu1 wakeup_new 11 wakee=12 prio=120 target_cpu=1
		+1800 cpu1 switch 11 next=12 prev_state=S prev_prio=120 next_prio=120
		+1810 cpu1 rename 13 prev=12
		+1900 cpu1 exit 13 code=0
		+1950 cpu1 switch 13 next=5 prev_state=X prev_prio=120 next_prio=120
		+1960 cpu1 free 13
		+1970 cpu1 fork 5 child=14
		+1980 cpu1 switch 5 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`), threadSQL, processSQL, `select name, count(*) as n from ftrace_event where name not in ('sched_switch', 'sched_waking') group by name order by name`)
	compare(t, "thread_state", only(rows[1], 300, 301), stateFields, `
		300 1000 500 R - 100
		300 1500 300 Running 1 -
		300 1800 998200 S - -
		301 1700 100 R - 300
		301 1800 150 Running 1 -
		301 1950 998050 X - -
	`)
	compare(t, "thread", rows[2], "tid pid name start end", `
		300 300 ls 1000 -
		301 300 lister 1700 1960
	`)
	compare(t, "process", rows[3], "pid ppid name threads", `
		0 - - 1
		1 0 init 1
		100 1 ping 2
		200 1 sleeper 1
		2 0 kthreadd 1
		20 2 kworker/0:1 1
		21 2 kworker/1:1 1
		300 100 ls 2
		22 2 kworker/u:3 1
	`)
	compare(t, "ftrace_event", rows[4], "name n", `
		sched_process_exec 1
		sched_process_exit 1
		sched_process_free 1
		sched_wakeup_new 2
		task_newtask 3
		task_rename 2
	`)
}

func TestUsedAgainTidIsAnotherThread(t *testing.T) {
	for what, free := range map[string]string{
		"freed":                     "+1200 cpu0 free 10",
		"its free was not recorded": "",
		"only its fork was not":     "+1200 cpu0 free 10",
	} {
		fork := "+1250 cpu0 fork 2 child=11"
		if what == "only its fork was not" {
			fork = ""
		}
		rows := query(t, written(t, machine+opening1+`
			task 10 tid=300 pid=300 comm=first process_comm=first ppid=100 start=11
			task 11 tid=300 pid=300 comm=second process_comm=second ppid=100 start=12
			+1000 cpu1 switch 1 next=10 prev_state=R prev_prio=120 next_prio=120
			+1100 cpu1 switch 10 next=1 prev_state=X prev_prio=120 next_prio=120
			`+free+`
			`+fork+`
			+1300 cpu1 switch 1 next=11 prev_state=R prev_prio=120 next_prio=120
			+1400 cpu1 switch 11 next=1 prev_state=S prev_prio=120 next_prio=120
			end close=+1000000
		`), `select tid, name, end_ts is not null as ended, (select name from process p where p.upid = thread.upid) as process,
			(select sum(dur) from sched where sched.utid = thread.utid) as ran from thread where tid = 300 order by utid`)
		compare(t, what, rows[2], "tid name ended process ran", `
			300 first 1 first 100
			300 second 0 second 100
		`)
	}
}

// A thread that is not the leader executes: it goes on under the leader's tid.
// The recorder writes the thread's last definition under the leader's id as the one before the exec.
func TestExecByAnotherThreadUnderTheLeadersName(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		task 8 tid=100 pid=100 comm=side process_comm=ping ppid=1 start=5 continues=3
		task 9 tid=100 pid=100 comm=new process_comm=new ppid=1 start=5 continues=8
		+1000 cpu0 switch 2 next=3 prev_state=X prev_prio=120 next_prio=120
		+2000 cpu0 exec 9 prev=8 old_tid=101 filename="/bin/new"
		+3000 cpu0 switch 9 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "thread_state", only(rows[1], 100, 101), stateFields, `
		100 0 1000 Running 0 -
		100 1000 1000 X - -
		100 2000 1000 Running 0 -
		100 3000 997000 S - -
		101 0 1000 S - -
		101 1000 1000 Running 0 -
		101 2000 998000 X - -
	`)
}

func TestExecByAnotherThreadThanTheLeader(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		task 9 tid=100 pid=100 comm=new process_comm=new ppid=1 start=5 continues=2
		+1000 cpu0 switch 2 next=3 prev_state=S prev_prio=120 next_prio=120
		+2000 cpu0 exec 9 prev=3 old_tid=101 filename="/bin/new"
		+3000 cpu0 switch 9 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`))
	compare(t, "thread_state", only(rows[1], 100, 101), stateFields, `
		100 0 1000 Running 0 -
		100 1000 1000 S - -
		100 2000 1000 Running 0 -
		100 3000 997000 S - -
		101 0 1000 S - -
		101 1000 1000 Running 0 -
		101 2000 998000 X - -
	`)
}

func TestHostileNamesBecomeValid(t *testing.T) {
	rows := query(t, written(t, machine+`
		task 10 tid=300 pid=300 comm="a\xff\x1b[31m" process_comm="b\x00\n" ppid=100 start=11
		task 11 tid=301 pid=301 comm="" process_comm="" ppid=100 start=11
		task 12 tid=302 pid=302 comm="tmux: server" process_comm="tmux: server" ppid=100 start=11
		+1500 cpu1 switch 1 next=10 prev_state=R prev_prio=120 next_prio=120
		+1600 cpu1 switch 10 next=11 prev_state=R prev_prio=120 next_prio=120
		+1700 cpu1 switch 11 next=12 prev_state=R prev_prio=120 next_prio=120
		end close=+1000000
	`), `select thread.name as name, p.name as process from thread join process p using (upid) where tid >= 300 and tid < 4194304 order by tid`)
	compare(t, "names", rows[2], "name process", "a\ufffd\ufffd[31m b\ufffd\ufffd\n(unknown) (unknown)\ntmux: server tmux: server\n")
}
