package perfetto

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"wprof/format"
)

const typedTypes = `
text 1 text="GET"
eventtype 1 name="request" shape=span track="requests" colour="slow"
  field "path" type=string hint=name
  field "method" type=text
  field "size" type=uint unit="bytes"
  field "peer" type=task
  field "wait" type=duration
eventtype 2 name="queue" on=process
  field "depth" type=int hint=counter unit="entries"
eventtype 3 name="clock" on=cpu
  field "mhz" type=float hint=counter
eventtype 4 name="note" on=global colour="slow"
  field "flags" type=uint hint=hex
eventtype 5 name="work" shape=begin
  field "id" type=uint hint=key
eventtype 6 name="work done" shape=end ends=5
  field "id" type=uint hint=key
  field "rc" type=enum
    enum -5 name="EIO"
`

// A span ends with the thread that was killed in it, although that became known later, and one inside it does too. That is no fault.
func TestSpansOfKilledThreadsEndWithThem(t *testing.T) {
	rows := query(t, writtenWith(t, machine+typedTypes+`
		+0 cpu0 state_cpu 2 prio=120
		+5000 cpu0 exit 2 code=9 last
		+5100 cpu0 switch 2 prev_state=X next=3
		+9000 cpu0 typed 2 own=+5000 type=1 start=+1000 .path="/outer" .method=0 .size=0 .peer=0 .wait=0 open
		+9000 cpu1 typed 2 own=+5000 type=1 start=+2000 .path="/inner" .method=0 .size=0 .peer=0 .wait=0 open
		+9000 cpu1 typed 3 type=1 start=+3000 .path="/alive" .method=0 .size=0 .peer=0 .wait=0 open
		end close=+9000
	`, everything()), `select s.ts - 15000000000 as ts, s.dur, s.name from slice s join track t on s.track_id = t.id where t.name = 'requests' order by s.ts`,
		`select s.name from slice s where s.name glob 'late*'`)
	compare(t, "slices", rows[2], "ts dur name", `
		1000 4000 /outer (open)
		2000 3000 /inner (open)
		3000 6000 /alive (open)
	`)
	if len(rows[3]) > 0 {
		t.Errorf("there are faults: %v", rows[3])
	}
}

// Events of types that the section defines are drawn by these types.
func TestTypedEventsAreDrawn(t *testing.T) {
	rows := query(t, writtenWith(t, machine+typedTypes+`
		+0 cpu0 state_cpu 2 prio=120
		+2000 cpu0 typed 2 type=1 start=+1000 .path="/a" .method=1 .size=4096 .peer=4 .wait=7
		+2500 cpu0 typed 2 type=1 start=+500 .path="/outer" .method=0 .size=0 .peer=0 .wait=0
		+2600 cpu0 typed 2 type=1 start=+2000 .path="/crossing" .method=0 .size=0 .peer=0 .wait=0
		+3000 cpu1 typed 3 type=2 .depth=-3
		+3100 cpu1 typed 0 type=3 .mhz=2400.5
		+3200 cpu0 typed 0 type=4 .flags=255
		+4000 cpu0 typed 2 type=5 .id=77
		+4100 cpu0 typed 2 type=5 .id=78
		+4500 cpu1 typed 3 type=6 .id=77 .rc=-5
		+5000 cpu1 typed 3 type=9
		+6000 cpu0 typed 2 type=1 start=-500 .path="/early" .method=0 .size=0 .peer=0 .wait=0
		+7000 cpu0 typed 2 type=1 start=-900 .path="/earlier" .method=0 .size=0 .peer=0 .wait=0
		end close=+1000000
	`, everything()),
		`select s.ts - 15000000000 as ts, s.dur, s.name, t.name as track, coalesce(p.tid, '-') as tid, coalesce(group_concat(a.flat_key || '=' || a.display_value, ' '), '-') as args
		from slice s join track t on s.track_id = t.id left join thread_track tt on tt.id = t.id left join thread p using (utid) left join args a on a.arg_set_id = s.arg_set_id and a.flat_key glob 'debug.*' and a.flat_key not glob '*id'
		where t.name in ('requests', 'work', 'note') group by s.id order by s.ts, s.dur`,
		`select c.ts - 15000000000 as ts, c.value, t.name, coalesce(pt.pid, '-') as pid, t.type from counter c join track t on c.track_id = t.id left join process_counter_track k on k.id = t.id left join process pt using (upid) where t.name in ('queue depth', 'clock mhz CPU 1') order by ts`,
		`select name, extract_arg(arg_set_id, 'correlation_id') as colour from slice where name in ('/a', 'note', 'work') order by ts`)
	compare(t, "slices", rows[2], "ts dur name track args", `
		-1 7001 /earlier requests debug.size=0 debug.wait_ns=0 debug.length_ns=7900
		0 6000 /early requests debug.size=0 debug.wait_ns=0 debug.length_ns=6500
		500 2000 /outer requests debug.size=0 debug.wait_ns=0
		1000 1000 /a requests debug.method=GET debug.size=4096 debug.peer=sleeper 200 debug.wait_ns=7
		2000 600 /crossing requests debug.size=0 debug.wait_ns=0
		3200 0 note note debug.flags=0xff
		4000 500 work work debug.rc=EIO
		4100 995900 work (open) work -
	`)
	compare(t, "colours", rows[4], "name colour", `
		/a slow
		note slow
		work -
	`)
	compare(t, "counters", rows[3], "ts value name", `
		3000 -3 queue depth
		3100 2400.5 clock mhz CPU 1
	`)
}

