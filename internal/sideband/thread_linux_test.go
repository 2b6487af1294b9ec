package sideband

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain leaves room for the watcher's thread: Go code runs on a limited number of threads at once, and the tests' own
// goroutines have the first ones.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	os.Exit(m.Run())
}

// realTime puts the thread that opens files before all others, as the recorder does.
func realTime() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
}

func TestBuffersOfManyCPUsAreBounded(t *testing.T) {
	for _, c := range []struct{ cpus, pageSize, want int }{
		{2, 4 << 10, 512 << 10},
		{128, 4 << 10, 512 << 10},
		{129, 4 << 10, 256 << 10},
		{256, 4 << 10, 256 << 10},
		{1024, 4 << 10, 64 << 10},
		{8192, 4 << 10, 32 << 10},
		{4, 64 << 10, 512 << 10},
		{8192, 64 << 10, 64 << 10},
	} {
		if got := bufferPages(c.cpus, c.pageSize) * c.pageSize; got != c.want {
			t.Errorf("%d CPUs with pages of %d bytes have buffers of %d bytes, want %d", c.cpus, c.pageSize, got, c.want)
		}
	}
}
