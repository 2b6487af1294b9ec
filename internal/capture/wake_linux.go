package capture

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
)

// wake lets the reading thread sleep until some time, until a ring fills or until another goroutine calls it. It sleeps in
// ppoll(2) and not on a Go timer, which wakes a goroutine that is locked to its thread by way of a second thread: twice
// the switches disturb the machine twice as much.
type wake struct {
	fd      int
	wakeups *bpf.Wakeups
}

func newWake(wakeups *bpf.Wakeups) (*wake, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("create an eventfd: %w", err)
	}
	return &wake{fd, wakeups}, nil
}

// Call ends this or the next Sleep.
func (w *wake) Call() {
	one := [8]byte{1}
	// It can only fail when 2^64 calls are pending, and then the thread is being woken anyway.
	_, _ = unix.Write(w.fd, one[:])
}

// Sleep returns after d, or earlier: with true if it was called, with false if a ring fills.
func (w *wake) Sleep(d time.Duration) (called bool, err error) {
	w.wakeups.Take() // the rings have just been read
	fds := [2]unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}, {Fd: int32(w.wakeups.FD()), Events: unix.POLLIN}}
	n, err := ppoll(&fds, max(d, 0))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wait for the next round: %w", err)
	}
	if n == 0 || fds[0].Revents == 0 {
		return false, nil
	}
	var count [8]byte
	_, _ = unix.Read(w.fd, count[:])
	return true, nil
}

func (w *wake) Close() error { return unix.Close(w.fd) }
