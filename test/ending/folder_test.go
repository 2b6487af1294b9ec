//go:build linux

package ending

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// TestFolderRemovedWhileRecording: what was recorded is kept elsewhere, and the message says where.
func TestFolderRemovedWhileRecording(t *testing.T) {
	tools.NeedPrivilege(t)
	stamps := stamps(t)
	dir, spools := filepath.Join(t.TempDir(), "out"), t.TempDir()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", spools)
	file := filepath.Join(dir, "x.wprof")
	r := tools.Start(t, "-d60s", "--no-stacks", "-o", file)
	time.Sleep(300 * time.Millisecond)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := r.Stop(); got != 1 {
		t.Errorf("status %d", got)
	}
	said := r.Stderr.String()
	oneSentence(t, said, "wprof-record", "write "+file+": no such file or directory", "make the folder "+dir+" first", "wprof-symbolize "+spools+"/wprof-")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if r := promised(t, said, ""); r.Status != 0 {
		t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
	}
	if n := whole(t, file).compare(t, readStamps(t, stamps)); n < 10 {
		t.Errorf("%d departures could be compared", n)
	}
}

// TestFolderReplacedWhileRecording: where there is a folder again, the result is in it.
func TestFolderReplacedWhileRecording(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "x.wprof")
	r := tools.Start(t, "-d60s", "--no-stacks", "-o", file)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Someone else's by now.
	if err := os.WriteFile(file+".part", []byte("not of this recorder"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.Stop(); got != 0 {
		t.Errorf("status %d: %s", got, r.Stderr.String())
	}
	whole(t, file)
	if text, err := os.ReadFile(file + ".part"); string(text) != "not of this recorder" {
		t.Errorf("the recorder has removed another one's file: %v", err)
	}
}

// TestFolderMovedWhileRecording: the spool has gone with it, and is found.
func TestFolderMovedWhileRecording(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, c := range []struct {
		name         string
		replaced     bool // there is a folder again, for the result
		status       int
		moved, again []string // what the folders hold in the end
		says         string
	}{
		{"replaced", true, 0, nil, []string{"x.wprof"}, ""},
		{"gone", false, 1, []string{"x.wprof.part"}, nil, "run wprof-symbolize %s/x.wprof.part -o "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			parent := t.TempDir()
			dir, moved := filepath.Join(parent, "a"), filepath.Join(parent, "b")
			must(t, os.Mkdir(dir, 0o755))
			file := filepath.Join(dir, "x.wprof")
			r := tools.Start(t, "-d100s", "--no-stacks", "-o", file)
			must(t, os.Rename(dir, moved))
			if c.replaced {
				must(t, os.Mkdir(dir, 0o755))
			}
			got, said := r.Stop(), r.Stderr.String()
			if want := strings.Replace(c.says, "%s", moved, 1); got != c.status || !strings.Contains(said, want) {
				t.Errorf("status %d, want %d, and %q: %s", got, c.status, want, said)
			}
			if left := names(t, moved); !slices.Equal(left, c.moved) {
				t.Errorf("the folder that was moved holds %v, want %v", left, c.moved)
			}
			if !c.replaced {
				must(t, os.Mkdir(dir, 0o755))
				if r := promised(t, said, ""); r.Status != 0 {
					t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
				}
			} else if left := names(t, dir); !slices.Equal(left, c.again) {
				t.Errorf("the new folder holds %v, want %v", left, c.again)
			}
			whole(t, file)
		})
	}
}

