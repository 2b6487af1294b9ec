package sideband

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wprof/internal/proc"
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
	if n := w.Files().Stats().Unopened; n == 0 {
		t.Error("no file is counted as not opened")
	}
	if hung := w.Files().AllHung(); !slices.Contains(hung, path) {
		t.Errorf("files %v hang, want %s", hung, path)
	}
}

func TestClosingAFileThatDoesNotRespondDelaysNothing(t *testing.T) {
	needPrivilege(t)
	path, hung := fuse.Mount(t, []byte("no build-id"), func(r fuse.Request) bool { return r.Op == fuse.Flush })
	mapping := Record{Kind: KindMap, Time: proc.Monotonic(), PID: 1, Inode: 2, Path: []byte(path)}
	open := func() *os.File {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	files := newFiles(8)
	if !files.claim(&mapping) {
		t.Fatal("the first mapping of a file does not open it")
	}
	files.opened(&mapping, open(), nil)
	mapping.Time += 2 * recheckAfter
	if !files.claim(&mapping) {
		t.Fatal("a later mapping of a file without a build-id does not open it again")
	}
	go files.opened(&mapping, open(), nil)
	within(t, "the file system", func() { <-hung })
	other := Record{Kind: KindMap, PID: 1, Inode: 3, Path: []byte("/other")}
	within(t, "a mapping of another file", func() { files.claim(&other) })
	within(t, "Close", files.Close)
}
