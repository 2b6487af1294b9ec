package sideband

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"wprof/test/fuse"
)

// within fails the test if f hangs: the limit is far above what f takes, and far below what a file system may take.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s waits for a file that does not open", what)
	}
}

// pauses is a program that goes on until its input ends.
const pauses = "#include <unistd.h>\nint main(void) { char c; return read(0, &c, 1); }"

func TestDrainDoesNotWaitForFilesThatDoNotOpen(t *testing.T) {
	for _, c := range []struct {
		name   string
		before bool
	}{{"started before the recording", true}, {"started during it", false}} {
		t.Run(c.name, func(t *testing.T) { drainsBesideAHangingFile(t, c.before) })
	}
}

func drainsBesideAHangingFile(t *testing.T, before bool) {
	needPrivilege(t)
	dir := t.TempDir()
	build(t, filepath.Join(dir, "program"), pauses, "-static")
	content, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		t.Fatal(err)
	}
	programs := copies(t, dir, 20, 0)
	path, hung := fuse.Mount(t, content, func(r fuse.Request) bool { return r.Op == fuse.Open && r.ByThisProcess() })
	var w *Watcher
	if !before {
		within(t, "the start", func() { w = opened(t, Config{OnThread: realTime}) })
	}
	// Not by Go's fork, which keeps this process from stopping its goroutines, the file system's among them, until the exec.
	cmd := exec.Command("sh", "-c", `exec "$0"`, path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	within(t, "the program", func() { err = cmd.Start() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if before {
		within(t, "the start", func() { w = opened(t, Config{OnThread: realTime}) })
	}
	var early []byte
	within(t, "Drain", func() { early = w.Drain(early) })
	within(t, "the file", func() { <-hung })
	runGone(t, dir, programs)
	within(t, "Drain", func() { early = w.Drain(early) })
	mapped := map[string]bool{}
	for r := (Record{}); len(early) > 0; {
		n, err := Next(early, &r)
		if err != nil {
			t.Fatal(err)
		}
		mapped[string(r.Path)] = true
		early = early[n:]
	}
	if !mapped[path] {
		t.Errorf("the mapping of %s is not recorded", path)
	}
	for name := range programs {
		if !mapped[filepath.Join(dir, name)] {
			t.Errorf("the mapping of %s is not recorded", name)
		}
	}
	if n := w.Files().Stats().Opened; n < len(programs)/2 {
		t.Errorf("%d files are held: one that does not open holds up the others", n)
	}
	within(t, "Stop", w.Stop)
	if n := w.Files().Stats().Unopened; n != 1 {
		t.Errorf("%d files are counted as not opened, want 1", n)
	}
}
