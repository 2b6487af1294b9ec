package cli

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// renderingSpace is the address space that a tool needs beside what Go's runtime has taken by its start.
const renderingSpace = 256 << 20

// checkLimits finds limits under which Go's runtime would end the program later, with a trace.
func checkLimits() error {
	if err := checkFiles(); err != nil {
		return err
	}
	return CheckAddressSpace(renderingSpace)
}

// checkFiles opens a descriptor without package os, whose poller ends the program where it is refused one.
func checkFiles() error {
	fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.EINVAL) { // invalid: the limit is 0
		return Failf("open a file: this process may open no more; raise the limit (ulimit -n 1024)")
	}
	if err == nil {
		_ = unix.Close(fd)
	}
	return nil // the first use reports other errors
}

// CheckAddressSpace returns an error if the limit (ulimit -v) leaves less than a number of bytes.
func CheckAddressSpace(more uint64) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur == unix.RLIM_INFINITY {
		return nil
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return nil
	}
	if need := pages*uint64(os.Getpagesize()) + more; need > limit.Cur {
		return Failf("allocate memory: this process needs %d MiB of address space and is limited to %d MiB; raise the limit (ulimit -v unlimited)", need>>20, limit.Cur>>20)
	}
	return nil
}