const spanTypes = `
frame 1
  line function="main"
frame 2
  line function="read"
stack 1 frames=1,2
eventtype 1 name="call" shape=begin
  field "fd" type=uint
  field "rc" type=int
eventtype 2 name="return" shape=end ends=1
  field "fd" type=uint
  field "rc" type=int
  field "on" type=string
  field "left" type=stack
  field "right" type=stack
eventtype 3 name="irq" shape=begin
eventtype 4 name="irq done" shape=end ends=3
eventtype 5 name="request" shape=span track="requests"
  field "id" type=uint
eventtype 6 name="queue" group="net"
  field "depth" type=int hint=counter
eventtype 7 name="queue" group="disk"
  field "depth" type=int hint=counter
`

const spanSQL = `select s.ts - 15000000000 as ts, s.dur, s.depth, s.name, t.name as track, coalesce(p.tid, '-') as tid, coalesce(group_concat(replace(a.flat_key, 'debug.', '') || '=' || replace(a.display_value, char(10), '/'), ' '), '-') as args
	from slice s join track t on s.track_id = t.id left join thread_track tt on tt.id = t.id left join thread p using (utid) left join args a on a.arg_set_id = s.arg_set_id and a.flat_key glob 'debug.*' and a.flat_key not glob '*tid' and a.flat_key not glob '*pid'
	where t.name not null and t.name != 'idle' and s.name not glob 'on CPU*' and t.name not glob 'idle*' group by s.id order by s.ts, s.dur desc`

// Spans that two events make show the values of both, those of idle threads are drawn on their CPUs, and what is open at the end is
// drawn up to there, also if it began in an earlier section.
func TestSpansOfTwoEvents(t *testing.T) {
	rows := query(t, writtenWith(t, machine+spanTypes+`
		+0 cpu0 state_cpu 2 prio=120
		+1000 cpu0 typed 2 type=1 .fd=3 .rc=0
		+1100 cpu0 typed 1 type=3
		+1200 cpu1 typed 1 type=3
		+1300 cpu0 typed 1 type=4
		+1400 cpu1 typed 1 type=4
		+2000 cpu0 typed 2 type=2 .fd=3 .rc=-5 .on="x" .left=1 .right=1
		+3000 cpu0 typed 2 type=1 .fd=4 .rc=0
		+4000 cpu0 typed 4 type=1 .fd=5 .rc=0
		+5000 cpu0 typed 2 type=6 .depth=1
		+6000 cpu0 typed 2 type=7 .depth=2
		end close=+500000
		section continues open=10000000000 close=+1000000 boot_id=b
		  cpu 0
		  cpu 1
		task 2 tid=100 pid=100 comm=ping process_comm=ping ppid=1 start=5
		+500000 cpu0 state_cpu 2 prio=120
		end close=+1000000
	`, DefaultOptions()), spanSQL, `select c.ts - 15000000000 as ts, c.value, t.name from counter c join track t on c.track_id = t.id where t.name glob '*depth' order by ts`)
	compare(t, "slices", rows[2], "ts dur name track tid args", `
		1000 1000 call call 100 fd=3 rc=0 rc (end)=-5 on=x right=read/main stack=read/main
		1100 200 irq irq CPU 0 - -
		1200 200 irq irq CPU 1 - -
		3000 997000 call (open) call 100 fd=4 rc=0
		4000 996000 call (open) call 200 fd=5 rc=0
	`)
	compare(t, "counters", rows[3], "ts value name", `
		5000 1 net:queue depth
		6000 2 disk:queue depth
	`)
}

