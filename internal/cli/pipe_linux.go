package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// widenPipe makes a pipe hold 1 MiB, the most that an unprivileged process may set: fewer switches between the
// tools of a pipeline. Errors are ignored.
func widenPipe(f *os.File) {
	if fd, ok := descriptor(f); ok {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 1<<20)
	}
}
