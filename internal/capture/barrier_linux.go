package capture

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"

	"wprof/internal/cli"
)

// waitingName is the argv[0] by which this program knows that it is the process of a command that waits for its
// start. The words after it are the value of threadsVariable to restore, the path of the command, and its argv.
const waitingName = "wprof-record: waiting to run"

// threadsVariable keeps the waiting process from starting threads: they would be part of the recording, because they
// end with the exec.
const threadsVariable = "GOMAXPROCS"

const (
	barrierFD = 3
	failureFD = 4
)

// RunWaitingCommand returns at once, unless this process was started to become a recorded command: then it waits for
// its start, becomes the command and never returns. A main function calls it first.
func RunWaitingCommand() {
	if len(os.Args) < 4 || os.Args[0] != waitingName {
		return
	}
	syscall.CloseOnExec(barrierFD)
	syscall.CloseOnExec(failureFD)
	if !passBarrier() {
		os.Exit(StatusOwnFailure)
	}
	threads, path, argv := os.Args[1], os.Args[2], os.Args[3:]
	err := cli.AsUser(func() error { return become(path, argv, commandEnvironment(os.Environ(), threads)) })
	errno := syscall.EINVAL
	errors.As(err, &errno)
	_, _ = syscall.Write(failureFD, []byte{byte(errno)})
	os.Exit(StatusNotExecutable)
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

// passBarrier is false when the recorder is gone or has given up.
func passBarrier() bool {
	var start [1]byte
	for {
		n, err := syscall.Read(barrierFD, start[:])
		if !errors.Is(err, syscall.EINTR) {
			return n == 1
		}
	}
}

// commandEnvironment is the environment without what the waiting needed.
func commandEnvironment(environ []string, threads string) []string {
	environ = slices.DeleteFunc(environ, func(variable string) bool {
		return strings.HasPrefix(variable, threadsVariable+"=")
	})
	if threads != "" {
		environ = append(environ, threadsVariable+"="+threads)
	}
	return environ
}
