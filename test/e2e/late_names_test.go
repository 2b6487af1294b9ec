//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// namedFrames are the samples of one program whose innermost user frame is in its own text.
type namedFrames struct {
	samples int
	names   map[string]int // of functions; "" for none
	relapse int            // without a name, after the first with one
	kernel  map[bool]int   // kernel frames, by whether they have a name
}

func countNames(t *testing.T, in io.Reader, comm string) namedFrames {
	t.Helper()
	n := namedFrames{names: map[string]int{}, kernel: map[bool]int{}}
	eachSample(t, in, func(r *format.Reader, e *format.Event) {
		stack := r.Stack(e.Sample().Stack())
		if stack == nil {
			return
		}
		user := stack.Frames[:len(stack.Frames)-int(stack.KernelFrames)]
		for _, id := range stack.Frames[len(user):] {
			f := r.Frame(id)
			if m := r.Module(f.Module); m != nil && string(m.Path) == "[bpf]" {
				continue // the kernel reports the names of programs that are loaded meanwhile, whatever the privileges
			}
			n.kernel[len(f.Lines) > 0]++
		}
		if task := r.Task(e.Task); task == nil || string(task.Comm) != comm || len(user) == 0 {
			return
		}
		name := ""
		if f := r.Frame(user[len(user)-1]); len(f.Lines) > 0 {
			name = string(f.Lines[0].Function)
		}
		n.samples++
		n.names[name]++
		if name == "" && n.names["spin_here"] > 0 {
			n.relapse++
		}
	})
	return n
}

