package capture

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A boost raises the existing threads, but for those with a higher priority of their own, and restores their priorities.
func TestBoostRaisesThreadsOfLowerPriority(t *testing.T) {
	normal, err := unix.SchedGetAttr(os.Getpid(), 0)
	if err != nil || normal.Policy != unix.SCHED_NORMAL {
		t.Skipf("the test's own priority is not normal: %+v, %v", normal, err)
	}
	ordinary, stopOrdinary := startThread(func() {})
	defer stopOrdinary()
	chosen, stopChosen := startThread(func() { raisePriority(openPriority) })
	defer stopChosen()
	own := attrOf(t, chosen)
	if own.Policy != unix.SCHED_RR {
		t.Skip("this process may not have a real-time priority")
	}

	yielding, stopYielding := startThread(lowerPriority)
	defer stopYielding()
	low := attrOf(t, yielding)

	b := &booster{normal: *normal, ended: make(chan struct{})}
	b.raise()
	for _, tid := range []int{os.Getpid(), ordinary, yielding} {
		if a := attrOf(t, tid); a.Policy != unix.SCHED_RR || a.Priority != boostPriority {
			t.Errorf("thread %d while boosted: %+v, want SCHED_RR %d", tid, a, boostPriority)
		}
	}
	if a := attrOf(t, chosen); a != own {
		t.Errorf("a thread that has chosen its priority while boosted: %+v, want %+v", a, own)
	}
	b.End()
	b.raise() // the goroutine that boosts new threads may come late
	b.limit()
	for _, tid := range threadIDs() {
		if a := attrOf(t, tid); tid != chosen && b.isBoosted(&a) {
			t.Errorf("thread %d after the boost: %+v", tid, a)
		}
	}
	if a := attrOf(t, ordinary); a.Policy != normal.Policy || a.Nice != normal.Nice {
		t.Errorf("a thread after the boost: %+v, want %+v", a, *normal)
	}
	if a := attrOf(t, yielding); a != low {
		t.Errorf("a thread of low priority after the boost: %+v, want %+v", a, low)
	}
	if a := attrOf(t, chosen); a != own {
		t.Errorf("a thread that has chosen its priority after the boost: %+v, want %+v", a, own)
	}
}

// startThread starts a thread that does something and waits for stop. It is not the process's first one, which would
// outlive its goroutine.
func startThread(first func()) (tid int, stop func()) {
	started, end := make(chan int), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread()
			tid, stop := startThread(first)
			defer stop()
			started <- tid
		} else {
			first()
			started <- unix.Gettid()
		}
		<-end
	}()
	return <-started, func() { close(end) }
}

func attrOf(t *testing.T, tid int) unix.SchedAttr {
	t.Helper()
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return *attr
}
