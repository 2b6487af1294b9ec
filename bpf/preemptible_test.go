//go:build linux

package bpf

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
	"wprof/internal/sources"
	"wprof/internal/syscalls"
)

// Kernels that preempt threads in programs of tracepoints skip one of two programs, or none.
func TestCallsAreWrittenOnceByTwoPrograms(t *testing.T) {
	const rounds = 1000
	for name, o := range map[string]Options{
		"none is skipped":      {preemptible: true},
		"the first is skipped": {preemptible: true, skipsFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.Sources = sources.Of("syscall")
			o.Calls.Machine = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
			var err error
			o.Calls.Selection, err = syscalls.Select(o.Calls.Machine, []string{"getpgid"})
			must(t, err)
			tracer := mustLoad(t, o)
			var tid int
			records := recording(t, tracer, func() {
				tid = onThread(func() {
					for range rounds {
						_, _ = unix.Getpgid(1 << 30)
					}
				})
			})
			n := count(records, func(r record) bool {
				return r.kind() == ringdata.KindTyped && r.tid() == tid && r.u32(ringdata.SyscallNumber)&0xffff == unix.SYS_GETPGID
			})
			if n != rounds {
				t.Errorf("%d records of %d calls", n, rounds)
			}
			if o.skipsFirst {
				return
			}
			if lost := skippedRuns(t, tracer, "sys_exit"); lost != 0 {
				t.Errorf("%d calls are reported as lost", lost)
			}
		})
	}
}

// With everything on, as on kernels that preempt threads in programs of tracepoints.
func TestLoadsWherePreemptible(t *testing.T) {
	both := Stacks{true, true}
	tracer := mustLoad(t, Options{
		preemptible: true, Sources: sources.All(), OffCPU: OffCPU{Stacks: both}, Waker: both, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true},
	})
	if len(recording(t, tracer, func() { run(t, "true") })) == 0 {
		t.Error("nothing was recorded")
	}
}

// A wait for a lock is written once, also where the kernel skips the first of both programs of its begin and of its end.
func TestWaitsForLocksAreWrittenOnceByTwoPrograms(t *testing.T) {
	counts := map[bool]int{}
	for _, skips := range []bool{false, true} {
		tracer := mustLoad(t, Options{Sources: sources.Of("lock"), skipsFirst: skips})
		records := recording(t, tracer, contend)
		seen := map[[2]int64]bool{}
		for _, r := range records {
			if r.kind() != ringdata.KindTyped || r.u32(ringdata.TypedType) != ringdata.TypeLock {
				continue
			}
			key := [2]int64{r.u64(ringdata.TypedStart), r.u64(ringdata.TypedValues + 8)}
			if seen[key] {
				t.Errorf("a wait for the lock %#x is written twice", key[1])
			}
			seen[key] = true
		}
		counts[skips] = len(seen)
	}
	if counts[false] == 0 || counts[true] == 0 {
		t.Errorf("%d waits, and %d where the first programs are skipped", counts[false], counts[true])
	}
}

// contend changes the mappings of this process from several threads at once.
func contend() {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err == nil {
					_ = unix.Munmap(b)
				}
			}
		})
	}
	all.Wait()
}
