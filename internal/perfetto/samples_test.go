package perfetto

import "testing"

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
	rows := look(t, written(t, sampled+code+`
		+0 cpu0 state_cpu 2 prio=120
		+1000 cpu0 sample 2 stack=1 source=1
		+2000 cpu0 sample 2 stack=2 source=1
		+2000 cpu1 sample 3 stack=4 source=1
		+3000 cpu0 sample 2 stack=1 source=1
		+4000 cpu0 sample 2 stack=3 source=1
		+5000 cpu0 sample 2 stack=0 source=1
		end close=+1000000
	`), sampleSQL, chainSQL, treeSQL, `select m.name, build_id as build, hex(rel_pc) as pc, f.name as function
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
		1 [cut]@/[unknown];[unknown]@/[unknown];[libc.so.6]@/usr/lib/libc.so.6
		1 do_syscall_64@/[kernel];[ext4]@/[ext4]
		2 main@/usr/bin/spin;app::work()@/usr/bin/spin;inner@/usr/bin/spin
		1 main@/usr/bin/spin;app::work()@/usr/bin/spin;inner@/usr/bin/spin;do_syscall_64@/[kernel];[ext4]@/[ext4]
	`)
	compare(t, "frames", rows[5], "name build pc function", `
		/[ext4]  10 [ext4]
		/[kernel]  300 do_syscall_64
		/[unknown]  0 [cut]
		/[unknown]  7FFF00001000 [unknown]
		/usr/bin/spin 01abcd 1100 main
		/usr/bin/spin 01abcd 1200 _ZN3app4workEv
		/usr/bin/spin 01abcd 1200 inner
		/usr/lib/libc.so.6  99 [libc.so.6]
	`)
	compare(t, "processes", rows[6], "name cmdline", "kworker kworker\n/usr/bin/spin /usr/bin/spin --long a b\n")
	compare(t, "time sampled", rows[7], "cpu value", "0 5e+07\n1 1e+07\n")
}
