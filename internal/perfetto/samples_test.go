package perfetto

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/perfetto/schema"
	"wprof/internal/stacks"
	"wprof/test/engine"
)

const sampled = `
section host=test boot_id=b kernel_release=6.18.0 machine=x86_64 open=10000000000 close=+1000000
  cpu 0
  cpu 1
  clock monotonic=10000000000 boottime=15000000000 realtime=1700000000000000000
  source 1 name=timer period=10000000
`

// code is a small program: main calls work, into which inner is inlined and which calls the kernel.
const code = `
task 1 tid=0 pid=0 comm=swapper flags=2
cmdline 1 args="/usr/bin/spin\x00--long\x00a b\x00"
task 2 tid=100 pid=100 comm=spin process_comm=spin ppid=1 start=5 command=1
task 3 tid=20 pid=20 comm=kworker process_comm=kworker ppid=2 start=2 flags=1
module 1 path="/usr/bin/spin" build_id=01abcd kind=1
module 2 path="[kernel]" kind=2 base=0xffffffff81000000
module 3 path="/usr/lib/libc.so.6" kind=1
module 4 path="[ext4]" kind=3
frame 1 module=1 offset=0x1100 caller
  line function="main" file="/src/spin.c" line=9
frame 2 module=1 offset=0x1200
  line function="inner"
  line function="_ZN3app4workEv"
frame 3 module=2 offset=0x300
  line function="do_syscall_64"
frame 4 module=4 offset=0x10
frame 5 module=3 offset=0x99
frame 6 offset=0x7fff00001000
stack 1 frames=1,2
stack 2 frames=1,2,3,4 kernel_frames=2
stack 3 frames=6,5 cut
stack 4 frames=3,4 kernel_frames=2
`

const (
	sampleSQL = `select ts - 15000000000 as ts, cpu, tid, cpu_mode as mode, callsite_id is not null as stack
		from perf_sample join thread using (utid) order by ts, cpu`
	// chainSQL is each stack from the root on, with the number of samples that end in it.
	chainSQL = `include perfetto module linux.perf.samples`
	treeSQL  = `with recursive tree(id, path, self_count) as (
		select id, name || '@' || mapping_name, self_count from calls where parent_id is null
		union all
		select c.id, path || ';' || name || '@' || mapping_name, c.self_count from tree join calls c on c.parent_id = tree.id),
		calls as materialized (select id, parent_id, name, mapping_name, self_count
			from _callstacks_for_callsites!((select callsite_id from perf_sample)))
		select path, self_count from tree where self_count > 0 order by path`
)

func TestSamplesHaveTheirStacks(t *testing.T) {
	rows := query(t, written(t, sampled+code+`
		+0 cpu0 state_cpu 2 prio=120
		+1000 cpu0 sample 2 stack=1 source=1
		+2000 cpu0 sample 2 stack=2 source=1
		+2000 cpu1 sample 3 stack=4 source=1
		+3000 cpu0 sample 2 stack=1 source=1
		+4000 cpu0 sample 2 stack=3 source=1
		+5000 cpu0 sample 2 stack=0 source=1
		end close=+1000000
	`), sampleSQL, chainSQL, treeSQL, `select m.name, build_id as build, printf('%x', rel_pc) as pc, f.name as function
		from stack_profile_frame f join stack_profile_mapping m on f.mapping = m.id order by m.name, pc, function`,
		`select name, cmdline from process where pid in (20, 100) order by pid`,
		`select cpu, max(value) as value from counter c join perf_counter_track t on c.track_id = t.id where t.name = 'timer' group by cpu order by cpu`)
	compare(t, "samples", rows[2], "ts cpu tid mode stack", `
		1000 0 100 unknown 1
		2000 0 100 kernel 1
		2000 1 20 kernel 1
		3000 0 100 unknown 1
		4000 0 100 unknown 1
		5000 0 100 unknown 0
	`)
	compare(t, "stacks", rows[4], "self_count path", `
		1 [cut]@/[unknown];[libc.so.6]@/usr/lib/libc.so.6
		1 do_syscall_64@/[kernel];[ext4]@/[ext4]
		2 main@/usr/bin/spin;app::work()@/usr/bin/spin;inner@/usr/bin/spin
		1 main@/usr/bin/spin;app::work()@/usr/bin/spin;inner@/usr/bin/spin;do_syscall_64@/[kernel];[ext4]@/[ext4]
	`)
	compare(t, "frames", rows[5], "name build pc function", `
		/[ext4]  10 [ext4]
		/[kernel]  300 do_syscall_64
		/[unknown]  0 [cut]
		/usr/bin/spin 01abcd 1100 main
		/usr/bin/spin 01abcd 1200 _ZN3app4workEv
		/usr/bin/spin 01abcd 1200 inner
		/usr/lib/libc.so.6  99 [libc.so.6]
	`)
	compare(t, "processes", rows[6], "name cmdline", "kworker kworker\nspin spin [/usr/bin/spin --long a b]\n")
	compare(t, "time sampled", rows[7], "cpu value", "0 5e+07\n1 1e+07\n")
}

