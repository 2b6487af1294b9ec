//go:build linux

package stress

import (
	"path/filepath"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// TestOneExitEndsAProcess: however close together the threads of a process exit, one exit has the flag last, and none
// follows it.
func TestOneExitEndsAProcess(t *testing.T) {
	tools.NeedPrivilege(t)
	capture := filepath.Join(t.TempDir(), "exits.wprof")
	r := tools.Start(t, "-o", capture, "--", tools.Path("together"), "500")
	if status := r.Wait(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	type process struct{ exits, last, after int }
	processes := map[int32]*process{}
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		task := r.Task(e.Task)
		if e.Kind != format.KindExit || string(task.GetComm()) != "together" {
			return
		}
		p := processes[task.Pid]
		if p == nil {
			p = new(process)
			processes[task.Pid] = p
		}
		p.exits++
		switch {
		case e.Flags&format.ExitLast != 0:
			p.last++
		case p.last > 0:
			p.after++
		}
	})
	pairs, wrong := 0, 0
	for pid, p := range processes {
		if p.exits == 2 {
			pairs++
		}
		if p.last != 1 || p.after > 0 {
			if wrong++; wrong < 5 {
				t.Errorf("process %d: %d exits, %d are the last, %d follow the last", pid, p.exits, p.last, p.after)
			}
		}
	}
	if pairs < 500 || wrong > 0 {
		t.Errorf("%d of %d processes of two threads, %d with other than one last exit", pairs, len(processes), wrong)
	}
}
