package perfetto

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/fromtext"
)

// machine begins a capture of two CPUs: BOOTTIME is 5 s ahead of MONOTONIC, and the window opens at 10 s.
const machine = `
section host=test boot_id=b kernel_release=6.18.0 kernel_version="#1 SMP" machine=x86_64 open=10000000000 close=+1000000
  cpu 0
  cpu 1
  clock monotonic=10000000000 boottime=15000000000 realtime=1700000000000000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=ping process_comm=ping ppid=1 start=5
task 3 tid=101 pid=100 comm=pong process_comm=ping ppid=1 start=6
task 4 tid=200 pid=200 comm=sleeper process_comm=sleeper ppid=1 start=7
task 5 tid=2 pid=2 comm=kthreadd process_comm=kthreadd start=1 flags=1
task 6 tid=20 pid=20 comm="kworker/0:1" process_comm="kworker/0:1" ppid=2 start=2 flags=1
task 7 tid=21 pid=21 comm="kworker/1:1" process_comm="kworker/1:1" ppid=2 start=2 flags=1
task 8 tid=1 pid=1 comm=init process_comm=init start=1
`

// opening1 is the state at the opening: ping runs on CPU 0, CPU 1 is idle, all other threads are blocked.
const opening1 = `
+0 cpu0 state_cpu 2 prio=120 since=-50
+0 cpu1 state_cpu 1 prio=120
+0 cpu1 state_thread 3 state=S prio=120 since=-100
+0 cpu0 state_thread 4 state=S prio=120 since=-100000
+0 cpu0 state_thread 5 state=S prio=120
+0 cpu0 state_thread 6 state=I prio=120
+0 cpu1 state_thread 7 state=I prio=120
+0 cpu0 state_thread 8 state=D prio=120
`

// schedOnly selects the least that a trace can show, everything the most.
func schedOnly() Options { return Options{Sched: true} }

func everything() Options {
	return Options{Sched: true, Threads: true, Arrows: true, Extras: true, TIDPID: true, TimerTicks: true, EmbedStacks: true, Counters: true}
}

// withArrows are the default options, with the arrows from wakers and preemptors that Perfetto otherwise draws by itself.
func withArrows() Options {
	options := DefaultOptions()
	options.Arrows = true
	return options
}

// written is the trace of a stream that a text describes, with scheduling alone: the thread view has tests of its own.
// The same stream with everything must load without errors too.
func written(t testing.TB, text string) string {
	t.Helper()
	engine.CheckStats(t, writtenWith(t, text, everything()))
	return writtenWith(t, text, schedOnly())
}

// writtenWith is the trace of a stream that a text describes.
func writtenWith(t testing.TB, text string, options Options) string {
	t.Helper()
	trace, err := convert(t, fromtext.Stream(t, text), options)
	if err != nil {
		t.Fatalf("convert: %v", err)
	}
	return trace
}

func convert(t testing.TB, stream []byte, options Options) (string, error) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	defer r.Close()
	trace := filepath.Join(t.TempDir(), "trace.pb")
	out, err := os.Create(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	_, err = Convert(r, out, options)
	return trace, err
}

// Times in results count from BOOTTIME 15 s, which is when the window of [machine] opens.
const (
	schedSQL = `select cpu, tid, ts - 15000000000 as ts, iif(dur < 0, (select end_ts from trace_bounds) - ts, dur) as dur, end_state, name
		from sched join thread using (utid) order by cpu, ts, dur, tid`
	stateSQL = `select tid, s.ts - 15000000000 as ts, iif(s.dur < 0, (select end_ts from trace_bounds) - s.ts, s.dur) as dur, state, s.cpu,
		(select tid from thread where thread.utid = s.waker_utid) as waker
		from thread_state s join thread using (utid) where s.dur != 0 and s.ts < (select end_ts from trace_bounds) order by tid, s.ts`
	schedFields = "cpu tid ts dur end_state"
	stateFields = "tid ts dur state cpu waker"
)

// lines are rows as text, one a line, with - for NULL.
func lines(rows []engine.Row, fields string) string {
	var b strings.Builder
	for _, row := range rows {
		for i, field := range strings.Fields(fields) {
			if i > 0 {
				b.WriteByte(' ')
			}
			if row[field] == nil {
				b.WriteByte('-')
			} else {
				fmt.Fprint(&b, row[field])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func compare(t *testing.T, what string, rows []engine.Row, fields, want string) {
	t.Helper()
	want = strings.TrimLeft(strings.ReplaceAll(want, "\t", ""), "\n")
	if got := lines(rows, fields); got != want {
		t.Errorf("%s (%s):\ngot\n%swant\n%s", what, fields, got, want)
	}
}
