//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// ran is a function that ran on a CPU or in a thread.
type ran struct {
	where    string
	function string
}

var perfRan = regexp.MustCompile(`^ *(-?\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +` +
	`(?:workqueue:workqueue_execute_start: work struct \S+: function (\S+)|csd:csd_function_entry: func=(\S+), csd=)`)

// TestFunctionsThatInterruptsAndWorkersCallAreThoseThatPerfSees compares work items and functions that other CPUs sent, one by one, with
// what perf records by the same clock.
func TestFunctionsThatInterruptsAndWorkersCallAreThoseThatPerfSees(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "perf.data")
	file := tools.Record(t, filepath.Join(dir, "irq.wprof"), []string{"-f", "wq,ipi"}, func() {
		work := "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=" + filepath.Join(dir, "file") + " bs=64k count=10 conv=fsync; done"
		perf := exec.Command("perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-a", "-e", "workqueue:workqueue_execute_start,csd:csd_function_entry",
			"-o", data, "--", "sh", "-c", work)
		if out, err := perf.CombinedOutput(); err != nil {
			t.Fatalf("perf record: %v: %s", err, out)
		}
	})
	ours := make(map[ran][]int64)
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindTyped {
			return
		}
		of := r.EventType(e.TypeID())
		values, _ := of.AppendValues(nil, e)
		start, _ := e.Start()
		switch string(of.Name) {
		case "work":
			key := ran{fmt.Sprint("thread ", r.Task(e.Task).GetTid()), string(r.Text(values[0].ID()).GetText())}
			ours[key] = append(ours[key], start)
		case "ipi_call":
			key := ran{fmt.Sprint("CPU ", e.CPU), string(r.Text(values[0].ID()).GetText())}
			ours[key] = append(ours[key], start)
		}
	})
	perfs, first, last := perfFunctions(t, data)
	agreed := 0
	for key, times := range perfs {
		for _, at := range times {
			if i := nearest(ours[key], at); i >= 0 && max(at-ours[key][i], ours[key][i]-at) < int64(time.Millisecond) {
				ours[key][i] = 0
				agreed++
			} else {
				t.Errorf("the capture lacks %s in %s at %d", key.function, key.where, at)
			}
		}
	}
	for key, times := range ours {
		for _, at := range times {
			// perf begins and ends on one CPU after the other.
			if at > first+int64(5*time.Millisecond) && at < last-int64(5*time.Millisecond) {
				t.Errorf("perf lacks %s in %s at %d", key.function, key.where, at)
			}
		}
	}
	if agreed < 20 {
		t.Errorf("only %d functions are in both", agreed)
	}
}

// nearest returns the index of the time that is next to at; -1: there is none.
func nearest(times []int64, at int64) int {
	best := -1
	for i, one := range times {
		if one != 0 && (best < 0 || max(one-at, at-one) < max(times[best]-at, at-times[best])) {
			best = i
		}
	}
	return best
}

func perfFunctions(t *testing.T, data string) (all map[ran][]int64, first, last int64) {
	t.Helper()
	out, err := exec.Command("perf", "script", "-i", data, "--ns", "-F", "tid,cpu,time,event,trace").Output()
	if err != nil {
		t.Fatalf("perf script: %v", err)
	}
	all = make(map[ran][]int64)
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		m := perfRan.FindStringSubmatch(lines.Text())
		if m == nil {
			t.Fatalf("perf script printed %q", lines.Text())
		}
		seconds, _ := strconv.ParseInt(m[3], 10, 64)
		rest, _ := strconv.ParseInt(m[4], 10, 64)
		last = seconds*int64(time.Second) + rest
		if first == 0 {
			first = last
		}
		key := ran{"thread " + m[1], m[5]}
		if m[6] != "" {
			cpu, _ := strconv.Atoi(m[2])
			key = ran{fmt.Sprint("CPU ", cpu), m[6]}
		}
		all[key] = append(all[key], last)
	}
	return all, first, last
}
