package capture

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These are what the runtime calls around its own waits. Around [unix.Ppoll] it calls another pair, for calls that may
// return at once: its monitor thread then leaves the caller its P (the scheduler's slot for running Go code), and wakes
// every 20 us to 2 ms for 10 ms until it takes that away. Two rounds a second made this more than half of what an idle
// recorder costs. The linker allows both names (https://go.dev/issue/67401).

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// ppoll is ppoll(2) without a signal mask. The runtime takes this thread's P away at once.
func ppoll(fds *[2]unix.PollFd, d time.Duration) (n int, err error) {
	timeout := unix.NsecToTimespec(d.Nanoseconds())
	r, errno := blockInPpoll(fds, &timeout)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

// sleep returns after d, or earlier if a file is ready (-1: none) or a signal arrives. It is for goroutines that are locked to their
// threads: see [wake].
func sleep(d time.Duration, fd int) {
	_, _ = ppoll(&[2]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: -1}}, d)
}

// The stack may not move between the two calls.
//
//go:nosplit
//go:norace
func blockInPpoll(fds *[2]unix.PollFd, timeout *unix.Timespec) (uintptr, syscall.Errno) {
	entersyscallblock()
	r, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(fds)), uintptr(len(fds)), uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
	exitsyscall()
	return r, errno
}
