package capture

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"wprof/internal/cli"
	"wprof/internal/proc"
)

// Exit statuses for a recorded command that did not run, and for the recorder's own failures while there is a command:
// those of env(1).
const (
	statusOwnFailure    = 125
	statusNotExecutable = 126
	statusNotFound      = 127
)

// commandError is why a command cannot run.
type commandError struct {
	Command string
	Status  int // statusNotExecutable or statusNotFound
	Err     error
}

func (e *commandError) Error() string { return fmt.Sprintf("run %s: %v", proc.Quote(e.Command), e.Err) }

func (e *commandError) Unwrap() error { return e.Err }

// lookUp finds the file of a command as execvp(3) does, with the user's permissions.
func lookUp(command string) (path string, err error) {
	err = cli.AsUser(func() error {
		path, err = search(command)
		return err
	})
	return path, err
}

func search(command string) (path string, err error) {
	if command == "" {
		return "", &commandError{Status: statusNotFound, Err: errors.New("the name of the command is empty")}
	}
	if strings.Contains(command, "/") {
		return command, executable(command)
	}
	failure := &commandError{Command: command, Status: statusNotFound, Err: errors.New("there is no such command on PATH")}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, command)
		if dir == "" {
			path = "./" + command
		}
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if found := new(commandError); errors.As(err, &found) && found.Status == statusNotExecutable {
			failure = found
		}
	}
	return "", failure
}

// executable returns why a file cannot be executed.
func executable(path string) error {
	stat, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return &commandError{Command: path, Status: statusNotFound, Err: errors.New("there is no such file")}
	case err != nil:
		return &commandError{Command: path, Status: statusNotExecutable, Err: errors.Unwrap(err)}
	case stat.IsDir():
		return &commandError{Command: path, Status: statusNotExecutable, Err: errors.New("it is a folder")}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS); err != nil {
		return &commandError{Command: path, Status: statusNotExecutable, Err: err}
	}
	return nil
}

// command is the process to be recorded. It exists, with its pid, before the window opens, and executes nothing of
// its own until it is released.
type command struct {
	process *exec.Cmd
	name    string
	release *os.File      // one byte starts it; closing without one ends it
	failure *os.File      // the errno of a failed exec; closed by a successful one
	traced  chan struct{} // nil: not at first; closed when it is no more
	leave   sync.Once     // closes traced
	left    chan struct{} // closed by the exec, or when there will be none
	done    chan struct{}
	status  int
	err     error
}

// startCommand starts this program a second time, under waitingName, to wait at the barrier in the new process and
// then become the command: a Go program cannot stop between its fork and the exec. Besides the pid this leaves to
// os/exec what it handles: limits, signals, open files.
//
// A traced command is [recorder.watchCommand]'s until it is at its entry.
func startCommand(argv []string, stdout *os.File, traced bool) (*command, error) {
	path, err := lookUp(argv[0])
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the recorder's own program: %w", err)
	}
	barrier, release, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create a pipe: %w", err)
	}
	defer barrier.Close()
	failure, failureIn, err := os.Pipe()
	if err != nil {
		release.Close()
		return nil, fmt.Errorf("create a pipe: %w", err)
	}
	defer failureIn.Close()

	process := &exec.Cmd{
		Path:   self,
		Env:    append(os.Environ(), threadsVariable+"=1"),
		Stdin:  os.Stdin,
		Stdout: stdout,
		Stderr: os.Stderr,
	}
	process.Args = append([]string{waitingName, inherit(barrier), inherit(failureIn), os.Getenv(threadsVariable), path}, argv...)
	if err := process.Start(); err != nil {
		release.Close()
		failure.Close()
		return nil, fmt.Errorf("start a process for %s: %w", argv[0], err)
	}
	c := &command{process: process, name: argv[0], release: release, failure: failure, left: make(chan struct{}), done: make(chan struct{})}
	if traced {
		c.traced = make(chan struct{})
	}
	go c.wait()
	return c, nil
}

// inherit makes child processes inherit a file under its number here, which it returns. ExtraFiles would give it
// number 3, which the user may have opened for the command.
func inherit(f *os.File) string {
	fd := f.Fd()
	_, _ = unix.FcntlInt(fd, unix.F_SETFD, 0) // fails for closed descriptors only
	return strconv.FormatUint(uint64(fd), 10)
}

// PID is the command's process id, from before it runs.
func (c *command) PID() int { return c.process.Process.Pid }

// Release lets the command run.
func (c *command) Release() error {
	defer c.release.Close()
	if _, err := c.release.Write([]byte{1}); err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	return nil
}

// Cancel ends a command that was not released; it is harmless after Release.
func (c *command) Cancel() {
	c.release.Close()
	c.untraced()
}

// untraced is called when nothing traces the command any more.
func (c *command) untraced() {
	c.leave.Do(func() {
		if c.traced != nil {
			close(c.traced)
		}
	})
}

// HasExecuted reports whether the exec is over.
func (c *command) HasExecuted() bool {
	select {
	case <-c.left:
		return true
	default:
		return false
	}
}

// Done is closed when the command has ended.
func (c *command) Done() <-chan struct{} { return c.done }

// Signal passes a signal on.
func (c *command) Signal(s os.Signal) { _ = c.process.Process.Signal(s) }

// Status waits for the command's end: its exit status, 128 plus the signal if one killed it, as in shells; or why
// it did not run.
func (c *command) Status() (int, error) {
	<-c.done
	return c.status, c.err
}

func (c *command) wait() {
	defer close(c.done)
	var errno [1]byte
	n, _ := c.failure.Read(errno[:])
	c.failure.Close()
	close(c.left)
	if c.traced != nil {
		<-c.traced // whose stops would look like its end
	}
	// An exit status other than 0 is no error here: it is in the process state.
	_ = c.process.Wait()
	if n == 1 {
		c.status = statusNotExecutable
		if syscall.Errno(errno[0]) == syscall.ENOENT {
			c.status = statusNotFound
		}
		c.err = &commandError{Command: c.name, Status: c.status, Err: syscall.Errno(errno[0])}
		return
	}
	ended, _ := c.process.ProcessState.Sys().(syscall.WaitStatus)
	c.status = ended.ExitStatus()
	if ended.Signaled() {
		c.status = 128 + int(ended.Signal())
	}
}