// TestTMPDIRRemovedWhileRecording: a spool without a name is not affected.
func TestTMPDIRRemovedWhileRecording(t *testing.T) {
	tools.NeedPrivilege(t)
	spools := filepath.Join(t.TempDir(), "spools")
	if err := os.Mkdir(spools, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", spools)
	r := tools.Start(t, "-d60s", "--no-stacks")
	if left := names(t, spools); len(left) > 0 {
		t.Errorf("the spool has a name: %v", left)
	}
	if err := os.RemoveAll(spools); err != nil {
		t.Fatal(err)
	}
	if got := r.Stop(); got != 0 {
		t.Errorf("status %d: %s", got, r.Stderr.String())
	}
	if s := readDepartures(t, strings.NewReader(r.Stdout.String())); s.events < 100 {
		t.Errorf("%d events", s.events)
	}
}

// TestOutputChangedWhileRecording replaces the output while it is made.
func TestOutputChangedWhileRecording(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, file string)
		fails  string // what is said; "": the result is there
	}{
		{"read-only", func(t *testing.T, file string) { must(t, os.WriteFile(file, []byte("old"), 0o400)) }, ""},
		{"a folder", func(t *testing.T, file string) { must(t, os.Mkdir(file, 0o700)) }, "write %s: file exists"},
		{"a link", func(t *testing.T, file string) {
			must(t, os.WriteFile(file+".victim", []byte("precious"), 0o600))
			must(t, os.Symlink(file+".victim", file))
		}, ""},
		{"a hard link", func(t *testing.T, file string) {
			must(t, os.WriteFile(file+".victim", []byte("precious"), 0o600))
			must(t, os.Link(file+".victim", file))
		}, ""},
		{"a FIFO", func(t *testing.T, file string) { must(t, unix.Mkfifo(file, 0o600)) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "x.wprof")
			r := tools.Start(t, "-d60s", "--no-stacks", "-o", file)
			c.change(t, file)
			got, said := r.Stop(), r.Stderr.String()
			if text, err := os.ReadFile(file + ".victim"); err == nil && string(text) != "precious" {
				t.Errorf("the file behind the link holds %.20q", text)
			}
			_ = os.Remove(file + ".victim")
			if c.fails == "" {
				if got != 0 {
					t.Errorf("status %d: %s", got, said)
				}
				if info, err := os.Lstat(file); err != nil || info.Mode() != 0o600 {
					t.Errorf("the result is %v, %v", info, err)
				}
				whole(t, file)
				if left := names(t, dir); !slices.Equal(left, []string{"x.wprof"}) {
					t.Errorf("the folder holds %v", left)
				}
				return
			}
			if got != 1 {
				t.Errorf("status %d", got)
			}
			oneSentence(t, said, "wprof-record", strings.Replace(c.fails, "%s", file, 1), "wprof-symbolize "+file+".part -o "+file)
			if left := names(t, dir); !slices.Equal(left, []string{"x.wprof", "x.wprof.part"}) {
				t.Errorf("the folder holds %v", left)
			}
			must(t, os.Remove(file))
			if r := promised(t, said, ""); r.Status != 0 {
				t.Errorf("wprof-symbolize: status %d: %s", r.Status, r.Stderr)
			}
			whole(t, file)
		})
	}
}

// TestDescriptorAsOutput: a regular file behind /dev/fd is written as one behind standard output is, and only by a recording.
func TestDescriptorAsOutput(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, way := range []string{"/dev/fd/3", "/proc/self/fd/3"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "x.wprof")
			old := strings.Repeat("what was there before ", 1<<16)
			must(t, os.WriteFile(file, []byte(old), 0o600))
			record := func(tmpdir string) (int, string) {
				f, err := os.OpenFile(file, os.O_RDWR, 0)
				must(t, err)
				defer f.Close()
				cmd := exec.Command(tools.Path("wprof-record"), "-d300ms", "--no-stacks", "-o", way)
				cmd.ExtraFiles, cmd.Env = []*os.File{f}, append(os.Environ(), "TMPDIR="+tmpdir)
				return status(t, cmd)
			}
			if got, said := record("/no/such/folder"); got != 1 || !strings.Contains(said, "/no/such/folder") {
				t.Errorf("without a place for the spool: status %d: %s", got, said)
			}
			if text, err := os.ReadFile(file); string(text) != old {
				t.Errorf("a recording that could not begin leaves %.30q, %v", text, err)
			}
			if got, said := record(t.TempDir()); got != 0 {
				t.Errorf("status %d: %s", got, said)
			}
			if s := whole(t, file); s.events < 10 {
				t.Errorf("%d events", s.events)
			}
			if left := names(t, dir); !slices.Equal(left, []string{"x.wprof"}) {
				t.Errorf("the folder holds %v", left)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnwatchedFIFOIsGivenUp: a FIFO that nobody reads keeps a recorder from starting, and the first Ctrl-C ends that.
func TestUnwatchedFIFOIsGivenUp(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	cmd := exec.Command(tools.Path("wprof-record"), "-d1s", "-o", fifo)
	must(t, cmd.Start())
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	until(t, "the recorder waits for a reader", func() bool { return opening(cmd.Process.Pid) })
	must(t, cmd.Process.Signal(unix.SIGINT))
	_ = cmd.Wait()
	if got := tools.Status(cmd.ProcessState); !late.Stop() || got != 130 {
		t.Errorf("status %d, want 130", got)
	}
}

// opening reports whether a thread of the process waits for a file to be opened.
func opening(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	return slices.ContainsFunc(files, func(file string) bool {
		text, _ := os.ReadFile(file)
		return strings.HasPrefix(string(text), fmt.Sprintf("%d ", unix.SYS_OPENAT))
	})
}