func countNamesOf(t *testing.T, capture, comm string) namedFrames {
	t.Helper()
	f, err := os.Open(capture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return countNames(t, f, comm)
}

// spinning starts a program that spins in spin_here() until the test ends.
func spinning(t *testing.T, path string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "spin.c")
	text := "__attribute__((noinline)) void spin_here(void) { for (;;) __asm__ volatile(\"\"); }\nint main(void) { spin_here(); }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", path, err, out)
	}
	cmd := exec.Command(path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// kernelLoad spends time in the kernel until it is stopped.
func kernelLoad(t *testing.T) (stop func()) {
	t.Helper()
	cmd := exec.Command("dd", "if=/dev/urandom", "of=/dev/null", "bs=1M")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// mostly checks that nearly all samples are in spin_here().
func (n namedFrames) mostly(t *testing.T) {
	t.Helper()
	if n.samples < 100 || float64(n.names["spin_here"]) < 0.95*float64(n.samples) {
		t.Errorf("of %d samples of the program these are the names: %v", n.samples, n.names)
	}
}

// TestSpoolOfAKilledRecorderHasNames needs what was mapped where, and the kernel's symbols, to be in the spool.
func TestSpoolOfAKilledRecorderHasNames(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	spinning(t, filepath.Join(dir, "killed-spin"))
	out := filepath.Join(dir, "killed.wprof")
	recorder := tools.Start(t, "-Stimer=997hz", "-d60s", "-o", out)
	stop := kernelLoad(t)
	time.Sleep(1500 * time.Millisecond)
	stop()
	_ = recorder.Cmd.Process.Kill()
	recorder.Wait()
	finished := filepath.Join(dir, "finished.wprof")
	const cutOff = 4
	said, err := exec.Command(tools.Path("wprof-symbolize"), "-o", finished, out+".part").CombinedOutput()
	if status := new(exec.ExitError); !errors.As(err, &status) || status.ExitCode() != cutOff {
		t.Fatalf("wprof-symbolize: %v, want status %d: %s", err, cutOff, said)
	}
	n := countNamesOf(t, finished, "killed-spin")
	n.mostly(t)
	if n.kernel[true] < 20 || n.kernel[false] > n.kernel[true]/20 {
		t.Errorf("%d kernel frames have a name, %d have none", n.kernel[true], n.kernel[false])
	}
}

func TestLiveStreamHasNames(t *testing.T) {
	tools.NeedPrivilege(t)
	program := filepath.Join(t.TempDir(), "live-spin")
	spinning(t, program)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	n := countNames(t, bytes.NewReader(tools.Run(t, "wprof-record", "--live", "-Stimer=997hz", "-d3s")), "live-spin")
	// Samples do not wait for names; how many go out before the first one is known depends on how busy the machine is.
	if n.names["spin_here"] < 50 || n.relapse > n.names["spin_here"]/20 {
		t.Errorf("of %d samples of the program these are the names: %v; %d without one after the first", n.samples, n.names, n.relapse)
	}
}

// TestNamesCanComeLater leaves the names to wprof-symbolize, by a file and by a pipe.
func TestNamesCanComeLater(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	spinning(t, filepath.Join(dir, "later-spin"))
	bare, named := filepath.Join(dir, "bare.wprof"), filepath.Join(dir, "named.wprof")
	tools.Run(t, "wprof-record", "--symbolize=no", "-Stimer=997hz", "-d1s", "-o", bare)
	if n := countNamesOf(t, bare, "later-spin"); n.samples < 100 || n.names[""] != n.samples {
		t.Errorf("with --symbolize=no, of %d samples of the program these are the names: %v", n.samples, n.names)
	}
	tools.Run(t, "wprof-symbolize", "-o", named, bare)
	countNamesOf(t, named, "later-spin").mostly(t)
	piped := exec.Command("bash", "-o", "pipefail", "-c", `cat "$0" | "$1"`, bare, tools.Path("wprof-symbolize"))
	out, err := piped.Output()
	if err != nil {
		t.Fatalf("cat FILE | wprof-symbolize: %v", err)
	}
	countNames(t, bytes.NewReader(out), "later-spin").mostly(t)
}

// recordingCapabilities are those that docs/permissions.md lists, but for the one that --stats needs.
var recordingCapabilities = []string{"bpf", "perfmon", "syslog", "sys_ptrace", "checkpoint_restore", "dac_read_search", "sys_nice", "ipc_lock"}

// TestCapabilitiesDoWhatTheDocumentationSays records as another user with all of them, and with all but one.
func TestCapabilitiesDoWhatTheDocumentationSays(t *testing.T) {
	tools.NeedPrivilege(t)
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "wprof-capabilities-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o777), copyFile(tools.Path("wprof-record"), filepath.Join(dir, "wprof-record"))); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "caps-spin")
	spinning(t, program)
	time.Sleep(100 * time.Millisecond)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	defer kernelLoad(t)()
	for _, c := range []struct {
		without         string
		refused         string // what is said, if it is refused
		said            string // what is said, if not
		program, kernel bool   // whether these have names
	}{
		{without: "", program: true, kernel: true},
		{without: "bpf", refused: "CAP_BPF"},
		{without: "perfmon", refused: "CAP_PERFMON"},
		{without: "syslog", said: "CAP_SYSLOG", program: true},
		{without: "sys_ptrace", said: "CAP_SYS_PTRACE", kernel: true},
		{without: "checkpoint_restore", said: "CAP_CHECKPOINT_RESTORE", kernel: true},
		{without: "dac_read_search", said: "CAP_DAC_READ_SEARCH", kernel: true},
		{without: "sys_nice", program: true, kernel: true},
		{without: "ipc_lock", program: true, kernel: true},
	} {
		t.Run("without "+c.without, func(t *testing.T) {
			out := filepath.Join(dir, "without-"+c.without+".wprof")
			said, err := recordWithout(dir, c.without, out)
			if c.refused != "" {
				if err == nil || !strings.Contains(said, c.refused) {
					t.Errorf("it says %q (%v), and should name %s", said, err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			if c.said != "" != strings.Contains(said, "have no names") || !strings.Contains(said, c.said) {
				t.Errorf("it says %q, and should name %q", said, c.said)
			}
			n := countNamesOf(t, out, "caps-spin")
			if n.samples < 20 || (n.names["spin_here"] > n.samples/2) != c.program {
				t.Errorf("of %d samples of the program these are the names: %v", n.samples, n.names)
			}
			if n.kernel[true] > 0 != c.kernel {
				t.Errorf("%d kernel frames have a name, %d have none", n.kernel[true], n.kernel[false])
			}
		})
	}
}

// recordWithout records as nobody with all capabilities but one, and returns its messages.
func recordWithout(dir, without, out string) (string, error) {
	var set []string
	for _, c := range recordingCapabilities {
		if c != without {
			set = append(set, "+"+c)
		}
	}
	caps := strings.Join(set, ",")
	cmd := exec.Command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,"+caps, "--ambient-caps="+caps,
		filepath.Join(dir, "wprof-record"), "-Stimer=997hz", "-d500ms", "-o", out)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// TestFilesOfOneBuildIDAreDistinguished runs a stripped program and then the same one with its symbols, and a copy of it.
func TestFilesOfOneBuildIDAreDistinguished(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	full, stripped, again := filepath.Join(dir, "one-full"), filepath.Join(dir, "one-stripped"), filepath.Join(dir, "one-again")
	source := filepath.Join(dir, "one.c")
	// It exports a function, so that the stripped file has a table, and the spinning one is not in it.
	text := `#include <time.h>
__attribute__((noinline)) static void spin_here(long end) {
	struct timespec t;
	do { for (int i = 0; i < 300000; i++) __asm__ volatile(""); clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); } while (t.tv_nsec < end);
}
void exported(void) { __asm__ volatile(""); }
int main(void) { spin_here(300000000); exported(); }`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"gcc", "-O1", "-rdynamic", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1", "-o", full, source},
		{"strip", "-o", stripped, full}, {"cp", full, again},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
	}
	capture := tools.Record(t, filepath.Join(dir, "one.wprof"), []string{"-Stimer=997hz"}, func() {
		for _, program := range []string{stripped, full, again} {
			if out, err := exec.Command(program).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", program, err, out)
			}
		}
	})
	for _, comm := range []string{"one-full", "one-again"} {
		countNamesOf(t, capture, comm).mostly(t)
	}
	paths := map[string]map[string]bool{}
	eachSampleOf(t, capture, func(r *format.Reader, e *format.Event) {
		comm := string(r.Task(e.Task).Comm)
		stack := r.Stack(e.Sample().Stack())
		if !strings.HasPrefix(comm, "one-") || stack == nil {
			return
		}
		for _, id := range stack.Frames[:len(stack.Frames)-int(stack.KernelFrames)] {
			if m := r.Module(r.Frame(id).Module); m != nil && strings.HasPrefix(string(m.Path), dir) {
				if paths[comm] == nil {
					paths[comm] = map[string]bool{}
				}
				paths[comm][filepath.Base(string(m.Path))] = true
			}
		}
	})
	for comm, seen := range paths {
		if len(seen) != 1 || !seen[comm] {
			t.Errorf("samples of %s lie in %v", comm, seen)
		}
	}
	if len(paths) != 3 {
		t.Errorf("of three programs %d were sampled", len(paths))
	}
}
