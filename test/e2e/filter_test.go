//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/tools"
)

// onCPU is the time on the CPU of a process's first thread, from a trace. On a machine where many processes begin, a thread of
// another one may have the same id in the same window.
func onCPU(t *testing.T, trace string, pid int) int64 {
	t.Helper()
	return number(t, one(t, trace, fmt.Sprintf(`select coalesce(sum(dur), 0) as ns from sched join thread using (utid) join process using (upid)
		where tid = %[1]d and pid = %[1]d and dur > 0`, pid)), "ns")
}

func TestFilteredProcessKeepsItsTimeToTheNanosecond(t *testing.T) {
	r := theRecording(t)
	kept := only(r.did, "cpu")[0].tid
	part := tools.Convert(t, filepath.Join(t.TempDir(), "part.wprof"), "wprof-filter", "-p", fmt.Sprint(kept), r.capture)
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "part.pb"), "wprof-perfetto", part)
	checkTrace(t, trace)
	if whole, filtered := onCPU(t, r.trace, kept), onCPU(t, trace, kept); whole != filtered || whole == 0 {
		t.Errorf("thread %d ran %d ns in the whole trace and %d ns in the filtered one", kept, whole, filtered)
	}
}

func TestFilteredThreadsHaveTheSameSlices(t *testing.T) {
	r := theRecording(t)
	pair := only(r.did, "pair")[0].tid
	part := tools.Convert(t, filepath.Join(t.TempDir(), "part.wprof"), "wprof-filter", "-p", fmt.Sprint(pair), r.capture)
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "part.pb"), "wprof-perfetto", part)
	checkTrace(t, trace)
	// The slices of the kept thread are the same ones in both traces, so none of them reaches over a dropped thread's.
	slices := fmt.Sprintf(`select ts, dur, cpu from sched join thread using (utid) join process using (upid) where tid = %[1]d and pid = %[1]d order by ts`, pair)
	whole, filtered := query(t, r.trace, slices), query(t, trace, slices)
	if len(whole) != len(filtered) || len(whole) < 10 {
		t.Fatalf("%d slices in the whole trace, %d in the filtered one", len(whole), len(filtered))
	}
	for i := range whole {
		for _, column := range []string{"ts", "dur", "cpu"} {
			if number(t, whole[i], column) != number(t, filtered[i], column) {
				t.Fatalf("slice %d is %v in the whole trace and %v in the filtered one", i, whole[i], filtered[i])
			}
		}
	}
}

func TestRecorderAndFilterAgreeOnOneProcess(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	var done []did
	file := tools.Record(t, filepath.Join(dir, "named.wprof"), []string{"-n", "workload"}, func() { done = work(t, "preempted") })
	trace := tools.Convert(t, filepath.Join(dir, "named.pb"), "wprof-perfetto", file)
	checkTrace(t, trace)
	for _, d := range only(done, "cpu") {
		got := onCPU(t, trace, d.tid)
		if diff := got - d.to; diff < -(d.to/100+20_000_000) || diff > d.to/100+20_000_000 {
			t.Errorf("thread %d recorded by name ran %d ns, schedstat said %d", d.tid, got, d.to)
		}
	}
	again := tools.Convert(t, filepath.Join(dir, "again.wprof"), "wprof-filter", "-n", "workload", file)
	if a, b := events(t, file), events(t, again); a != b {
		t.Errorf("filtering what was recorded by the same filter changed it: %d bytes of events, then %d", len(a), len(b))
	}
}

// events are the event lines of a capture's text form.
func events(t *testing.T, capture string) string {
	t.Helper()
	var lines strings.Builder
	for line := range strings.Lines(string(tools.Run(t, "wprof-info", "--dump", capture))) {
		if strings.HasPrefix(line, "  +") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}
