package profile_test

import (
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// A process that moves has its time in the cgroup in which it was then; one without a cgroup is in none that is known.
func TestTimeByCgroupAndContainer(t *testing.T) {
	const text = `section id=0x1 boot_id=b open=0 close=1000000
  source 1 name=timer period=1000000
text 1 text="/system.slice/docker-3f8a1c0de5b74a6990c2d1e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8.scope"
text 2 text="/system.slice/cron.service"
text 3 text="(lost)"
task 1 comm=swapper process_comm=swapper flags=idle
task 2 tid=10 pid=10 comm=app process_comm=app start=1 cgroup=2
task 3 tid=10 pid=10 comm=app process_comm=app start=1 continues=2 cgroup=1
task 4 tid=20 pid=20 comm=old process_comm=old start=2
task 5 tid=21 pid=21 comm=lost process_comm=lost start=3 cgroup=3
+100000 cpu0 switch 1 next=2 prev_state=R
+200000 cpu0 switch 2 next=4 prev_state=R
+400000 cpu0 switch 4 next=3 prev_state=S
+700000 cpu0 switch 3 next=5 prev_state=S
+750000 cpu0 switch 5 next=1 prev_state=S
end close=1000000
`
	for by, want := range map[graph.Root]string{
		graph.ByCgroup: `
			/system.slice/cron.service;app-10;[not sampled] 100000
			/system.slice/docker-3f8a1c0de5b74a6990c2d1e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8.scope;app-10;[not sampled] 300000
			[unknown cgroup];lost-21;[not sampled] 50000
			[unknown cgroup];old-20;[not sampled] 200000`,
		graph.ByContainer: `
			[no container];app-10;[not sampled] 100000
			[unknown cgroup];lost-21;[not sampled] 50000
			[unknown cgroup];old-20;[not sampled] 200000
			docker:3f8a1c0de5b7;app-10;[not sampled] 300000`,
		graph.ByProcess: `
			app-10;[not sampled] 400000
			lost-21;[not sampled] 50000
			old-20;[not sampled] 200000`,
	} {
		compareLines(t, foldedText(t, text, profile.Options{Cgroups: true}, graph.View{Mode: graph.OnCPU, By: by}), want)
	}
}
