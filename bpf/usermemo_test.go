//go:build linux && amd64

package bpf

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
	"wprof/internal/unwind"
)

// Every user stack that is taken from memory is walked as well, in programs that wait in many places and change their mappings.
func TestRememberedUserStacksAreThoseOfAWalk(t *testing.T) {
	tracer := mustLoad(t, Options{RingBytes: 64 << 20, OffCPU: OffCPU{Stacks: Stacks{User: true}}, Unwind: Unwinding{Tables: true}, checkStacks: true})
	for _, name := range []string{"/proc/self/exe", "/bin/sh", "/bin/cat", "/bin/sleep", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"} {
		addTable(t, tracer, name)
	}
	records := recording(t, tracer, func() { waitInAllPlaces(t, round) })
	stacks := count(records, func(r record) bool { return r.is(ringdata.KindReturn) && r.returnUser() != 0 })
	var c stackChecks
	must(t, tracer.collection.Variables["stack_checks"].Get(&c))
	t.Logf("%d user stacks, %d of them remembered, %d wrong", stacks, c.UserRemembered, c.UserRememberedWrong)
	// Other threads may write to a stack between the comparison and the walk.
	if float64(c.UserRememberedWrong) > 1e-4*float64(c.UserRemembered) {
		t.Errorf("%d of %d are wrong", c.UserRememberedWrong, c.UserRemembered)
	}
	if stacks < 1000 || int(c.UserRemembered) < stacks/4 {
		t.Errorf("of %d user stacks %d were remembered: too few to compare", stacks, c.UserRemembered)
	}
}

// addTable makes the unwind table of a file.
func addTable(t *testing.T, tracer *Tracer, name string) {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	var stat unix.Stat_t
	must(t, unix.Fstat(int(f.Fd()), &stat))
	table, err := unwind.Build(f, stat.Size)
	must(t, err)
	_, err = tracer.UnwindTables().Add(unwindFileOf(&stat), table, Interpreter{}, true)
	must(t, err)
}

func unwindFileOf(st *unix.Stat_t) UnwindFile {
	device := unix.Major(st.Dev)<<20 | unix.Minor(st.Dev) // MKDEV() in include/linux/kdev_t.h
	return UnwindFile{Inode: st.Ino, Changed: uint64(st.Ctim.Nano()), Device: device}
}
