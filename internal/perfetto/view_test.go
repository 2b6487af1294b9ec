package perfetto

import (
	"strings"
	"testing"
	"time"

	"wprof/test/engine"
)

const (
	// viewSQL are the slices of threads' own tracks, with a column for each annotation.
	viewSQL = `select thread.name as thread, s.name as name, s.ts - 15000000000 as ts, s.dur as dur, s.depth as depth,
		extract_arg(arg_set_id, 'debug.slept_ns') as slept, extract_arg(arg_set_id, 'debug.blocked_ns') as blocked,
		extract_arg(arg_set_id, 'debug.preempted_ns') as preempted, extract_arg(arg_set_id, 'debug.waker') as waker,
		extract_arg(arg_set_id, 'debug.delay_ns') as delay, extract_arg(arg_set_id, 'debug.state') as state,
		replace(extract_arg(arg_set_id, 'debug.stack'), char(10), '<') as stack,
		extract_arg(arg_set_id, 'debug.compound_delay_ns') as compound, extract_arg(arg_set_id, 'debug.chain') as chain,
		extract_arg(arg_set_id, 'debug.cpu') as cpu, extract_arg(arg_set_id, 'debug.waker_cpu') as waker_cpu,
		extract_arg(arg_set_id, 'debug.prio') as prio, extract_arg(arg_set_id, 'debug.switched_from') as prev,
		extract_arg(arg_set_id, 'debug.switched_to') as next, extract_arg(arg_set_id, 'debug.tid') as tid,
		extract_arg(arg_set_id, 'debug.pid') as pid, extract_arg(arg_set_id, 'debug.code') as code,
		(select count(*) from args a where a.arg_set_id = s.arg_set_id and a.flat_key glob 'debug.*') as annotations
		from slice s join thread_track on track_id = thread_track.id join thread using (utid) order by s.ts, thread.name, s.depth, s.dur`

	flowSQL = `with placed as (select slice.id as id, slice.name as name, ts - 15000000000 as ts, coalesce(thread.name, track.name) as place
		from slice join track on track.id = track_id left join thread_track on thread_track.id = track_id left join thread using (utid))
		select a.place as source, a.name as what, a.ts as ts, b.place as target, b.name as slice, b.ts as target_ts
		from flow join placed a on slice_out = a.id join placed b on slice_in = b.id order by a.ts, a.name`

	idleSQL = `select track.name as track, slice.name as name, ts - 15000000000 as ts, dur from slice join track on track.id = track_id
		where track.name glob 'Idle CPU *' order by track, ts`
)

// five are threads that wake each other in a known order: one wakes two, two three, three four and four five, which
// preempts one and wakes two again.
const five = `
section host=test boot_id=b kernel_release=6.18.0 machine=x86_64 open=10000000000 close=+1000000
  cpu 0
  cpu 1
  clock monotonic=10000000000 boottime=15000000000 realtime=1700000000000000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 10 tid=301 pid=301 comm=one process_comm=one ppid=1 start=11
task 11 tid=302 pid=301 comm=two process_comm=one ppid=1 start=12
task 12 tid=303 pid=303 comm=three process_comm=three ppid=1 start=13
task 13 tid=304 pid=304 comm=four process_comm=four ppid=1 start=14
task 14 tid=305 pid=305 comm=five process_comm=five ppid=1 start=15
module 1 path="/usr/bin/one" build_id=01abcd kind=1
module 2 path="[kernel]" kind=2 base=0xffffffff81000000
frame 1 module=1 offset=0x1100
  line function="main"
frame 2 module=1 offset=0x1200
  line function="pthread_cond_wait"
frame 3 module=2 offset=0x300
  line function="do_syscall_64"
frame 4 module=2 offset=0x400
  line function="futex_wait_queue"
frame 5 module=2 offset=0x500
  line function="schedule"
frame 6 module=2 offset=0x600
  line function="__schedule.isra.0"
stack 1 frames=1,2,3,4,5,6 kernel_frames=4
stack 2 frames=1,2,5,6 kernel_frames=2
+0 cpu0 state_cpu 10 prio=120
+0 cpu1 state_cpu 1 prio=120
+0 cpu1 state_thread 11 state=S prio=120 since=-100
+0 cpu1 state_thread 12 state=S prio=110 since=-100
+0 cpu1 state_thread 13 state=D prio=120 since=-100
+0 cpu0 state_thread 14 state=S prio=98 since=-100
+1000 cpu0 waking 10 wakee=11 prio=120 target_cpu=1
+1200 cpu1 switch 1 next=11 prev_state=R prev_prio=120 next_prio=120 since=-100 next_state=S stack=1
+2000 cpu1 waking 11 wakee=12 prio=110 target_cpu=1
+2100 cpu0 waking 10 wakee=12 prio=110 target_cpu=1
+2500 cpu1 switch 11 next=12 prev_state=S prev_prio=120 next_prio=110 since=-100 next_state=S stack=2
+3000 cpu1 waking 12 wakee=13 prio=120 target_cpu=1
+3400 cpu1 switch 12 next=13 prev_state=S prev_prio=110 next_prio=120 since=-100 next_state=D
+4000 cpu1 waking 13 wakee=14 prio=98 target_cpu=0
+4700 cpu0 switch 10 next=14 prev_state=R+ prev_prio=120 next_prio=98 since=-100 next_state=S
+6000 cpu0 waking 14 wakee=11 prio=120 target_cpu=1
+6500 cpu0 switch 14 next=10 prev_state=S prev_prio=98 next_prio=120 since=+4700 next_state=R+
+7000 cpu1 switch 13 next=11 prev_state=S prev_prio=120 next_prio=120 since=+2500 next_state=S stack=1
+8000 cpu1 switch 11 next=1 prev_state=S prev_prio=120 next_prio=120
end close=+1000000
`

