package perfetto

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/engine"
)

// Instants of a thread are drawn on its own track; a new thread is woken by the one that forked it.
func TestLifeOfAThreadIsDrawn(t *testing.T) {
	options := withArrows()
	options.Sleepers = true
	rows := query(t, writtenWith(t, machine+opening1+`
		task 10 tid=300 pid=300 comm=ping process_comm=ping ppid=100 start=11
		task 11 tid=300 pid=300 comm=ls process_comm=ls ppid=100 start=11 continues=10
		+1000 cpu0 fork 2 child=10
		+1100 cpu0 wakeup_new 2 wakee=10 prio=120 target_cpu=1
		+1500 cpu1 switch 1 next=10 prev_state=R prev_prio=120 next_prio=120
		+1600 cpu1 rename 11 prev=10
		+1700 cpu1 exec 11 prev=10 filename="/bin/ls"
		+1900 cpu1 exit 11 code=0x109 last
		+2000 cpu1 switch 11 next=1 prev_state=Z prev_prio=120 next_prio=120
		+2100 cpu0 free 11
		end close=+1000000
	`, options), viewSQL, flowSQL, `select extract_arg(arg_set_id, 'debug.signal') as signal from slice where name = 'exit'`)
	compare(t, "drawn", rows[2], "ts thread name dur depth code waker delay", `
		0 init blocked: unknown (D) (open) 1000000 0 - - -
		0 kthreadd blocked (S) (open) 1000000 0 - - -
		0 ping on CPU 0 (open) 1000000 0 - - -
		0 pong blocked (S) (open) 1000000 0 - - -
		0 sleeper blocked (S) (open) 1000000 0 - - -
		1000 ping fork: ping 0 1 - - -
		1001 ls forked by ping 0 0 - - -
		1100 ls woken by ping 0 0 - - -
		1100 ping wakes ping 0 1 - - -
		1500 ls on CPU 1 500 0 - ping 400
		1600 ls rename: ping to ls 0 1 - - -
		1700 ls exec: /bin/ls 0 1 - - -
		1900 ls exit 0 1 1 - -
	`)
	compare(t, "arrows", rows[3], "ts source what target slice target_ts", "1000 ping fork: ping ls forked by ping 1001\n1100 ping wakes ping ls on CPU 1 1500\n")
	compare(t, "exit", rows[4], "signal", "9\n")
}

// A new thread has one row in Perfetto's table of threads although nothing is drawn between its fork and its first instant.
func TestTrackOfANewThreadIsThatOfItsRuns(t *testing.T) {
	rows := query(t, writtenWith(t, machine+`
		task 10 tid=300 pid=300 comm=ping process_comm=ping ppid=100 start=11
		task 11 tid=300 pid=300 comm=worker process_comm=worker ppid=100 start=11 continues=10
		+1000 cpu0 fork 2 child=10
		+1500 cpu1 switch 1 next=10 prev_state=R prev_prio=120 next_prio=120
		+1600 cpu1 rename 11 prev=10
		+2000 cpu1 switch 11 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`, DefaultOptions()), `select name, (select count(*) from sched where utid = t.utid) as runs,
		(select count(*) from slice join thread_track on track_id = thread_track.id where utid = t.utid) as slices from thread t where tid = 300`)
	compare(t, "threads with that id", rows[2], "name runs slices", "worker 1 3\n")
}

// Losses and idle times belong to no thread, and have no argument that names one.
func TestRowsOfNoThreadNameNone(t *testing.T) {
	rows := query(t, writtenWith(t, machine+opening1+`
		+1000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		+1800 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120
		+2000 lost from=+1500 count=3 cause=ring
		end close=+1000000
	`, everything()), `select name, (select count(*) from args where args.arg_set_id = slice.arg_set_id and key not glob 'debug.*') as others from slice
		where name glob 'idle*' or name glob 'lost*' order by ts, name`)
	compare(t, "arguments", rows[2], "name others", "idle 0\nidle 0\nlost: ring 0\n")
}

