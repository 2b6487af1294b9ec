package spool

import (
	"os"
	"syscall"
	"testing"
)

// diskSpace is what a file takes on disk, holes left out.
func diskSpace(t *testing.T, file *os.File) int64 {
	t.Helper()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// cpuTime is what all threads of this process have used, in ns.
func cpuTime(tb testing.TB) int64 {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
