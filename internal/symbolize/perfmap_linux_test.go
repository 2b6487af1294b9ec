package symbolize

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/proc"
)

// TestMapFilesOfOtherProgramsNameNothing: a map file that another process may have written since does not name the code of
// the one that was recorded.
func TestMapFilesOfOtherProgramsNameNothing(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running := true
	end := func() {
		if running {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			running = false
		}
	}
	t.Cleanup(end)
	pid := uint32(cmd.Process.Pid)
	path := fmt.Sprintf("/tmp/perf-%d.map", pid)
	if err := os.WriteFile(path, []byte("1000 40 made up\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	started, err := proc.Started(pid)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, since int64, until time.Time, want bool) {
		t.Helper()
		m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_JIT), Path: []byte(path), Generation: uint64(since)}
		f, err := openPerfMap(m, until)
		if err == nil {
			f.Close()
		}
		if (err == nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	later := time.Now().Add(time.Second)
	other := path + "0"
	if err := os.WriteFile(other, []byte("1000 40 made up\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(other) })
	if _, err := openPerfMap(&format.Module{Path: []byte(other), Generation: uint64(started.Monotonic + 20e6)}, later); err == nil {
		t.Errorf("%s is taken for a map file", other)
	}
	check("the process lives", started.Monotonic+20e6, time.Time{}, true)
	check("the code is of a process before, whose file was written again", started.Monotonic-5e9, later, false)
	check("when the code was mapped is not known", 0, later, false)
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	check("the file is older than the process", started.Monotonic+20e6, later, false)
	check("the code is of a process before, which wrote the file", started.Monotonic-3700e9, later, true)
	check("the same, and when the recording ended is not known", started.Monotonic-3700e9, time.Time{}, false)
	end()
	check("the process has ended, and the file is older than its code", started.Monotonic+20e6, later, false)
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(50*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	check("the process has ended", started.Monotonic+20e6, later, true)
	check("the process has ended, and the file was written after the recording", started.Monotonic+20e6, time.Now().Add(-time.Minute), false)
}
