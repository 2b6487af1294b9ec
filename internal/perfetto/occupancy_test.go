package perfetto

import (
	"fmt"
	"strings"
	"testing"

	"wprof/test/engine"
)

// contained are threads of two containers of one pod and one of none, on two nodes with cores of two threads.
const contained = `
section host=test boot_id=b kernel_release=6.18.0 machine=x86_64 open=10000000000 close=+100000000
  cpu 0 core=0 package=0
  cpu 1 node=1 core=1 package=1
  cpu 2 core=0 package=0
  cpu 3 node=1 core=1 package=1
  clock monotonic=10000000000 boottime=15000000000 realtime=1700000000000000000
text 1 text="/docker/3f8a1c0de5b73f8a1c0de5b73f8a1c0de5b73f8a1c0de5b73f8a1c0de5b73f8a"
text 2 text="/kubepods/burstable/pod0ab3f1d2-aaaa-bbbb-cccc-0123456789ab/4f8a1c0de5b73f8a1c0de5b73f8a1c0de5b73f8a1c0de5b73f8a1c0de5b73f8a"
text 3 text="/system.slice/ssh.service"
task 1 tid=0 pid=0 comm=swapper flags=2
task 10 tid=301 pid=301 comm=one process_comm=one ppid=1 start=11 cgroup=1
task 11 tid=302 pid=301 comm=two process_comm=one ppid=1 start=12 cgroup=1
task 12 tid=303 pid=303 comm=three process_comm=three ppid=1 start=13 cgroup=1
task 13 tid=304 pid=304 comm=four process_comm=four ppid=1 start=14 cgroup=2
task 14 tid=305 pid=305 comm=five process_comm=five ppid=1 start=15 cgroup=3
task 15 tid=304 pid=304 comm=five process_comm=five ppid=1 start=14 cgroup=2 continues=13
+0 cpu0 state_cpu 10 prio=120
+0 cpu1 state_cpu 11 prio=120
+0 cpu2 state_cpu 1 prio=120
+0 cpu3 state_cpu 14 prio=120
+5000000 cpu0 switch 10 prev_state=S next=1
+25000000 cpu2 switch 1 next=12
+30000000 cpu1 switch 11 prev_state=S next=13
+35000000 cpu1 rename 15 prev=13
+55000000 cpu2 switch 12 prev_state=S next=1
+60000000 cpu1 switch 15 prev_state=S next=1
+95000000 cpu0 switch 1 next=10
end close=+100000000
`

// loadsSQL are the values of the counters of containers, in percent of a CPU.
const loadsSQL = `select coalesce(above.name, '') as above, t.name as name, (c.ts - 15000000000) / 1000000 as at, cast(round(c.value * 100) as int) as percent
	from counter c join track t on t.id = c.track_id left join track above on above.id = t.parent_id
	where t.name != 'timer' order by t.name, c.ts`

func TestContainersHaveCountersOfTheCPUsThatTheyUse(t *testing.T) {
	trace := writtenWith(t, contained, DefaultOptions())
	engine.CheckStats(t, trace)
	var got []string
	for _, row := range engine.Query(t, trace, loadsSQL)[0] {
		got = append(got, fmt.Sprintf("%v>%v %vms %v%%", row["above"], row["name"], row["at"], row["percent"]))
	}
	want := []string{
		"Containers>docker:3f8a1c0de5b7 0ms 150%", "Containers>docker:3f8a1c0de5b7 10ms 100%", "Containers>docker:3f8a1c0de5b7 20ms 150%",
		"Containers>docker:3f8a1c0de5b7 30ms 100%", "Containers>docker:3f8a1c0de5b7 50ms 50%", "Containers>docker:3f8a1c0de5b7 60ms 0%",
		"Containers>docker:3f8a1c0de5b7 90ms 50%", "Containers>docker:3f8a1c0de5b7 100ms 0%",
		"kubepods:4f8a1c0de5b7>five 304 30ms 100%", "kubepods:4f8a1c0de5b7>five 304 60ms 0%",
		"pod 0ab3f1d2-aaaa-bbbb-cccc-0123456789ab>kubepods:4f8a1c0de5b7 30ms 100%", "pod 0ab3f1d2-aaaa-bbbb-cccc-0123456789ab>kubepods:4f8a1c0de5b7 60ms 0%",
		"docker:3f8a1c0de5b7>one 301 0ms 150%", "docker:3f8a1c0de5b7>one 301 10ms 100%", "docker:3f8a1c0de5b7>one 301 30ms 0%",
		"docker:3f8a1c0de5b7>one 301 90ms 50%", "docker:3f8a1c0de5b7>one 301 100ms 0%",
		"docker:3f8a1c0de5b7>three 303 30ms 100%", "docker:3f8a1c0de5b7>three 303 50ms 50%", "docker:3f8a1c0de5b7>three 303 60ms 0%",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	options := DefaultOptions()
	options.Containers = false
	if rows := engine.Query(t, writtenWith(t, contained, options), loadsSQL)[0]; len(rows) > 0 {
		t.Errorf("without containers: %v", rows)
	}
}

// A CPU that is busy for a very long time without an event takes no time to draw.
func TestContainersAreDrawnOverLongTimes(t *testing.T) {
	text := strings.ReplaceAll(contained, "close=+100000000", "close=+40000000000000000")
	text = strings.ReplaceAll(text, "+95000000 cpu0", "+39999999999999000 cpu0")
	text = strings.ReplaceAll(text, "+60000000 cpu1 switch 15 prev_state=S next=1\n", "")
	rows := engine.Query(t, writtenWith(t, text, DefaultOptions()), "select count(*) as n from counter")[0]
	if n := fmt.Sprint(rows[0]["n"]); n == "0" {
		t.Error("no values")
	}
}

func TestCPUsAreDrawnByCore(t *testing.T) {
	options := DefaultOptions()
	options.Cores = true
	trace := writtenWith(t, contained, options)
	engine.CheckStats(t, trace)
	var got []string
	for _, row := range engine.Query(t, trace, `select a.name as above, t.name as track, s.name as name, (s.ts - 15000000000) / 1000000 as at, s.dur / 1000000 as ms
		from slice s join track t on t.id = s.track_id join track a on a.id = t.parent_id where a.name glob 'node *' order by t.name, s.ts`)[0] {
		got = append(got, fmt.Sprintf("%v>%v: %v %v+%v", row["above"], row["track"], row["name"], row["at"], row["ms"]))
	}
	want := []string{
		"node 0>node 0 core 0 CPU 0: one 301 0+5", "node 0>node 0 core 0 CPU 0: one 301 95+5", "node 0>node 0 core 0 CPU 2: three 303 25+30",
		"node 1>node 1 core 1 CPU 1: two 302 0+30", "node 1>node 1 core 1 CPU 1: five 304 30+30", "node 1>node 1 core 1 CPU 3: five 305 0+100",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}
