//go:build linux

package stress

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/test/tools"
)

// leaving is a folder with programs that end, and are removed or unmounted, while a recorder goes on.
type leaving struct {
	t        *testing.T
	dir      string
	recorder *tools.Recorder
}

// spins are programs that spin in hot(), one with a build-id and one without.
var spins = []string{"spins-id", "spins-no-id"}

// start mounts a file system with the programs, and records.
func (l *leaving) start(args ...string) {
	l.t.Helper()
	tools.NeedPrivilege(l.t)
	l.dir = l.t.TempDir()
	if err := unix.Mount("none", l.mounted(), "tmpfs", 0, "size=8m"); err != nil {
		l.t.Skipf("a tmpfs cannot be mounted here: %v", err)
	}
	l.t.Cleanup(func() { _ = unix.Unmount(l.mounted(), unix.MNT_DETACH) })
	l.recorder = tools.Start(l.t, append([]string{"-Stimer=997hz", "-d300s"}, args...)...)
}

func (l *leaving) mounted() string {
	path := filepath.Join(l.dir, "mounted")
	_ = os.Mkdir(path, 0o755)
	return path
}

// run runs the programs from a folder often enough for samples.
func (l *leaving) run(dir, prefix string) {
	l.t.Helper()
	for _, name := range spins {
		path := filepath.Join(dir, prefix+name)
		if _, err := os.Stat(path); err != nil {
			if out, err := exec.Command("cp", tools.Path(name), path).CombinedOutput(); err != nil {
				l.t.Fatalf("%v: %s", err, out)
			}
		}
		for range 6 {
			if out, err := exec.Command(path).CombinedOutput(); err != nil {
				l.t.Fatalf("%s: %v: %s", path, err, out)
			}
		}
	}
}

// leave runs the programs, and waits until the recorder has none of their files open. The mounted ones run once more after that.
func (l *leaving) leave() {
	l.t.Helper()
	l.run(l.mounted(), "m-")
	l.run(l.dir, "d-")
	for _, name := range spins {
		if err := os.Remove(filepath.Join(l.dir, "d-"+name)); err != nil {
			l.t.Fatal(err)
		}
	}
	l.until("the programs are held", func() bool { return len(l.held()) == 0 })
	l.run(l.mounted(), "m-")
	l.until("the file system is held", func() bool { return unix.Unmount(l.mounted(), 0) == nil })
}

// until waits for what takes the recorder some seconds.
func (l *leaving) until(not string, done func() bool) {
	l.t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			l.t.Fatalf("%s: %v", not, l.held())
		}
	}
}

// held are the files of the folder that the recorder has open.
func (l *leaving) held() (all []string) {
	l.t.Helper()
	fds := fmt.Sprintf("/proc/%d/fd", l.recorder.Cmd.Process.Pid)
	entries, err := os.ReadDir(fds)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range entries {
		if path, err := os.Readlink(filepath.Join(fds, e.Name())); err == nil && strings.HasPrefix(path, l.dir) && strings.Contains(path, "spins") {
			all = append(all, path)
		}
	}
	return all
}

// named checks that the programs' functions have their names.
func (l *leaving) named(capture string) {
	l.t.Helper()
	type count struct{ all, named, hot int }
	found := map[string]*count{}
	tools.WalkFile(l.t, capture, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindSample {
			return
		}
		stack := r.Stack(e.Sample().Stack())
		user := stack.GetFrames()[:len(stack.GetFrames())-int(stack.GetKernelFrames())]
		if len(user) == 0 {
			return
		}
		frame := r.Frame(user[len(user)-1])
		path := string(r.Module(frame.Module).GetPath())
		name := filepath.Base(path)
		if !strings.HasPrefix(path, l.dir) || !strings.Contains(name, "spins") {
			return // programs of another test are recorded as well
		}
		c := found[name]
		if c == nil {
			c = new(count)
			found[name] = c
		}
		c.all++
		if len(frame.Lines) == 0 {
			return
		}
		c.named++
		switch function := string(frame.Lines[0].Function); function {
		case "hot":
			c.hot++
		case "before_hot":
			l.t.Errorf("%s: a sample is in before_hot, which nobody calls", name)
		}
	})
	for _, prefix := range []string{"m-", "d-"} {
		for _, name := range spins {
			c := found[prefix+name]
			least := 10
			if c != nil && name == "spins-id" {
				least = max(least, c.all*9/10) // the other one, mapped again and gone at once, need not be the same file
			}
			if c == nil || c.hot == 0 || c.named < least {
				l.t.Errorf("%s%s: samples, those with a name and those in hot: %+v", prefix, name, c)
			}
		}
	}
}

// TestFilesAreReleased unmounts what programs ran from, and removes programs, while they are recorded. They have their names.
func TestFilesAreReleased(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		t.Run(fmt.Sprintf("live %t", live), func(t *testing.T) {
			t.Parallel()
			l := &leaving{t: t}
			capture := filepath.Join(t.TempDir(), "x.wprof")
			if live {
				l.start("--live", "-o", capture)
			} else {
				l.start("-o", capture)
			}
			l.leave()
			if status := l.recorder.Stop(); status != 0 {
				t.Fatalf("status %d: %s", status, l.recorder.Stderr.String())
			}
			if live {
				return // names of a live stream come with what is sampled later
			}
			l.named(capture)
		})
	}
}

// TestKilledRecordingNamesDeletedPrograms kills the recorder, whose spool has to contain everything that naming needs.
func TestKilledRecordingNamesDeletedPrograms(t *testing.T) {
	t.Parallel()
	l := &leaving{t: t}
	capture := filepath.Join(t.TempDir(), "x.wprof")
	l.start("-o", capture)
	l.leave()
	time.Sleep(time.Second) // until a round has ended
	if err := l.recorder.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = l.recorder.Cmd.Wait()
	r := tools.Try(t, time.Minute, nil, "wprof-symbolize", capture+".part", "-o", capture)
	if r.Status != 4 || !strings.Contains(string(r.Stderr), "the recording was cut off") {
		t.Fatalf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
	}
	l.named(capture)
}
