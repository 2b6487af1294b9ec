package sideband

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hangingFolder is a FUSE file system with one program in it, whose opening by this process hangs until the test ends.
func hangingFolder(t *testing.T, program []byte) (path string, asked <-chan struct{}) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("this kernel has no FUSE: %v", err)
	}
	dir := t.TempDir()
	if err := unix.Mount("hanging", dir, "fuse", unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		_ = unix.Close(fd)
		t.Skipf("FUSE cannot be mounted: %v", err)
	}
	s := &fuseServer{fd: fd, program: program, asked: make(chan struct{}, 64)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run()
	}()
	t.Cleanup(func() {
		_ = unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH) // ends what hangs
		<-done
		_ = unix.Close(fd)
	})
	return filepath.Join(dir, "program"), s.asked
}

type fuseServer struct {
	fd      int
	program []byte
	asked   chan struct{}
}

// Numbers of include/uapi/linux/fuse.h.
const (
	fuseLookup  = 1
	fuseGetattr = 3
	fuseOpen    = 14
	fuseRead    = 15
	fuseRelease = 18
	fuseFlush   = 25
	fuseInit    = 26
	fuseForget  = 2
)

func (s *fuseServer) run() {
	buf := make([]byte, 1<<20)
	le := binary.LittleEndian
	for {
		n, err := unix.Read(s.fd, buf)
		if err == unix.EINTR || err == unix.EAGAIN || err == unix.ENOENT {
			continue
		}
		if err != nil || n < 40 {
			return
		}
		id, pid, body := le.Uint64(buf[8:]), le.Uint32(buf[32:]), buf[40:n]
		node := le.Uint64(buf[16:])
		switch le.Uint32(buf[4:]) {
		case fuseInit:
			out := make([]byte, 64)
			le.PutUint32(out, 7)
			le.PutUint32(out[4:], 31)
			le.PutUint32(out[20:], 64<<10)
			s.reply(id, 0, out)
		case fuseLookup:
			out := make([]byte, 40)
			le.PutUint64(out, 2)
			le.PutUint64(out[16:], 1000)
			le.PutUint64(out[24:], 1000)
			s.reply(id, 0, append(out, s.attr(2)...))
		case fuseGetattr:
			out := make([]byte, 16)
			le.PutUint64(out, 1000)
			s.reply(id, 0, append(out, s.attr(node)...))
		case fuseOpen:
			if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", pid)); err == nil {
				s.asked <- struct{}{}
				continue // for ever
			}
			s.reply(id, 0, make([]byte, 16))
		case fuseRead:
			from := min(le.Uint64(body[8:]), uint64(len(s.program)))
			to := min(from+uint64(le.Uint32(body[16:])), uint64(len(s.program)))
			s.reply(id, 0, s.program[from:to])
		case fuseForget:
		case fuseRelease, fuseFlush:
			s.reply(id, 0, nil)
		default:
			s.reply(id, -int32(unix.ENOSYS), nil)
		}
	}
}

func (s *fuseServer) attr(node uint64) []byte {
	b := make([]byte, 88)
	le := binary.LittleEndian
	le.PutUint64(b, node)
	mode := uint32(unix.S_IFDIR | 0o755)
	if node == 2 {
		mode = unix.S_IFREG | 0o755
		le.PutUint64(b[8:], uint64(len(s.program)))
	}
	le.PutUint32(b[60:], mode)
	le.PutUint32(b[64:], 1)
	le.PutUint32(b[80:], 4096)
	return b
}

func (s *fuseServer) reply(id uint64, status int32, body []byte) {
	out := make([]byte, 16, 16+len(body))
	binary.LittleEndian.PutUint32(out, uint32(16+len(body)))
	binary.LittleEndian.PutUint32(out[4:], uint32(status))
	binary.LittleEndian.PutUint64(out[8:], id)
	_, _ = unix.Write(s.fd, append(out, body...))
}

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
	}{{"started before", true}, {"started meanwhile", false}} {
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
	path, asked := hangingFolder(t, content)
	var w *Watcher
	if !before {
		within(t, "the start", func() { w = opened(t, Config{OnThread: realTime}) })
	}
	cmd := exec.Command(path)
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
	within(t, "the file", func() { <-asked })
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
		t.Errorf("the mapping of %s is not told", path)
	}
	for name := range programs {
		if !mapped[filepath.Join(dir, name)] {
			t.Errorf("the mapping of %s is not told", name)
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
