//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"wprof/test/tools"
)

// probeEvent is a JSON line of an event of a user-defined probe.
type probeEvent struct {
	T     string
	ID    string `json:"utrace_id"`
	Stack int    `json:"stack_id"`
	CPU   int
	Task  struct {
		TID, PID int
		Comm     string
	}
	Args map[string]any
}

// probeEvents returns the events of each probe by its id.
func probeEvents(t *testing.T, file string) map[string][]probeEvent {
	t.Helper()
	all := make(map[string][]probeEvent)
	for line := range strings.Lines(string(tools.Run(t, "wprof-json", file))) {
		if !strings.Contains(line, `"utrace_id"`) {
			continue
		}
		var e probeEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[e.ID] = append(all[e.ID], e)
	}
	return all
}

// Two processes of a program run at the same time, each with a thread x1 on the first CPU and y2 on the last one, which call step() 100 times.
func TestProbesSelectThreads(t *testing.T) {
	tools.NeedPrivilege(t)
	one, other := tools.StartWorkload(t, exec.Command(tools.Path("named"))), tools.StartWorkload(t, exec.Command(tools.Path("named")))
	last := runtime.NumCPU() - 1
	conditions := map[string]struct {
		condition string
		want      int
		is        func(e *probeEvent) bool
	}{
		"glob":    {`comm~"x*"`, 200, func(e *probeEvent) bool { return e.Task.Comm == "x1" }},
		"equal":   {`comm==y2`, 200, func(e *probeEvent) bool { return e.Task.Comm == "y2" }},
		"other":   {`comm!="x1"`, 200, func(e *probeEvent) bool { return e.Task.Comm == "y2" }},
		"process": {fmt.Sprintf("pid==%d", one.PID()), 200, func(e *probeEvent) bool { return e.Task.PID == one.PID() }},
		"thread":  {fmt.Sprintf("tid!=%d", one.PID()), 400, func(e *probeEvent) bool { return true }},
		"cpu":     {fmt.Sprintf("cpu==%d", last), 200, func(e *probeEvent) bool { return e.CPU == last }},
		"together": {fmt.Sprintf("pid==%d && comm==x1 && arg:0 < 10", other.PID()), 10, func(e *probeEvent) bool {
			return e.Task.PID == other.PID() && e.Task.Comm == "x1"
		}},
	}
	if last == 0 {
		delete(conditions, "cpu")
	}
	target := "step (arg:0:int, path:" + tools.Path("named") + ")"
	args := []string{
		"-U", "u:" + target + " | count, by:(pid, tid, cpu, comm), id:counted |",
		"-U", "u:" + target + " | sum:arg:0, by:comm, id:sums |",
		"-U", "u:step (path:" + tools.Path("named") + ") | count, by:stack, id:stacks |",
		"-U", "uret:step (path:" + tools.Path("named") + ") | if:comm==x1, id:returns |",
	}
	for id, c := range conditions {
		args = append(args, "-U", "u:"+target+" | if:"+c.condition+", id:"+id+" |")
	}
	tids := make(map[string]int) // of the first process, by name
	file := tools.Record(t, filepath.Join(t.TempDir(), "capture"), args, func() {
		for _, w := range []*tools.Workload{one, other} {
			w.Send("\n")
			for _, line := range w.Until("done") {
				name, tid := "", 0
				if _, err := fmt.Sscan(line, &name, &tid); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				if w == one {
					tids[name] = tid
				}
			}
		}
	})
	events := probeEvents(t, file)
	for id, c := range conditions {
		if len(events[id]) != c.want {
			t.Errorf("if:%s: %d events, want %d", c.condition, len(events[id]), c.want)
		}
		for i := range events[id] {
			if e := &events[id][i]; !c.is(e) {
				t.Errorf("if:%s: an event of thread %d, %s, of process %d on CPU %d", c.condition, e.Task.TID, e.Task.Comm, e.Task.PID, e.CPU)
				break
			}
		}
	}
	if n := len(events["returns"]); n != 200 {
		t.Errorf("%d returns, want 200", n)
	}
	checkCounted(t, events["counted"], one.PID(), tids, map[string]int{"x1": 0, "y2": last})
	for _, e := range events["stacks"] {
		if e.Stack == 0 {
			t.Errorf("by:stack: %v events have no stack", e.Args["events"])
		}
	}
	if len(events["stacks"]) == 0 {
		t.Error("by:stack: nothing is counted")
	}
	sums := make(map[string]float64)
	for _, e := range events["sums"] {
		sums[fmt.Sprint(e.Args["comm"])] += e.Args["sum"].(float64)
	}
	if want := 2.0 * 99 * 100 / 2; len(sums) != 2 || sums["x1"] != want || sums["y2"] != want {
		t.Errorf("the sums are %v, want %v each", sums, want)
	}
}

// checkCounted compares what was counted for the threads of a process.
func checkCounted(t *testing.T, events []probeEvent, pid int, tids, cpus map[string]int) {
	t.Helper()
	counted := make(map[string]float64)
	for _, e := range events {
		if e.Args["pid"] != float64(pid) {
			continue
		}
		name := fmt.Sprint(e.Args["comm"])
		if e.Args["tid"] != float64(tids[name]) || e.Args["cpu"] != float64(cpus[name]) {
			t.Errorf("%s is counted as %v, want thread %d on CPU %d", name, e.Args, tids[name], cpus[name])
		}
		counted[name] += e.Args["events"].(float64)
	}
	if len(counted) != 2 || counted["x1"] != 100 || counted["y2"] != 100 {
		t.Errorf("counted are %v, want 100 of each thread", counted)
	}
}
