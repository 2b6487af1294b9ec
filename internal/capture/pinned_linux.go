package capture

import (
	"bytes"
	"sync/atomic"
	"time"

	"wprof/internal/proc"
	"wprof/internal/spool"
)

// pinned is a window of a flight recorder that is to be written while it goes on recording.
type pinned struct {
	pin        *spool.Pin
	closed     int64
	generation uint32 // the first one that is kept
}

// pinning passes windows from the draining thread to the goroutine that writes them.
type pinning struct {
	due    atomic.Int64 // the window is pinned when all records up to then are in the spool, CLOCK_MONOTONIC ns; 0: none is to be pinned
	closed atomic.Int64 // end of that window, which may be earlier
	rounds int          // that were not whole since then
	taken  chan pinned  // one element
	done   chan *spool.Pin
}

// maxPartRounds bounds the wait for a round in which no record was still being written.
const maxPartRounds = 20

func newPinning() pinning {
	return pinning{taken: make(chan pinned, 1), done: make(chan *spool.Pin, 2)}
}

// next waits for the next window to write. None follows when ended is closed and all that were pinned have been returned.
func (p *pinning) next(ended <-chan struct{}) (w pinned, found bool) {
	select {
	case w = <-p.taken:
		return w, true
	case <-ended:
	}
	select {
	case w = <-p.taken:
		return w, true
	default:
		return w, false
	}
}

// untilDue shortens a wait, so that a round follows when a window is to be pinned.
func (f *flight) untilDue(wait time.Duration) time.Duration {
	if f == nil {
		return wait
	}
	if due := f.pinning.due.Load(); due != 0 {
		wait = min(wait, max(time.Duration(due-proc.Monotonic()), 0)+time.Millisecond)
	}
	return wait
}

// pinDue pins the window if that is due; whole: the last round has moved everything. There is room in the channel, because no window
// becomes due before the last one was taken.
func (f *flight) pinDue(w *spool.Writer, whole bool) {
	if f == nil {
		return
	}
	for {
		select {
		case pin := <-f.pinning.done:
			w.Unpin(pin)
			continue
		default:
		}
		break
	}
	due := f.pinning.due.Load()
	if due == 0 || f.round < due {
		return
	}
	if f.pinning.rounds++; !whole && f.pinning.rounds < maxPartRounds {
		return
	}
	f.pinning.rounds = 0
	f.pinning.due.Store(0)
	f.pinning.taken <- pinned{pin: w.Pin(), closed: f.pinning.closed.Load(), generation: w.Oldest()}
}

// endWindow ends the window of a snapshot now. The kernel programs list what is under way in the rings, and go on recording; the window is pinned
// when that list has been drained.
func (r *recorder) endWindow() error {
	r.flight.listing.Lock()
	closed := proc.Monotonic()
	err := r.tracer.WriteOpen(closed, true)
	r.flight.listing.Unlock()
	r.flight.pinning.closed.Store(closed)
	r.flight.pinning.due.Store(proc.Monotonic())
	r.wake.Call()
	return err
}

// window is a pinned window with what is in no ring.
type window struct {
	pinned
	blocked []byte // stacks of the threads that were blocked at its end
	tail    spool.Tail
}

// windowOf adds to a pinned window what is in no ring, as it is now.
func (r *recorder) windowOf(p pinned) (*window, error) {
	var blocked bytes.Buffer
	if r.listsBlocked() {
		r.flight.listing.Lock()
		err := r.tracer.ReadBlocked(&blocked, p.closed)
		r.flight.listing.Unlock()
		if err != nil {
			return nil, err
		}
	}
	clocks, err := proc.ReadClocks()
	if err != nil {
		return nil, err
	}
	w := &window{pinned: p, blocked: blocked.Bytes(), tail: spool.Tail{Close: p.closed, Clocks: clocks}}
	if now, err := r.tracer.Programs(); err == nil {
		before := r.flight.programsBefore(p.generation)
		if len(before) != len(now) {
			before = r.before
		}
		w.tail.Programs = counted(programCosts(before, now))
		w.tail.Losses = skipped(w.tail.Programs, r.openedAt)
	}
	return w, nil
}
