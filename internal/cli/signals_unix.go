//go:build unix

package cli

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

func endingSignals() []os.Signal { return []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} }

// raise ends the process by a signal's default action, so that the shell sees what ended it.
func raise(sig os.Signal) {
	signal.Reset(sig)
	number := sig.(unix.Signal)
	_ = unix.Kill(unix.Getpid(), number)
	time.Sleep(time.Second)
	os.Exit(128 + int(number))
}

// raisePipe ends the process by SIGPIPE. Go's runtime swallows that signal except when a write to standard output
// meets a closed pipe, so that is what is done.
func raisePipe() {
	_, _ = os.Stdout.Write([]byte{0})
	os.Exit(128 + int(unix.SIGPIPE))
}