func onCPU(rows []engine.Row) []engine.Row { return named(rows, "on CPU ") }

func named(rows []engine.Row, prefix string) []engine.Row {
	var some []engine.Row
	for _, row := range rows {
		if strings.HasPrefix(row["name"].(string), prefix) {
			some = append(some, row)
		}
	}
	return some
}

func TestFiveThreadsThatWakeEachOther(t *testing.T) {
	options := withArrows()
	options.BlockedMin = 0
	rows := query(t, writtenWith(t, five, options), viewSQL, flowSQL, idleSQL)
	compare(t, "on the CPU", onCPU(rows[2]), "ts thread name dur slept blocked preempted waker delay annotations", `
		0 one on CPU 0 4700 - - - - - 0
		1200 two on CPU 1 1300 1300 - - one 200 3
		2500 three on CPU 1 900 2600 - - two 500 3
		3400 four on CPU 1 3600 - 3500 - three 400 3
		4700 five on CPU 0 1800 4800 - - four 700 3
		6500 one on CPU 0 (open) 993500 - - 1800 - - 1
		7000 two on CPU 1 1000 4500 - - five 1000 3
	`)
	compare(t, "blocked", named(rows[2], "blocked"), "ts thread name dur state stack", `
		0 five blocked: unknown (S) 4000 S -
		0 four blocked: unknown (D) 3000 D -
		0 three blocked: pthread_cond_wait 2000 S __schedule.isra.0<schedule<pthread_cond_wait<main
		0 two blocked: futex_wait_queue 1000 S __schedule.isra.0<schedule<futex_wait_queue<do_syscall_64<pthread_cond_wait<main
		2500 two blocked: futex_wait_queue 3500 S __schedule.isra.0<schedule<futex_wait_queue<do_syscall_64<pthread_cond_wait<main
		3400 three blocked: unknown (S) (open) 996600 S -
		6500 five blocked: unknown (S) (open) 993500 S -
		7000 four blocked: unknown (S) (open) 993000 S -
		8000 two blocked: unknown (S) (open) 992000 S -
	`)
	compare(t, "arrows", rows[3], "ts source what target slice target_ts", `
		1000 one wakes two two on CPU 1 1200
		2000 two wakes three three on CPU 1 2500
		3000 three wakes four four on CPU 1 3400
		4000 four wakes five five on CPU 0 4700
		4700 five preempts one one on CPU 0 (open) 6500
		6000 five wakes two two on CPU 1 7000
	`)
	compare(t, "instants lie within what ran", named(rows[2], "preempts"), "ts thread depth annotations", "4700 five 1 0\n")
	compare(t, "idle", rows[4], "track name ts dur", `
		Idle CPU 1 idle 0 1200
		Idle CPU 1 idle (open) 8000 992000
	`)
}

// By default wakeups and preemptions are only in Perfetto's own tables, which contain the same facts.
func TestFiveThreadsWithoutArrows(t *testing.T) {
	options := DefaultOptions()
	options.BlockedMin = 0
	rows := query(t, writtenWith(t, five, options), viewSQL, flowSQL, `
		select woken.name as thread, ts + dur - 15000000000 as ts, dur as delay, waker.name as waker from thread_state
		join thread woken using (utid) join thread waker on waker.utid = waker_utid where state = 'R' order by ts`, `
		with runs as (select utid, ts, dur, end_state, lead(utid) over (partition by ucpu order by ts) as next from sched where dur != 0)
		select ts + dur - 15000000000 as ts, by.name as thread, preempted.name as took_it_from from runs
		join thread preempted using (utid) join thread by on by.utid = next where end_state = 'R+'`)
	compare(t, "on the CPU", onCPU(rows[2]), "ts thread name dur slept blocked preempted delay annotations", `
		0 one on CPU 0 4700 - - - - 0
		1200 two on CPU 1 1300 1300 - - 200 2
		2500 three on CPU 1 900 2600 - - 500 2
		3400 four on CPU 1 3600 - 3500 - 400 2
		4700 five on CPU 0 1800 4800 - - 700 2
		6500 one on CPU 0 (open) 993500 - - 1800 - 1
		7000 two on CPU 1 1000 4500 - - 1000 2
	`)
	if n := len(named(rows[2], "blocked")); n != 9 || len(rows[2]) != 16 || len(rows[3]) != 0 {
		t.Errorf("%d slices are there, %d of them blocked, and %d arrows", len(rows[2]), n, len(rows[3]))
	}
	compare(t, "wakers", rows[4], "ts thread delay waker", `
		1200 two 200 one
		2500 three 500 two
		3400 four 400 three
		4700 five 700 four
		7000 two 1000 five
	`)
	compare(t, "preempted", rows[5], "ts thread took_it_from", "4700 five one\n")
}

