package perfetto

import (
	"fmt"
	"strings"
	"testing"
)

const sleepersSQL = `select s.name as slice, coalesce(thread.name, extract_arg(s.arg_set_id, 'debug.thread')) as thread,
	iif(tt.id is null, track.name, 'own') as track, parent.name as parent
	from slice s join track on s.track_id = track.id left join track parent on parent.id = track.parent_id
	left join thread_track tt on tt.id = s.track_id left join thread using (utid) where s.name glob 'blocked*' order by 2`

// Processes none of whose threads ran have no row of their own, and sleeping kernel threads none at all.
func TestProcessesThatNeverRanAreInOneGroup(t *testing.T) {
	text := machine + opening1 + `
		task 10 tid=201 pid=200 comm=helper process_comm=sleeper ppid=1 start=8
		+0 cpu0 state_thread 10 state=D prio=120 since=-100000
		end close=+1000000
	`
	rows := query(t, writtenWith(t, text, DefaultOptions()), sleepersSQL, `select depth, count(*) as n from slice where name glob 'blocked*' group by 1 order by 1`)
	compare(t, "blocked threads", rows[2], "slice thread track parent", `
		blocked: unknown (D) (open) helper 201 sleeper 200 Processes that never ran
		blocked: unknown (D) (open) init 1 init 1 Processes that never ran
		blocked (S) (open) pong own -
		blocked (S) (open) sleeper 200 sleeper 200 Processes that never ran
	`)
	compare(t, "depths", rows[3], "depth n", "0 3\n1 1\n")

	options := DefaultOptions()
	options.Sleepers = true
	for what, trace := range map[string]string{
		"on demand": writtenWith(t, text, options),
		"filtered":  writtenWith(t, strings.Replace(text, "+0 cpu1 state_cpu 1 prio=120\n", "", 1), DefaultOptions()),
	} {
		rows = query(t, trace, sleepersSQL)
		compare(t, what, rows[2], "slice thread track", `
			blocked: unknown (D) (open) helper own
			blocked: unknown (D) (open) init own
			blocked (S) (open) kthreadd own
			blocked (S) (open) pong own
			blocked (S) (open) sleeper own
		`)
	}
}

// What a process of many sleeping threads shows is bounded, and the engine takes it.
func TestVeryManySleepingThreadsOfAProcess(t *testing.T) {
	var text strings.Builder
	text.WriteString(machine + opening1)
	for n := range 5000 {
		fmt.Fprintf(&text, "task %d tid=%d pid=200 comm=t process_comm=sleeper ppid=1 start=8\n", 1000+n, 10000+n)
	}
	for n := range 5000 {
		fmt.Fprintf(&text, "+0 cpu0 state_thread %d state=S prio=120\n", 1000+n)
	}
	text.WriteString("end close=+1000000\n")
	rows := query(t, writtenWith(t, text.String(), DefaultOptions()), `select count(*) as n, max(depth) as depth from slice where name glob 'blocked*'`)
	compare(t, "drawn", rows[2], "n depth", "4098 255\n")
}
