package capture

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	RunWaitingCommand()
	os.Exit(m.Run())
}

// outputPipe is a pipe whose writing end has a high number: Go's child process uses the number after the highest of its
// streams (forkAndExecInChild1 in package syscall), which must not be one that it inherits.
func outputPipe(t *testing.T) (out, in *os.File) {
	t.Helper()
	out, low, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer low.Close()
	fd, err := unix.FcntlInt(low.Fd(), unix.F_DUPFD_CLOEXEC, 300)
	if err != nil {
		t.Fatal(err)
	}
	return out, os.NewFile(uintptr(fd), "output")
}

// runCommand runs a command through the barrier: what it printed, how it ended.
func runCommand(t *testing.T, argv ...string) (output string, status int, err error) {
	t.Helper()
	out, in := outputPipe(t)
	c, err := startCommand(argv, in, false)
	in.Close()
	if err != nil {
		return "", 0, err
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	status, err = c.Status()
	return string(text), status, err
}

func TestCommandEndsWithItsOwnStatus(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -TERM $$": 128 + 15, "exit 125": 125} {
		if _, got, err := runCommand(t, "sh", "-c", script); got != want || err != nil {
			t.Errorf("%s: status %d (%v), want %d", script, got, err, want)
		}
	}
}

func TestCommandInheritsLikeAnOrdinaryChild(t *testing.T) {
	t.Setenv("GOMAXPROCS", "7")
	t.Setenv("COLOUR", "green")
	argv := []string{"sh", "-c", `env | sort; ls /proc/self/fd; ulimit -Sa; grep -e SigBlk -e SigIgn /proc/self/status; echo "$0 $1"`, "one", "two"}
	got, _, err := runCommand(t, argv...)
	if err != nil {
		t.Fatal(err)
	}
	out, in := outputPipe(t)
	child, err := os.StartProcess("/bin/sh", argv, &os.ProcAttr{Files: []*os.File{os.Stdin, in, os.Stderr}})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the command sees %s, an ordinary child %s", got, want)
	}
}

func TestCommandDoesNothingBeforeItsRelease(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made")
	c, err := startCommand([]string{"touch", file}, os.Stderr, false)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the command ran before its release: %v", err)
	}
	if err := syscall.Kill(c.PID(), 0); err != nil {
		t.Errorf("the waiting process is not there: %v", err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if status, err := c.Status(); status != 0 || err != nil {
		t.Errorf("status %d, %v", status, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the command did not run: %v", err)
	}
}

func TestCancelledCommandNeverRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made")
	c, err := startCommand([]string{"touch", file}, os.Stderr, false)
	if err != nil {
		t.Fatal(err)
	}
	c.Cancel()
	if status, _ := c.Status(); status != statusOwnFailure {
		t.Errorf("status %d, want %d", status, statusOwnFailure)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cancelled command ran: %v", err)
	}
}

func TestCommandsThatCannotRunAreFoundFirst(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for name, want := range map[string]int{
		"no-such-command": statusNotFound, dir + "/none": statusNotFound, plain + "/below": statusNotFound,
		plain: statusNotExecutable, dir: statusNotExecutable, "plain": statusNotExecutable,
	} {
		_, err := lookUp(name)
		failure := new(commandError)
		if !errors.As(err, &failure) || failure.Status != want {
			t.Errorf("%s: %v, want status %d", name, err, want)
		}
	}
}

func TestExecFailureIsReportedByTheCommand(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, status, err := runCommand(t, script)
	if status != statusNotFound || err == nil {
		t.Errorf("status %d, %v; want %d and an error", status, err, statusNotFound)
	}
	bare := filepath.Join(dir, "bare")
	if err := os.WriteFile(bare, []byte("echo by the shell $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, status, err := runCommand(t, bare, "x")
	if out != "by the shell x\n" || status != 0 || err != nil {
		t.Errorf("a script without #!: %q, status %d, %v", out, status, err)
	}
}
