//go:build linux

package json

import (
	"maps"
	"path/filepath"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// onCPU is who is on a CPU: a thread, or the idle thread of the CPU.
type onCPU struct{ tid, cpu int }

func whose(tid, cpu int) onCPU {
	if tid != 0 {
		cpu = 0
	}
	return onCPU{tid, cpu}
}

// ranByLines is how long each thread ran, by the switches of an output: from the switch that brings it to the next one
// of its CPU, from the window's start if nothing has brought it, and to the window's end. A thread that execs in another
// one's stead goes on as that. The thread that leaves is the one that came before, but the kernel may not report switches from threads of process 1
// (docs/kernels.md).
func ranByLines(t *testing.T, l *lines) map[onCPU]ns {
	t.Helper()
	sums := map[onCPU]ns{}
	since, running := map[int]ns{}, map[int]*task{}
	for i := range l.events {
		e := &l.events[i]
		switch e.T {
		case "exec":
			if e.OldTID != nil && running[*e.CPU].tid() == *e.OldTID {
				sums[whose(*e.OldTID, *e.CPU)] += e.TS - since[*e.CPU]
				since[*e.CPU], running[*e.CPU] = e.TS, e.Task
			}
		case "switch":
			was := running[*e.CPU]
			if was == nil {
				was = e.Prev
			}
			if was.tid() != e.Prev.tid() && was.PID != 1 {
				t.Errorf("at %d %+v leaves CPU %d, but %+v was there", e.TS, *e.Prev, *e.CPU, *was)
			}
			sums[whose(was.tid(), *e.CPU)] += e.TS - since[*e.CPU]
			since[*e.CPU], running[*e.CPU] = e.TS, e.Next
		}
	}
	for cpu, from := range since {
		sums[whose(running[cpu].tid(), cpu)] += *l.header.Dur - from
	}
	return sums
}

// ranByEngine is the same by the table sched of Perfetto's engine.
func ranByEngine(t *testing.T, capture string) map[onCPU]ns {
	t.Helper()
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "trace.pb"), "wprof-perfetto", capture)
	sums := map[onCPU]ns{}
	for _, row := range engine.Query(t, trace, `
		select thread.tid as tid, cpu, sum(iif(dur < 0, (select end_ts from trace_bounds) - ts, dur)) as ns
		from sched join thread using (utid) group by 1, 2`)[0] {
		sums[whose(int(row["tid"].(int64)), int(row["cpu"].(int64)))] += ns(row["ns"].(int64))
	}
	return sums
}

func TestRunningTimesMatchPerfetto(t *testing.T) {
	c := theCapture(t)
	got, want := ranByLines(t, &c.lines), ranByEngine(t, c.path)
	maps.DeleteFunc(got, func(_ onCPU, n ns) bool { return n == 0 })
	maps.DeleteFunc(want, func(_ onCPU, n ns) bool { return n == 0 })
	for who, n := range want {
		if got[who] != n {
			t.Errorf("thread %d (CPU %d if idle) ran for %d ns, in Perfetto's sched for %d", who.tid, who.cpu, got[who], n)
		}
	}
	for who, n := range got {
		if _, is := want[who]; !is {
			t.Errorf("thread %d ran for %d ns, and is not in Perfetto's sched", who.tid, n)
		}
	}
	if len(want) < 150 {
		t.Errorf("%d threads: the test does not test", len(want))
	}
}