// An interrupt on an idle CPU wakes from that CPU's idle track, which is in a group of its own.
func TestIdleIsApart(t *testing.T) {
	rows := query(t, writtenWith(t, machine+opening1+`
		+1000 cpu1 waking 1 wakee=3 prio=120 target_cpu=1
		+1500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
		+1700 cpu0 switch 2 next=1 prev_state=R+ prev_prio=120 next_prio=120
		+1800 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
		+2500 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120
		end close=+1000000
	`, withArrows()), idleSQL, flowSQL, viewSQL, `select track.name as track, parent.name as parent, extract_arg(track.source_arg_set_id, 'sibling_order_rank') as rank
		from track left join track parent on parent.id = track.parent_id where track.name glob 'Idle*' order by rank, track`,
		`select p.name as name, parent.name as parent from process p join process parent on parent.upid = p.parent_upid where parent.pid = 2 order by p.pid`,
		`select woken.name as thread, waker.name as waker from thread_state join thread woken using (utid) join thread waker on waker.utid = waker_utid where state = 'R'`)
	compare(t, "idle", rows[2], "track name ts dur", `
		Idle CPU 0 preempts ping 1700 0
		Idle CPU 0 idle 1700 800
		Idle CPU 1 idle 0 1500
		Idle CPU 1 wakes pong 1000 0
		Idle CPU 1 idle (open) 1800 998200
	`)
	compare(t, "arrows", rows[3], "ts source what target target_ts", `
		1000 Idle CPU 1 wakes pong pong 1500
		1700 Idle CPU 0 preempts ping ping 2500
	`)
	compare(t, "the waker", named(rows[4], "on CPU 1"), "thread waker delay", "pong idle 500\n")
	compare(t, "tracks", rows[5], "track parent rank", "Idle - -\nIdle CPU 0 Idle 0\nIdle CPU 1 Idle 1\n")
	compare(t, "the waker in Perfetto's own table", rows[7], "thread waker", "pong swapper\n")
	compare(t, "kernel threads", rows[6], "name parent", "kworker/0:1 kthreadd\nkworker/1:1 kthreadd\n")
}

// Kernel threads have their group although a filter has hidden the thread that all of them come from.
func TestKernelThreadsAreGroupedWithoutKthreadd(t *testing.T) {
	rows := query(t, writtenWith(t, strings.ReplaceAll(machine, "task 5 ", "task 50 ")+`
		+0 cpu0 state_cpu 6 prio=120
		end close=+1000000
	`, DefaultOptions()), `select p.name as name, parent.name as parent from process p join process parent on parent.upid = p.parent_upid where parent.pid = 2`)
	compare(t, "kernel threads", rows[2], "name parent", "kworker/0:1 kthreadd\n<filtered> kthreadd\n")
}

func TestTimerTicks(t *testing.T) {
	options := DefaultOptions()
	options.TimerTicks = true
	rows := query(t, writtenWith(t, sampled+code+`
		+0 cpu0 state_cpu 2 prio=120
		+1000 cpu0 sample 2 stack=1 source=1
		+2000 cpu0 sample 2 stack=0 source=1
		+2500 cpu0 sample 2 stack=1 source=1 !subject
		end close=+1000000
	`, options), viewSQL)
	compare(t, "ticks", named(rows[2], "tick"), "ts thread depth stack", `
		1000 spin 1 inner<app::work<main
		2000 spin 1 -
	`)
}

