package capture

import (
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/internal/proc"
)

const (
	// sweepEvery is the interval between sweeps, and from which age on spans are compared with the threads that live.
	sweepEvery = 5 * time.Second
	// maxThreadsRead bounds the threads that a sweep reads /proc for, which takes 20 us each: in the next one it is others.
	maxThreadsRead = 500
)

// spanSweep removes the spans of probes whose threads have ended in them from the kernel's table, which they would fill in the end. The kernel
// programs do not notice that a function will not return.
type spanSweep struct {
	tracer     *bpf.Tracer
	stop, done chan struct{}
}

// startSpanSweep returns nil if no probe has such spans, or if threads cannot be looked up by the kernel's ids.
func startSpanSweep(t *bpf.Tracer) *spanSweep {
	if !t.HasThreadSpans() || !proc.InitPIDNamespace() {
		return nil
	}
	s := &spanSweep{tracer: t, stop: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s
}

// end ends the sweeps.
func (s *spanSweep) end() {
	if s != nil {
		close(s.stop)
		<-s.done
	}
}

func (s *spanSweep) run() {
	defer close(s.done)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.sweep() != nil {
				return // the table is then what it would be without sweeps
			}
		case <-s.stop:
			return
		}
	}
}

func (s *spanSweep) sweep() error {
	spans, err := s.tracer.ThreadSpans(proc.Monotonic() - sweepEvery.Nanoseconds())
	if err != nil {
		return err
	}
	rand.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
	threads := make(map[uint32]*proc.Thread)
	for i := range spans {
		if !hasEndedIn(&spans[i], threads) {
			continue
		}
		if err := s.tracer.LeaveSpan(&spans[i]); err != nil {
			return err
		}
	}
	return nil
}

// hasEndedIn reports whether the thread of a span has ended. threads are those that were read.
func hasEndedIn(span *bpf.ThreadSpan, threads map[uint32]*proc.Thread) bool {
	if _, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(span.TID), 0, 0); errno == unix.ESRCH {
		return true
	}
	t, isRead := threads[span.TID]
	if !isRead {
		if len(threads) >= maxThreadsRead {
			return false
		}
		t, _ = proc.ReadThread(span.TID)
		threads[span.TID] = t
	}
	// The id may be that of a younger thread; start times are rounded down.
	return t != nil && (t.HasEnded() || t.Start > span.Start)
}
