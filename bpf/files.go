//go:build linux

package bpf

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// filesBesides are those of programs, links and maps, of what the library opens to find out what the kernel can, and of
// everything else that this process opens before it raises its limit further.
const filesBesides = 128

// filesPerCPU are a ring, the timer that samples, and while a ring is made two more.
const filesPerCPU = 4

// checkFiles lets this process open as many files as the programs need. Where the limit is reached, the library takes
// its own trials for something that the kernel lacks.
func (o *Options) checkFiles() error {
	need := uint64(filesBesides + filesPerCPU*o.Rings)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read how many files this process may open: %w", err)
	}
	if limit.Cur >= need {
		return nil
	}
	if limit.Max < need {
		return unsupported(unix.EMFILE, "recording needs %d open files, and this process may have %d: raise the limit with ulimit -n %d",
			need, limit.Max, need)
	}
	limit.Cur = need
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("let this process open %d files: %w", need, err)
	}
	return nil
}
