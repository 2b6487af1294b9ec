//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// isClosed reports whether the program was started with a standard stream closed (>&-). Before main, Go's runtime opens the
// null device there, for reading and writing, so that no other file gets the number. A shell's > /dev/null opens it for
// writing only; programs that open it for both, such as daemon(3), mostly use it for several standard streams.
func isClosed(f *os.File) bool {
	fd, ok := descriptor(f)
	if !ok || fd > 2 || !isNull(fd) {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	for other := range 3 {
		if other != fd && sharesFlags(fd, other, flags) {
			return false
		}
	}
	return true
}

// isNull reports whether a descriptor is the null device's.
func isNull(fd int) bool {
	var null, opened unix.Stat_t
	return unix.Stat(os.DevNull, &null) == nil && unix.Fstat(fd, &opened) == nil && opened.Mode&unix.S_IFMT == unix.S_IFCHR &&
		opened.Rdev == null.Rdev
}

// sharesFlags reports whether two descriptors of the null device are one open file, which has one set of flags: O_APPEND,
// which has no effect there, is changed on one of them and read from the other.
func sharesFlags(fd, other, flags int) bool {
	if !isNull(other) {
		return false
	}
	before, err := unix.FcntlInt(uintptr(other), unix.F_GETFL, 0)
	if err != nil || before != flags {
		return false
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags^unix.O_APPEND); err != nil {
		return false
	}
	after, err := unix.FcntlInt(uintptr(other), unix.F_GETFL, 0)
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
	return err == nil && after != before
}