// Slices that begin together nest: the engine shows each with its own length.
func TestSlicesThatBeginTogetherNest(t *testing.T) {
	text := machine + spanTypes + "+0 cpu0 state_cpu 2 prio=120\n"
	var want strings.Builder
	for i := range 20 {
		text += fmt.Sprintf("+%d cpu0 typed 2 type=5 start=+1000 .id=%d\n", 2000+i*10, i)
		outer := 19 - i
		fmt.Fprintf(&want, "%d %d %d\n", 1000-outer, 1000+outer*10+outer, i)
	}
	rows := query(t, writtenWith(t, text+"end close=+1000000\n", DefaultOptions()), spanSQL)
	compare(t, "slices", rows[2], "ts dur depth", want.String())
}

// A path that no kernel would report takes no more than any other name.
func TestPathsOfProgramsAreBounded(t *testing.T) {
	var text strings.Builder
	for n := range 20 {
		fmt.Fprintf(&text, "+%d cpu0 exec 2 filename=%q\n", 1000*n+1000, strings.Repeat("p", 1<<20))
	}
	trace, err := os.ReadFile(writtenWith(t, machine+"+0 cpu0 state_cpu 2 prio=120\n"+text.String()+"end close=+1000000\n", everything()))
	if err != nil {
		t.Fatal(err)
	}
	if most := 20 * 3 * format.MaxValueText; len(trace) > most {
		t.Errorf("a trace of 20 execs has %d bytes, more than %d", len(trace), most)
	}
	if cut := strings.Repeat("p", format.MaxValueText) + "…"; strings.Count(string(trace), cut) < 20 {
		t.Errorf("%d paths are shown as cut", strings.Count(string(trace), cut))
	}
}

// Spans of a probe nest on a track of their thread. One that ends in another thread than it began has an arrow between the two, and
// is on a track of the process.
func TestProbesAreDrawn(t *testing.T) {
	rows := query(t, writtenWith(t, machine+`
		task 9 tid=101 pid=100 comm=pong process_comm=ping start=6
		eventtype 1 name="fib" group="probe" shape=span label="fib {n}" probe="f"
		  field "n" type=uint
		  field "unread" type=uint hint=unread
		eventtype 2 name="fib" group="probe" label="fib {n}" probe="f" entry
		  field "n" type=uint
		eventtype 3 name="request" group="probe" shape=span label="request {id}" probe="r"
		  field "id" type=uint
		  field "from" type=task hint=began_by
		+0 cpu0 state_cpu 2 prio=120
		+1000 cpu0 typed 2 type=2 .n=3
		+1000 cpu0 typed 2 type=2 .n=2
		+2000 cpu0 typed 2 type=1 start=+1500 .n=1 .unread=0
		+2000 cpu0 typed 2 type=1 start=+1000 .n=2 .unread=0
		+3000 cpu0 typed 2 type=1 start=+1000 .n=3 .unread=0
		+4000 cpu0 typed 2 type=1 start=+3000 open .n=0 .unread=1
		+5000 cpu1 typed 9 type=3 start=+3000 .id=1 .from=2
		+6000 cpu1 typed 5 type=3 start=+4000 .id=2 .from=2
		end close=+10000
	`, DefaultOptions()),
		`select s.ts - 15000000000 as ts, s.dur, s.depth, s.name, t.name as track, coalesce(p.tid, '-') as tid, coalesce(pt.pid, '-') as pid
		from slice s join track t on s.track_id = t.id left join thread_track tt on tt.id = t.id left join thread p using (utid)
		left join process_track k on k.id = t.id left join process pt on pt.upid = k.upid
		where t.name in ('f', 'r') order by s.ts, s.dur desc, s.name`,
		`select a.name as begins, b.name as ends, a.ts - 15000000000 as ts, b.ts - 15000000000 as till, pa.tid as tid, pb.tid as into_tid
		from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in
		join thread_track ta on ta.id = a.track_id join thread pa on pa.utid = ta.utid join thread_track tb on tb.id = b.track_id join thread pb on pb.utid = tb.utid
		where a.name glob 'request*' order by a.ts`,
		`select name, value from stats where severity != 'info' and value > 0 and name glob '*flow*'`)
	compare(t, "slices", rows[2], "ts dur depth name track tid pid", `
		999 2001 0 fib 3 f 100 -
		1000 1000 1 fib 2 f 100 -
		1500 500 2 fib 1 f 100 -
		3000 2000 0 request 1 r - 100
		3000 1000 0 fib  (open) f 100 -
		3000 0 0 request 1 begins r 100 -
		4000 2000 0 request 2 r - -
		4000 0 0 request 2 begins r 100 -
		5000 0 0 request 1 ends r 101 -
		6000 0 0 request 2 ends r 2 -
	`)
	compare(t, "arrows", rows[3], "begins ends ts till tid into_tid", `
		request 1 begins request 1 ends 3000 5000 100 101
		request 2 begins request 2 ends 4000 6000 100 2
	`)
	compare(t, "faults", rows[4], "name value", ``)
}

