package sideband

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain leaves room for the watcher's thread: Go code runs on so many threads at once, and the tests' own
// goroutines have the first ones.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	os.Exit(m.Run())
}

// realTime puts the thread that opens files before all others, as the recorder does.
func realTime() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
}
