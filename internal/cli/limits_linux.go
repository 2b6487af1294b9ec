package cli

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// runtimeSpace is the address space of the program and of Go's runtime when it has started, 1,240 MiB, rounded up. The runtime
// reserves 512 MiB of them for an index (scavengeIndex.sysInit in runtime/mpagealloc_64bit.go) and does not check whether that
// failed: under a lower limit it continues with an index for which no memory is reserved. So the address space that a process
// has does not show how much it needs.
const runtimeSpace = 1280 << 20

const (
	// threadSpace is the address space of a thread of the C library: its stack, 8 MiB, and an arena of malloc, 64 MiB.
	threadSpace = 72 << 20
	// otherThreads is the number of threads that run no goroutine: the runtime's own, and those that wait in system calls.
	otherThreads = 8
)

// checkLimits returns an error for limits under which Go's runtime would end the program later, with a stack trace.
func (t Tool) checkLimits() error {
	if err := checkFiles(); err != nil || t.OwnSpace {
		return err
	}
	more := uint64(RenderingSpace)
	if t.CThreads && builtWithC {
		more += uint64(runtime.GOMAXPROCS(0)+otherThreads) * threadSpace
	}
	return CheckAddressSpace(more)
}

// checkFiles opens a descriptor without package os, whose poller ends the program where it gets none.
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

// CheckAddressSpace returns an error if the limit (ulimit -v) is less than what Go's runtime takes and a number of bytes.
func CheckAddressSpace(more uint64) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil {
		return nil
	}
	if need := runtimeSpace + more; limit.Cur < need { // no limit is the largest number
		return Failf("allocate memory: this process needs %d MiB of address space and is limited to %d MiB; raise the limit (ulimit -v %d)",
			need>>20, limit.Cur>>20, need>>10)
	}
	return nil
}
