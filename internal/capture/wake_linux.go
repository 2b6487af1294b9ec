package capture

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// wake lets the reading thread sleep until some time, until a ring fills or until another goroutine calls it. It sleeps in
// ppoll(2) and not on a Go timer: a goroutine that is locked to its thread is woken by way of a second thread
// otherwise, and twice the switches are twice the disturbance.
type wake struct {
	fd    int
	rings int // an epoll of their edges: a ring with anything in it is always ready for poll(2)
}

func newWake(rings []int) (w *wake, err error) {
	made := &wake{fd: -1, rings: -1}
	w = made
	defer func() {
		if err != nil { // and w is nil
			_ = made.Close()
		}
	}()
	if w.fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("create an eventfd: %w", err)
	}
	if w.rings, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("create an epoll: %w", err)
	}
	for _, fd := range rings {
		if err := unix.EpollCtl(w.rings, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}); err != nil {
			return nil, fmt.Errorf("watch a ring: %w", err)
		}
	}
	return w, nil
}

// Call ends this or the next Sleep.
func (w *wake) Call() {
	one := [8]byte{1}
	// It can only fail when 2^64 calls are pending, and then the sleeper is awake anyway.
	_, _ = unix.Write(w.fd, one[:])
}

// Sleep returns after d, or earlier: with true if it was called, with false if a ring fills.
func (w *wake) Sleep(d time.Duration) (called bool, err error) {
	fds := [2]unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}, {Fd: int32(w.rings), Events: unix.POLLIN}}
	timeout := unix.NsecToTimespec(max(d, 0).Nanoseconds())
	n, err := unix.Ppoll(fds[:], &timeout, nil)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wait for the next round: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	if fds[1].Revents != 0 {
		w.takeEdges()
	}
	if fds[0].Revents == 0 {
		return false, nil
	}
	var count [8]byte
	_, _ = unix.Read(w.fd, count[:])
	return true, nil
}

// takeEdges lets the epoll be ready again only when another ring fills.
func (w *wake) takeEdges() {
	var edges [64]unix.EpollEvent
	for {
		n, err := unix.EpollWait(w.rings, edges[:], 0)
		if err != nil || n < len(edges) {
			return
		}
	}
}

func (w *wake) Close() error {
	var errs []error
	for _, fd := range []int{w.fd, w.rings} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}
