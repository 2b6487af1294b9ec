//go:build unix

package cli

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// waitClosed waits until the reading end of a pipe or socket is gone; false when that cannot be found out.
func waitClosed(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	for {
		n, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR, err == nil && n == 0:
		case err != nil || fds[0].Revents&unix.POLLNVAL != 0:
			return false
		default:
			return fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		}
	}
}

// keepPipeErrors lets a write to a closed pipe fail instead of ending the process.
func keepPipeErrors() { signal.Ignore(unix.SIGPIPE) }