// TestFramesHaveTheirLines reads the file itself: the engine of the tests ignores lines.
func TestFramesHaveTheirLines(t *testing.T) {
	text, err := os.ReadFile(written(t, sampled+code+"+0 cpu0 state_cpu 2 prio=120\n+1000 cpu0 sample 2 stack=1 source=1\nend close=+1000000\n"))
	if err != nil {
		t.Fatal(err)
	}
	trace := new(schema.Trace)
	if err := proto.Unmarshal(text, trace); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range trace.Packet {
		names, sources := map[uint64]string{}, map[uint64]string{}
		for _, s := range p.GetInternedData().GetFunctionNames() {
			names[s.GetIid()] = string(s.Str)
		}
		for _, s := range p.GetInternedData().GetSourcePaths() {
			sources[s.GetIid()] = string(s.Str)
		}
		for _, f := range p.GetInternedData().GetFrames() {
			got[names[f.GetFunctionNameId()]] = fmt.Sprintf("%s:%d", sources[f.GetSourcePathIid()], f.GetLineNumber())
		}
	}
	for name, want := range map[string]string{"main": "/src/spin.c:9", "inner": ":0"} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

// Samples of hidden threads, late samples, and samples whose definitions were lost to damage.
func TestSamplesOfHiddenLateAndLost(t *testing.T) {
	rows := query(t, written(t, sampled+code+`
		stack 9 frames=1,77
		+0 cpu0 state_cpu 2 prio=120
		+1000 cpu0 sample 2 stack=1 source=1
		+2000 cpu0 sample 9 stack=1 source=1
		+2600 cpu0 sample 2 stack=1 source=1 !subject
		+3000 cpu0 sample 2 stack=9 source=1
		+4000 cpu0 sample 2 stack=88 source=1
		+4500 cpu0 sample 2 stack=89 source=7
		+4800 cpu1 waking 3 wakee=2 prio=120 target_cpu=0
		+5000 cpu1 sample 3 stack=4 source=1 own=+2500
		end close=+1000000
	`), sampleSQL, chainSQL, treeSQL)
	compare(t, "samples", rows[2], "ts cpu tid mode stack", `
		1000 0 100 unknown 1
		2000 0 4195329 unknown 1
		2500 1 20 kernel 1
		3000 0 100 unknown 1
		4000 0 100 unknown 1
		4500 0 100 unknown 1
	`)
	compare(t, "stacks", rows[4], "self_count path", `
		2 [lost]@/[unknown]
		1 do_syscall_64@/[kernel];[ext4]@/[ext4]
		1 main@/usr/bin/spin;[lost]@/[unknown]
		2 main@/usr/bin/spin;app::work()@/usr/bin/spin;inner@/usr/bin/spin
	`)
}

// Ids mean something else in another section, and another source may have the same id.
func TestSamplesOfTwoSections(t *testing.T) {
	rows := query(t, written(t, sampled+code+`
		+1000 cpu0 sample 2 stack=1 source=1
		end close=+500000
		section continues open=10000000000 close=+1000000 boot_id=b
		source 1 name=timer period=5000000
		task 1 tid=100 pid=100 comm=spin process_comm=spin ppid=1 start=5
		module 1 path="/usr/lib/libc.so.6" kind=1
		frame 1 module=1 offset=0x99
		  line function="memcpy"
		stack 1 frames=1
		+500000 cpu0 state_cpu 1 prio=120
		+600000 cpu0 sample 1 stack=1 source=1
		end close=+1000000
	`), sampleSQL, chainSQL, treeSQL)
	compare(t, "samples", rows[2], "ts cpu tid stack", "1000 0 100 1\n600000 0 100 1\n")
	compare(t, "stacks", rows[4], "self_count path", `
		1 main@/usr/bin/spin;app::work()@/usr/bin/spin;inner@/usr/bin/spin
		1 memcpy@/usr/lib/libc.so.6
	`)
}

// A process has the command line of its last exec; one that is forked has its parent's.
func TestCommandLines(t *testing.T) {
	rows := query(t, written(t, machine+opening1+`
		cmdline 1 args="/usr/sbin/server\x00-D\x00"
		cmdline 2 args="ls\x00-l\x00a\xffb\nc\x00" cut
		cmdline 3 args="one two\x00"
		task 10 tid=300 pid=300 comm=ping process_comm=ping ppid=100 start=11 command=1
		task 11 tid=300 pid=300 comm=ls process_comm=ls ppid=100 start=11 continues=10 command=2
		task 12 tid=301 pid=301 comm=ping process_comm=ping ppid=100 start=12 command=1
		task 13 tid=302 pid=302 comm=ping process_comm=ping ppid=100 start=13 command=1
		task 14 tid=302 pid=302 comm=plain process_comm=plain ppid=100 start=13 continues=13
		task 15 tid=303 pid=303 comm=one process_comm=one ppid=100 start=14 command=3
		+1000 cpu0 fork 2 child=10
		+1500 cpu1 switch 1 next=10 prev_state=R prev_prio=120 next_prio=120
		+1600 cpu1 rename 11 prev=10
		+1600 cpu1 exec 11 prev=10 filename="/bin/ls"
		+1700 cpu0 fork 2 child=12
		+1800 cpu0 fork 2 child=13
		+1900 cpu1 switch 11 next=13 prev_state=S prev_prio=120 next_prio=120
		+2000 cpu1 rename 14 prev=13
		+2000 cpu1 exec 14 prev=13 filename="/bin/plain"
		+2100 cpu1 switch 14 next=15 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`), `select pid, name, cmdline from process where pid >= 300 and pid < 4194304 order by pid`)
	compare(t, "processes", rows[2], "pid name cmdline", "300 ls ls -l a\ufffdb\ufffdc …\n301 server (ping) server (ping) [/usr/sbin/server -D]\n302 plain plain\n303 one two one two \n")
}

// samplesOf is a stream of n samples of a program in which every function calls two others, and the number of samples
// that end in each function.
func samplesOf(t testing.TB, n int) (stream []byte, self, total map[string]int) {
	t.Helper()
	var b bytes.Buffer
	w := format.NewWriter(&b, format.WriterOptions{Level: 1})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const open, functions, depth = int64(1e12), 255, 8
	must(w.Begin(&format.Session{
		Id: 1, Host: "test", BootId: "b", KernelRelease: "6.18.0", Open: open, Cpus: []*format.Cpu{{Id: 0}, {Id: 1}},
		Clocks: []*format.ClockSnapshot{{Monotonic: open, Boottime: open, Realtime: open}}, Sources: []*format.Source{{Id: 1, Name: "timer", Period: 1e7}},
	}))
	w.DefineTask(&format.Task{Id: 1, Tid: 100, Pid: 100, Ppid: 1, Comm: []byte("spin"), ProcessComm: []byte("spin"), Start: 1})
	must(w.DefineModule(&format.Module{Id: 1, Path: []byte("/usr/bin/spin"), BuildId: []byte("12345678901234567890"), Kind: 1}))
	for id := uint32(1); id <= functions; id++ {
		must(w.DefineFrame(&format.Frame{Id: id, Module: 1, Offset: uint64(id) << 12, Lines: []*format.Line{{Function: fmt.Appendf(nil, "a_function_of_%d", id)}}}))
	}
	self, total = map[string]int{}, map[string]int{}
	chains := map[uint32][]uint32{}
	random := rand.New(rand.NewPCG(1, 2))
	e := format.Event{Kind: format.KindSample, Flags: format.FlagsVisible, Task: 1}
	for i := range n {
		leaf := uint32(1)
		chain := []uint32{1}
		for range depth - 1 {
			if leaf = 2*leaf + random.Uint32N(2); leaf > functions {
				break
			}
			chain = append(chain, leaf)
			if random.IntN(4) == 0 {
				break
			}
		}
		leaf = chain[len(chain)-1]
		if chains[leaf] == nil {
			chains[leaf] = chain
			must(w.DefineStack(&format.Stack{Id: leaf, Frames: chain}))
		}
		for _, id := range chain {
			total[fmt.Sprintf("a_function_of_%d", id)]++
		}
		self[fmt.Sprintf("a_function_of_%d", leaf)]++
		e.Time, e.CPU = open+int64(i+1)*5e6, uint32(i%2)
		e.Args = [len(e.Args)]uint64{format.SampleStack: uint64(leaf), format.SampleSource: 1}
		must(w.Write(&e))
	}
	must(w.EndSection(&format.End{Close: open + int64(n+2)*5e6, Last: true}))
	return b.Bytes(), self, total
}

func TestEveryFunctionHasItsSamples(t *testing.T) {
	const n = 20_000
	stream, self, total := samplesOf(t, n)
	trace, err := convert(t, stream, schedOnly())
	if err != nil {
		t.Fatal(err)
	}
	rows := query(t, trace, chainSQL, `select name, sum(self_count) as self, sum(cumulative_count) as total
		from linux_perf_samples_summary_tree where name is not null group by name`, `select count(*) as n, count(distinct ts) as times, min(ts) as first from perf_sample`)
	if got := lines(rows[4], "n times first"); got != fmt.Sprintf("%d %d %d\n", n, n, int64(1e12+5e6)) {
		t.Errorf("samples: got %s", got)
	}
	if len(rows[3]) != len(total) {
		t.Errorf("%d functions, want %d", len(rows[3]), len(total))
	}
	for _, row := range rows[3] {
		name := row["name"].(string)
		if row["self"] != int64(self[name]) || row["total"] != int64(total[name]) {
			t.Errorf("%s: got %v and %v samples, want %d and %d", name, row["self"], row["total"], self[name], total[name])
		}
	}
}

// Interned data is repeated from time to time, so that a trace without its beginning still has its stacks.
func TestSamplesWithoutTheBeginning(t *testing.T) {
	stream, _, _ := samplesOf(t, 200_000)
	trace, err := convert(t, stream, schedOnly())
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f bytes a sample", float64(len(whole))/200_000)
	at := 0
	for at < len(whole)/3 {
		n := 0
		for shift, b := 0, byte(0x80); b&0x80 != 0; shift += 7 {
			b = whole[at+1+shift/7]
			n |= int(b&0x7f) << shift
			if b&0x80 == 0 {
				n += 2 + shift/7
			}
		}
		at += n
	}
	cut := filepath.Join(t.TempDir(), "cut.pb")
	if err := os.WriteFile(cut, whole[at:], 0o600); err != nil {
		t.Fatal(err)
	}
	rows := engine.Query(t, cut, `select count(*) as n, count(callsite_id) as stacks from perf_sample`)
	if n := rows[0][0]["n"].(int64); n < 50_000 || rows[0][0]["stacks"] != n {
		t.Errorf("got %v", rows[0][0])
	}
}

// A stack that is deeper than any recorder takes does not make the trace large.
func TestHostileStacksAreBounded(t *testing.T) {
	frames := strings.Repeat("1,", 200_000) + "1"
	rows := query(t, written(t, sampled+`
		task 2 tid=100 pid=100 comm=spin process_comm=spin ppid=1 start=5
		module 1 path="`+strings.Repeat("/x", 50_000)+`"
		frame 1 module=1 offset=1
		`+strings.Repeat("line function=f\n", 1000)+`
		stack 1 frames=`+frames+` kernel_frames=4000000000
		+1000 cpu0 sample 2 stack=1 source=1
		end close=+1000000
	`), `select max(depth) as depth, count(*) as n from stack_profile_callsite`, `select length(name) as n from stack_profile_mapping order by n`)
	const deepest = stacks.MaxFrames * stacks.MaxInlined
	compare(t, "callsites", rows[2], "depth n", fmt.Sprintf("%d %d\n", deepest, deepest+1))
	compare(t, "mappings", rows[3], "n", "10\n4097\n")
}
