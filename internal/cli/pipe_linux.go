package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// widenPipe makes a pipe hold 1 MiB, the most that an unprivileged process may ask for: fewer switches between the
// tools of a pipeline. It is a help only.
func widenPipe(f *os.File) {
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, 1<<20)
}