// Where the recorder took wakers' stacks, instants show them.
func TestWakingsWithStacksAreDrawn(t *testing.T) {
	text := strings.Replace(five, "+3000 cpu1 waking 12 wakee=13 prio=120 target_cpu=1", "+3000 cpu1 waking 12 wakee=13 prio=120 target_cpu=1 stack=2", 1)
	rows := query(t, writtenWith(t, text, DefaultOptions()), viewSQL, flowSQL)
	compare(t, "marks", named(rows[2], "wakes"), "ts thread name stack", "3000 three wakes four __schedule.isra.0<schedule<pthread_cond_wait<main\n")
	compare(t, "arrows", rows[3], "ts source what target slice target_ts", "3000 three wakes four four on CPU 1 3400\n")
}

func TestExtrasAndIDsAreThereWhenRequested(t *testing.T) {
	options := withArrows()
	options.Set([]string{"sched-extras,tidpid"})
	rows := query(t, writtenWith(t, five, options), viewSQL)
	compare(t, "on the CPU", onCPU(rows[2]), "ts thread compound chain cpu waker_cpu prio prev next state waker tid pid", `
		0 one - - 0 - 120 - five 305 R+ - 301 301
		1200 two 200 1 1 0 120 idle three 303 S one 301 302 301
		2500 three 700 2 1 1 110 two 302 of 301 four 304 S two 302 of 301 303 303
		3400 four 1100 3 1 1 120 three 303 two 302 of 301 S three 303 304 304
		4700 five 1800 4 0 1 98 one 301 one 301 S four 304 305 305
		6500 one 1800 0 0 - 120 five 305 - - - 301 301
		7000 two 2800 5 1 0 120 four 304 idle S five 305 302 301
	`)
	compare(t, "wakings", named(rows[2], "wakes five"), "ts thread name tid pid cpu prio", "4000 four wakes five 305 305 305 1 98\n")
}

// Only blocks of at least the threshold are drawn.
func TestThresholdOfBlocks(t *testing.T) {
	for _, c := range []struct {
		min  time.Duration
		want int
	}{{-1, 3}, {0, 9}, {4 * time.Microsecond, 5}, {995 * time.Microsecond, 1}, {time.Second, 0}} {
		options := DefaultOptions()
		options.BlockedMin = c.min
		rows := query(t, writtenWith(t, five, options), viewSQL)
		if got := len(named(rows[2], "blocked")); got != c.want {
			t.Errorf("from %v on: %d blocks, want %d", c.min, got, c.want)
		}
	}
}

// Each part can be left out, and nothing of it remains.
func TestPartsCanBeLeftOut(t *testing.T) {
	const count = `select (select count(*) from sched) as sched, (select count(*) from slice join thread_track on track_id = thread_track.id) as threads,
		(select count(*) from flow) as arrows, (select count(*) from slice where name = 'tick') as ticks,
		(select count(*) from slice join track on track_id = track.id where track.name = 'stacks') as stacks,
		(select count(*) from perf_sample) as samples, (select count(*) from thread where name = 'three') as names`
	text := strings.Replace(five, "+6500 ", "+6200 cpu0 sample 14 stack=1 source=1\n+6500 ", 1)
	for _, c := range []struct{ lists, want string }{
		{"", "1 1 0 0 0 1 1\n"},
		{"arrows", "1 1 1 0 0 1 1\n"},
		{"no-threads", "1 0 0 0 0 1 1\n"},
		{"no-sched", "0 1 1 0 0 1 1\n"},
		{"no-sched,no-threads", "0 0 0 0 0 1 1\n"},
		{"no-threads,timer-ticks", "1 1 0 1 0 1 1\n"},
		{"embed-stacks,no-threads", "1 1 0 0 1 1 1\n"},
		{"timer-ticks,embed-stacks,no-timer-ticks", "1 1 0 0 1 1 1\n"},
	} {
		options := DefaultOptions()
		options.Set([]string{c.lists})
		rows := query(t, writtenWith(t, text, options), count)
		for name, value := range rows[2][0] {
			rows[2][0][name] = min(value.(int64), 1)
		}
		compare(t, c.lists, rows[2], "sched threads arrows ticks stacks samples names", c.want)
	}
}
