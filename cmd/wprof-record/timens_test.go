//go:build linux

package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/test/tools"
)

// TestTimeNamespaceDoesNotMoveTheClock: processes in a time namespace see clocks that are ahead of the kernel's. A capture has
// the kernel's, so that it shares a timeline with captures of the same boot made elsewhere.
func TestTimeNamespaceDoesNotMoveTheClock(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, offsets := range [][]string{{"--monotonic", "100000", "--boottime", "300000"}, {"--monotonic", "-1", "--boottime", "5"}} {
		file := filepath.Join(t.TempDir(), "x.wprof")
		before, err := proc.ReadClocks()
		if err != nil {
			t.Fatal(err)
		}
		r := recorder(t, "-o", file, "--", "sh", "-c", "sleep 0.05; true")
		r.cmd.Path, err = exec.LookPath("unshare")
		if err != nil {
			t.Fatal(err)
		}
		r.cmd.Args = append(append([]string{"unshare", "--time"}, offsets...), r.cmd.Args...)
		if status := r.start().wait(); status != 0 {
			t.Fatalf("%v: status %d: %s", offsets, status, r.stderr.String())
		}
		after := proc.Monotonic()
		c := readFile(t, file)
		if c.session.Open < before.Monotonic || c.end.Close > after || c.window() < 50*time.Millisecond {
			t.Errorf("%v: a window from %d to %d, want it within %d to %d", offsets, c.session.Open, c.end.Close, before.Monotonic, after)
		}
		if c.count(format.KindSwitch) == 0 || c.count(format.KindExec) < 2 {
			t.Errorf("%v: %d switches and %d execs of a command", offsets, c.count(format.KindSwitch), c.count(format.KindExec))
		}
		for _, clock := range append(c.session.Clocks, c.end.Clocks...) {
			suspended, wall := clock.Boottime-clock.Monotonic, clock.Realtime-clock.Monotonic
			if suspended != before.Boottime-before.Monotonic || time.Duration(wall-before.Realtime+before.Monotonic).Abs() > time.Second {
				t.Errorf("%v: clocks %v, beside it %v", offsets, clock, before)
			}
		}
		for _, process := range c.end.Processes {
			if time.Duration(process.Ns) > c.window()*time.Duration(len(c.session.Cpus)) {
				t.Errorf("%v: %v on CPU in a window of %v", offsets, process, c.window())
			}
		}
		for _, task := range c.tasks {
			if task.GetStart() > c.end.Close {
				t.Errorf("%v: %q started after the window, at %d", offsets, task.Comm, task.Start)
			}
		}
	}
}
