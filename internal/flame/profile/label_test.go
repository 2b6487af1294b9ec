package profile_test

import (
	"strings"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// A process is called by its command line, and so is a thread without a name of its own. A process has another label after exec, for the
// whole of the time on the CPU in which it calls that.
func TestCommandLinesAreLabels(t *testing.T) {
	const text = `
section host=box boot_id=b open=10000000000 close=+1000000
  cpu 0
cmdline 1 args="/usr/bin/python3\0-u\0/srv/server.py\0"
cmdline 2 args="/usr/lib/go/compile\0-o\0x.a\0-p\0runtime\0"
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=python3 process_comm=python3 ppid=1 start=5 command=1
task 3 tid=101 pid=100 comm=python3 process_comm=python3 ppid=1 start=6 command=1
task 4 tid=102 pid=100 comm=worker process_comm=python3 ppid=1 start=7 command=1
task 5 tid=200 pid=200 comm=python3 process_comm=python3 ppid=100 start=8 command=1
task 6 tid=200 pid=200 comm=compile process_comm=compile ppid=100 start=8 continues=5 command=2
task 7 tid=3 pid=3 comm=kworker/0:1 process_comm=kworker/0:1 start=1 flags=1
+0 cpu0 state_cpu 2 prio=120
+100000 cpu0 switch 2 next=3 prev_state=R prev_prio=120 next_prio=120
+200000 cpu0 switch 3 next=4 prev_state=R prev_prio=120 next_prio=120
+300000 cpu0 switch 4 next=5 prev_state=R prev_prio=120 next_prio=120
+400000 cpu0 exec 6 prev=5 filename="/bin/compile"
+500000 cpu0 switch 6 next=7 prev_state=R prev_prio=120 next_prio=120
end close=+1000000
`
	for by, want := range map[graph.Root]string{
		graph.ByProcess: `
			compile runtime-200;[not sampled] 200000
			kworker/0:1-3;[not sampled] 500000
			python3 server.py-100;[not sampled] 300000`,
		graph.ByThread: `
			compile runtime-200/200;[not sampled] 200000
			kworker/0:1-3/3;[not sampled] 500000
			python3 server.py-100/100;[not sampled] 100000
			python3 server.py-100/101;[not sampled] 100000
			worker-100/102;[not sampled] 100000`,
		graph.ByComm: `
			compile;[not sampled] 200000
			kworker/0:1;[not sampled] 500000
			python3;[not sampled] 200000
			worker;[not sampled] 100000`,
	} {
		compareLines(t, foldedText(t, strings.ReplaceAll(text, `\0`, `\x00`), profile.Options{Threads: true}, graph.View{By: by, Mode: graph.OnCPU}), want)
	}
}
