//go:build linux

package sql

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"wprof/test/tools"
)

const sumOfRuns = "SELECT pid, sum(ran) AS ran FROM runs WHERE tid > 0 AND known GROUP BY pid"

// cpuTimes returns the CPU time of each process of a capture by the view of the page, in both engines, and by wprof-info.
func cpuTimes(t *testing.T, capture string) (byEngine map[string]map[int64]int64, byInfo map[int64]int64) {
	t.Helper()
	dir := t.TempDir()
	tools.Run(t, "wprof-json", "--parquet", filepath.Join(dir, "columns"), capture)
	page, _ := readPage(t)
	blocks := choose(page, func(b *block) bool { return b.kind == "" && !b.isQuestion() })
	blocks = append(blocks, block{Name: "sum", SQL: sumOfRuns})
	byEngine = make(map[string]map[int64]int64)
	for _, engine := range []string{"duckdb", "chdb"} {
		sums := make(map[int64]int64)
		for _, row := range runSQL(t, engine, dir, blocks)[0].Rows {
			sums[integer(t, row[0])] = integer(t, row[1])
		}
		byEngine[engine] = sums
	}
	var about struct {
		Recordings []struct {
			Processes []struct {
				PID   int64
				CPUNs int64 `json:"cpu_ns"`
			}
		}
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", capture), &about); err != nil {
		t.Fatal(err)
	}
	byInfo = make(map[int64]int64)
	for _, p := range about.Recordings[0].Processes {
		if p.CPUNs > 0 {
			byInfo[p.PID] += p.CPUNs
		}
	}
	return byEngine, byInfo
}

func integer(t *testing.T, value any) int64 {
	t.Helper()
	number, _ := value.(json.Number)
	n, err := number.Int64()
	if err != nil {
		t.Fatalf("%v is no integer", value)
	}
	return n
}

// TestCPUTimeIsThatOfInfo compares the known runs of a real recording with wprof-info. Where the kernel leaves out a switch from
// a thread of process 1 (docs/kernels.md), wprof-info may have more of that process.
func TestCPUTimeIsThatOfInfo(t *testing.T) {
	engines(t)
	byEngine, info := cpuTimes(t, record(t, "-a"))
	for engine, got := range byEngine {
		want := maps.Clone(info)
		if got[1] < want[1] {
			got[1] = want[1]
		}
		if len(got) < 60 || !maps.Equal(got, want) {
			t.Errorf("%s has %v, wprof-info %v", engine, got, want)
		}
	}
}

// TestCPUTimeWhereSwitchesAreMissing has a switch that the kernel does not report, after which a thread leaves that no switch
// brought, and a loss.
func TestCPUTimeWhereSwitchesAreMissing(t *testing.T) {
	engines(t)
	const text = `section open=1000000000 close=+100ms
task 1 tid=11 pid=11
task 2 tid=12 pid=12
task 3 tid=13 pid=13
+0 cpu0 state_cpu 1 since=-1ms
+10ms cpu0 switch 1 next=2 prev_state=S
+15ms cpu0 waking 2 wakee=1
+30ms cpu0 switch 3 next=1 prev_state=S
+40ms cpu0 switch 1 next=2 prev_state=S
+60ms cpu0 lost from=+50ms count=3 cause=ring what=switch
+70ms cpu0 switch 2 next=3 prev_state=S
end close=+100ms
`
	dir := t.TempDir()
	written, counted := filepath.Join(dir, "written.wprof"), filepath.Join(dir, "counted.wprof")
	if r := tools.Try(t, time.Minute, []byte(text), "wprof-info", "--undump", "-o", written); r.Status != 0 {
		t.Fatalf("wprof-info: status %d: %s", r.Status, r.Stderr)
	}
	tools.Run(t, "wprof-filter", "-o", counted, written) // adds up the CPU time
	byEngine, info := cpuTimes(t, counted)
	if want := map[int64]int64{11: 20e6, 12: 15e6, 13: 30e6}; !maps.Equal(info, want) {
		t.Errorf("wprof-info has %v, want %v", info, want)
	}
	for engine, got := range byEngine {
		if want := map[int64]int64{11: 20e6, 12: 30e6, 13: 30e6}; !maps.Equal(got, want) {
			t.Errorf("%s has %v, want %v", engine, got, want)
		}
	}
}