// A slice that a suspend interrupts is as long as what Perfetto makes of the switches.
func TestSuspendWithinASlice(t *testing.T) {
	rows := query(t, writtenWith(t, machine+opening1+`
		+1000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
		clock monotonic=10000002000 boottime=18000002000 realtime=1700000003000002000
		+3000 cpu1 waking 1 wakee=2 prio=120 target_cpu=0
		+4000 cpu0 switch 1 next=2 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`, Options{Sched: true, Threads: true}), viewSQL)
	compare(t, "thread_state", only(rows[1], 100), stateFields, `
		100 0 1000 Running 0 -
		100 1000 3000002000 S - -
		100 3000003000 1000 R - 0
		100 3000004000 996000 Running 0 -
	`)
	var ping []engine.Row
	for _, row := range rows[2] {
		if row["thread"] == "ping" {
			ping = append(ping, row)
		}
	}
	compare(t, "slices", ping, "ts name dur", `
		0 on CPU 0 1000
		1000 blocked: unknown (S) 3000002000
		3000004000 on CPU 0 (open) 996000
	`)
}

// Slices continue across the end of an epoch, although ids change their meaning.
func TestSlicesOverAnEpoch(t *testing.T) {
	options := withArrows()
	options.BlockedMin = 0
	rows := query(t, writtenWith(t, five[:strings.Index(five, "+6000 ")]+`
		end close=+5000
		section continues open=10000000000 close=+1000000 boot_id=b
		task 1 tid=0 pid=0 comm=swapper flags=2
		task 2 tid=305 pid=305 comm=five process_comm=five ppid=1 start=15
		task 3 tid=304 pid=304 comm=four process_comm=four ppid=1 start=14
		task 4 tid=301 pid=301 comm=one process_comm=one ppid=1 start=11
		+5000 cpu0 state_cpu 2 prio=98 since=+4700
		+5000 cpu1 state_cpu 3 prio=120 since=+3400
		+5000 cpu0 state_thread 4 state=R+ prio=120 since=+4700
		+6500 cpu0 switch 2 next=4 prev_state=S prev_prio=98 next_prio=120 since=+4700 next_state=R+
		+7000 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`, options), viewSQL, flowSQL)
	compare(t, "on the CPU", onCPU(rows[2]), "ts thread name dur slept blocked preempted delay", `
		0 one on CPU 0 4700 - - - -
		1200 two on CPU 1 1300 1300 - - 200
		2500 three on CPU 1 900 2600 - - 500
		3400 four on CPU 1 3600 - 3500 - 400
		4700 five on CPU 0 1800 4800 - - 700
		6500 one on CPU 0 (open) 993500 - - 1800 -
	`)
	compare(t, "arrows", rows[3][3:], "ts source what target target_ts", `
		4000 four wakes five five 4700
		4700 five preempts one one 6500
	`)
}

// A trace without its beginning reads from the next reset on, with all names.
func TestThreadViewWithoutTheBeginning(t *testing.T) {
	r, err := format.NewReader(bytes.NewReader(pairs(t, 400_000)))
	if err != nil {
		t.Fatal(err)
	}
	options := DefaultOptions()
	options.Runs = true
	var trace bytes.Buffer
	if _, err := Convert(r, &trace, options); err != nil {
		t.Fatal(err)
	}
	whole := trace.Bytes()
	at := 0
	for at < len(whole)/2 {
		at += packetLength(whole[at:])
	}
	cut := filepath.Join(t.TempDir(), "cut.pb")
	if err := os.WriteFile(cut, whole[at:], 0o600); err != nil {
		t.Fatal(err)
	}
	rows := engine.Query(t, cut, `select count(*) as n, sum(slice.name glob 'on CPU *') as running, sum(slice.name is null) as unnamed,
		sum(slice.name glob 'on CPU *' and dur < 700) as short, count(distinct utid) as threads
		from slice join thread_track on track_id = thread_track.id`,
		`select name, value from stats where severity = 'error' and value > 0`)
	n := rows[0][0]
	if n["running"].(int64) < 50_000 || n["unnamed"] != int64(0) || n["short"] != int64(0) || n["threads"] != int64(4) {
		t.Errorf("the rest of the trace has %v", n)
	}
	t.Log(rows[1])
}

