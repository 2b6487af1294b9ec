//go:build unix

package cli

import (
	"errors"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

const brokenPipe = unix.SIGPIPE

// watcher polls the writing end of a pipe or socket.
type watcher struct {
	fd         int
	wakeR      *os.File
	wakeW      *os.File
	done       chan struct{} // closed when nothing polls any more
	stopSignal sync.Once
}

// newWatcher returns nil if the file cannot be watched.
func newWatcher(f *os.File) *watcher {
	fd, ok := descriptor(f)
	if !ok {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	return &watcher{fd: fd, wakeR: r, wakeW: w, done: make(chan struct{})}
}

// wait returns true when the reading end is closed, false once stopped.
func (w *watcher) wait() bool {
	defer w.wakeR.Close()
	wake, ok := descriptor(w.wakeR)
	if !ok {
		return false
	}
	// Linux always reports both conditions; Darwin checks a descriptor only if some event is requested.
	const closed = unix.POLLERR | unix.POLLHUP
	for {
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: closed}, {Fd: int32(wake), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil, fds[1].Revents != 0, fds[0].Revents&unix.POLLNVAL != 0:
			return false
		case fds[0].Revents&closed != 0:
			return true
		}
	}
}

// stop returns when the descriptor may be closed: a poll under way would keep the pipe open, and its reader would wait for
// its end.
func (w *watcher) stop() {
	w.stopSignal.Do(func() { w.wakeW.Close() })
	<-w.done
}

// catchPipeSignal lets a write to a closed pipe fail instead of ending the process before it has cleaned up. Ignoring the
// signal would do that too, but a command that the tool starts would inherit it.
func catchPipeSignal() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

func isBrokenPipe(err error) bool { return errors.Is(err, unix.EPIPE) }

// descriptor is a file's number. Unlike Fd it leaves the file's blocking mode alone.
func descriptor(f *os.File) (int, bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	number := -1
	if err := raw.Control(func(fd uintptr) { number = int(fd) }); err != nil {
		return 0, false
	}
	return number, true
}
