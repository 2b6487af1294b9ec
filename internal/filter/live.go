package filter

import (
	"io"
	"sync/atomic"
	"time"

	"wprof/format"
)

// flushEvery bounds how long an event of a live stream waits for others.
const flushEvery = 25 * time.Millisecond

// stoppable is an input that can end before its writer ends it.
type stoppable struct {
	*io.PipeReader
	w        *io.PipeWriter
	stopped  atomic.Bool
	isFinite bool
}

// Finite reports whether the input is known to end.
func (s *stoppable) Finite() bool { return s.isFinite }

func newStoppable(in io.Reader) *stoppable {
	r, w := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(w, onlyReader{in}, make([]byte, 256<<10))
		w.CloseWithError(err)
	}()
	return &stoppable{PipeReader: r, w: w, isFinite: format.IsFinite(in)}
}

// onlyReader hides other methods of a reader, which io.Copy would prefer over its buffer.
type onlyReader struct{ io.Reader }

func (s *stoppable) stop() {
	s.stopped.Store(true)
	s.w.Close()
}

// runLive writes events as they arrive, even while the reader waits for the next one. It ends one second after the
// range even if no event arrives by then.
func (f *Filter) runLive() error {
	if left, ok := f.untilDeadline(); ok {
		defer time.AfterFunc(left, f.input.stop).Stop()
	}
	tick := time.NewTicker(flushEvery)
	finished := make(chan struct{})
	flushed := make(chan struct{})
	defer func() {
		tick.Stop()
		close(finished)
		<-flushed
	}()
	go func() {
		defer close(flushed)
		for {
			select {
			case <-finished:
				return
			case <-tick.C:
				f.flush()
			}
		}
	}()
	for {
		e, err := f.r.Next()
		f.mu.Lock()
		end, err := f.step(e, err)
		f.mu.Unlock()
		if end {
			return err
		}
	}
}

// flush writes buffered events. If that fails, so does the next event.
func (f *Filter) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun && f.failed == nil {
		f.failed = f.w.Flush()
	}
}

// stop ends the range although no later event has arrived.
func (f *Filter) stop() error {
	if f.phase == before {
		if err := f.enterRange(false); err != nil {
			return err
		}
	}
	if f.phase != done {
		if err := f.leaveRange(); err != nil {
			return err
		}
	}
	return f.finish()
}

// untilDeadline returns the time until one second after the end of the range, by this machine's clock; false when there is
// none.
func (f *Filter) untilDeadline() (time.Duration, bool) {
	var last *format.ClockSnapshot
	for _, c := range f.first.Clocks {
		if c.Realtime != 0 {
			last = c
		}
	}
	if f.input == nil || last == nil {
		return 0, false
	}
	return time.Until(time.Unix(0, last.Realtime).Add(time.Duration(f.end - last.Monotonic + afterEnd))), true
}