// packetLength is how long the first packet is, with its head.
func packetLength(b []byte) int {
	n, head := 0, 1
	for shift := 0; ; shift += 7 {
		n |= int(b[head]&0x7f) << shift
		head++
		if b[head-1]&0x80 == 0 {
			return n + head
		}
	}
}

// Stacks have the form that engines after v52 show, and v52 reads it without an error.
func TestNativeStacks(t *testing.T) {
	name := writtenWith(t, five, DefaultOptions())
	engine.CheckStats(t, name)
	functions, frames, depths, used := map[uint64]string{}, map[uint64]uint64{}, map[uint64]int{}, 0
	for _, p := range engine.Decode(t, name).Packet {
		for _, f := range p.GetInternedData().GetFunctionNames() {
			functions[f.GetIid()] = string(f.Str)
		}
		for _, f := range p.GetInternedData().GetFrames() {
			frames[f.GetIid()] = f.GetFunctionNameId()
		}
		for _, s := range p.GetInternedData().GetCallstacks() {
			depths[s.GetIid()] = len(s.FrameIds)
			if outermost := functions[frames[s.FrameIds[0]]]; outermost != "main" {
				t.Errorf("the outermost function is %s", outermost)
			}
		}
		if id := p.GetTrackEvent().GetCallstackIid(); id != 0 {
			used++
			if depths[id] == 0 {
				t.Errorf("callstack %d was not described", id)
			}
		}
	}
	if used != 3 || depths[1] != 6 || depths[2] != 4 {
		t.Errorf("%d slices have stacks, of depths %v", used, depths)
	}
}

// A stream of nothing but new names does not fill the memory.
func TestNamesOfPastEventsAreDropped(t *testing.T) {
	tasks := fixed{nil, {Tid: 5, Pid: 5, Start: 1, Comm: []byte("x")}}
	var size counter
	e, d := fed(t, &size, tasks, DefaultOptions(), &format.Session{})
	v := format.Event{Time: 1000, Kind: format.KindExec, Flags: format.FlagSubject, Task: 1, Data: bytes.Repeat([]byte("x"), 4000)}
	v.Args[format.ExecPrev] = 1
	most := 0
	for i := range 20_000 {
		v.Time++
		copy(v.Data, strings.Repeat("y", i%50)+string(rune('a'+i%26))+strings.Repeat("z", i/50%1000))
		if err := d.Event(&v); err != nil {
			t.Fatal(err)
		}
		most = max(most, len(e.view.seq.names))
	}
	if most > viewInternedMaximum/4000+1 || most < 1000 {
		t.Errorf("up to %d names of 4 kB were kept", most)
	}
}

// After a loss any waking may be the one that made the thread runnable: the first if it has slept all the time, or the last if
// it has run meanwhile, which the switch back to it shows.
func TestArrowsAfterALoss(t *testing.T) {
	for _, c := range []struct{ since, arrows string }{
		{"-100", "3000 ping wakes pong pong 5000\n7000 ping wakes pong pong 7500\n"},
		{"+1500", "4000 ping wakes pong pong 5000\n7000 ping wakes pong pong 7500\n"},
	} {
		rows := query(t, writtenWith(t, machine+opening1+`
			+2000 all lost from=+1000 cause=ring
			+3000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
			+3500 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
			+4000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
			+5000 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120 next_state=S since=`+c.since+`
			+6000 cpu1 switch 3 next=1 prev_state=S prev_prio=120 next_prio=120
			+7000 cpu0 waking 2 wakee=3 prio=120 target_cpu=1
			+7500 cpu1 switch 1 next=3 prev_state=R prev_prio=120 next_prio=120
			end close=+1000000
		`, withArrows()), flowSQL, viewSQL)
		compare(t, c.since, rows[2], "ts source what target target_ts", c.arrows)
		compare(t, "marks", named(rows[3], "wakes"), "ts", "3000\n3500\n4000\n7000\n")
	}
}