// A counter of counted events has the value of each interval while that lasts, and 0 where there is none.
func TestCountedEventsAreCounters(t *testing.T) {
	rows := query(t, writtenWith(t, machine+`
		eventtype 1 name="leaf" group="probe" on=global colour="u:leaf" probe="u:leaf"
		  field "arg0" type=uint hint=track
		  field "comm" type=string
		  field "events" type=uint hint=events
		  field "sum" type=int hint=counter unit="ns"
		  field "buckets" type=uint list hint=buckets unit="ns"
		  field "interval" type=duration
		+1000 cpu0 typed 0 type=1 .arg0=5 .comm="redis" .events=4 .sum=10 .buckets=0,0,4 .interval=1000
		+1001 cpu0 typed 0 type=1 .arg0=6 .comm="redis" .events=1 .sum=7 .buckets=0,0,0,1 .interval=1000
		+2000 cpu0 typed 0 type=1 .arg0=5 .comm="redis" .events=9 .sum=9 .buckets=0,9 .interval=999
		+5000 cpu0 typed 0 type=1 .arg0=5 .comm="redis" .events=2 .sum=2 .buckets=0,2 .interval=1000
		end close=+10000
	`, DefaultOptions()),
		`select above.name as probe, t.name, coalesce(k.unit, '-') as unit, group_concat((c.ts - 15000000000) || ':' || cast(c.value as int), ' ') as at
		from (select * from counter order by ts) c join track t on c.track_id = t.id join track above on above.id = t.parent_id left join counter_track k on k.id = t.id
		group by t.id order by t.name`,
		`select count(*) as n from slice s join track t on s.track_id = t.id where t.name glob 'u:leaf*' or s.name glob 'leaf*'`)
	compare(t, "counters", rows[2], "probe name unit at", `
		u:leaf arg0=5 comm=redis avg ns 0:2 1001:1 2000:0 4000:1 5000:0
		u:leaf arg0=5 comm=redis events - 0:4 1001:9 2000:0 4000:2 5000:0
		u:leaf arg0=5 comm=redis p50 ns 0:3 1001:1 2000:0 4000:1 5000:0
		u:leaf arg0=5 comm=redis p99 ns 0:3 1001:1 2000:0 4000:1 5000:0
		u:leaf arg0=5 comm=redis sum ns 0:10 1001:9 2000:0 4000:2 5000:0
		u:leaf arg0=6 comm=redis avg ns 1:7 1001:0
		u:leaf arg0=6 comm=redis events - 1:1 1001:0
		u:leaf arg0=6 comm=redis p50 ns 1:7 1001:0
		u:leaf arg0=6 comm=redis p99 ns 1:7 1001:0
		u:leaf arg0=6 comm=redis sum ns 1:7 1001:0
	`)
	compare(t, "marks", rows[3], "n", `
		0
	`)
}
