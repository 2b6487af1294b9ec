package capture

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"wprof/internal/cli"
	"wprof/internal/pytrace"
	"wprof/internal/sideband"
)

// waitingName is the argv[0] by which this program detects that it is the process of a command that waits for its
// start. The words after it are the descriptors of the two pipes to the recorder, the value of threadsVariable to restore, the
// path of the command, and its argv.
const waitingName = sideband.WaitingName

// threadsVariable keeps the waiting process from starting threads: in a recording of the whole machine they would end with the exec.
const threadsVariable = "GOMAXPROCS"

// RunWaitingCommand returns at once, unless this process was started to become a recorded command: then it waits for
// its start, becomes the command and never returns. The same holds for the process that attaches to a process of Python. A main function
// calls it first.
func RunWaitingCommand() {
	pytrace.RunHelper()
	if len(os.Args) < 6 || os.Args[0] != waitingName {
		return
	}
	runtime.LockOSThread() // the first one: if another one called exec, the command's thread would have two ids
	barrier, failure := descriptor(os.Args[1]), descriptor(os.Args[2])
	if !passBarrier(barrier) {
		os.Exit(statusOwnFailure)
	}
	threads, path, argv := os.Args[3], os.Args[4], os.Args[5:]
	err := cli.AsUser(func() error { return become(path, argv, commandEnvironment(os.Environ(), threads)) })
	errno := syscall.EINVAL
	errors.As(err, &errno)
	_, _ = syscall.Write(failure, []byte{byte(errno)})
	os.Exit(statusNotExecutable)
}

// descriptor parses the number of an inherited descriptor, which the command does not inherit.
func descriptor(number string) int {
	fd, err := strconv.Atoi(number)
	if err != nil {
		os.Exit(statusOwnFailure)
	}
	syscall.CloseOnExec(fd)
	return fd
}

// become returns only if the command cannot be executed.
func become(path string, argv, environ []string) error {
	err := syscall.Exec(path, argv, environ)
	if errors.Is(err, syscall.ENOEXEC) {
		// A script without #!: execvp(3), and so env(1), gives it to the shell.
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, argv[1:]...), environ)
	}
	return err
}

// passBarrier waits for the start. It returns false when the recorder has ended or given up.
func passBarrier(barrier int) bool {
	var start [1]byte
	for {
		n, err := syscall.Read(barrier, start[:])
		if !errors.Is(err, syscall.EINTR) {
			return n == 1
		}
	}
}

// commandEnvironment returns the environment without the variable for the waiting process.
func commandEnvironment(environ []string, threads string) []string {
	environ = slices.DeleteFunc(environ, func(variable string) bool {
		return strings.HasPrefix(variable, threadsVariable+"=")
	})
	if threads != "" {
		environ = append(environ, threadsVariable+"="+threads)
	}
	return environ
}
