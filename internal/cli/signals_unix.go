//go:build unix

package cli

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// endingSignals leaves out SIGHUP where it is ignored already, because then nohup(1) set that. SIGINT is always
// taken: a script's shell starts "tool &" with it ignored, and the script's kill -INT must still stop a recording.
func endingSignals() []os.Signal {
	all := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT}
	if !signal.Ignored(unix.SIGHUP) {
		all = append(all, unix.SIGHUP)
	}
	return all
}

// isQuit reports whether a signal ends every tool at once.
func isQuit(sig os.Signal) bool { return sig == unix.SIGQUIT }

// raise ends the process by a signal's default action, so that its status shows the signal.
func raise(sig os.Signal) {
	number := sig.(unix.Signal)
	if number == unix.SIGQUIT {
		// Reset would restore Go's own action, which prints the stacks of all goroutines.
		os.Exit(128 + int(number))
	}
	signal.Reset(sig)
	if number == unix.SIGPIPE {
		writeToBrokenPipe()
	}
	_ = unix.Kill(unix.Getpid(), number)
	// The signal ends the process at once, unless it was ignored when the process began: Reset restores that.
	time.Sleep(100 * time.Millisecond)
	os.Exit(128 + int(number))
}

// writeToBrokenPipe ends the process by SIGPIPE. Go's runtime ignores a SIGPIPE that is sent, and takes the default action only
// when a write to descriptor 1 or 2 fails; the output need not be one of them, so descriptor 1 is made a broken pipe.
func writeToBrokenPipe() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	r.Close()
	if dup(int(w.Fd()), 1) == nil {
		_, _ = os.NewFile(1, "broken pipe").Write([]byte{0})
	}
}
