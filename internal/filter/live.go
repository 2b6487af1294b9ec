package filter

import (
	"errors"
	"sync"
	"time"

	"wprof/format"
)

// flushEvery bounds how long an event of a live stream waits for others.
const flushEvery = 25 * time.Millisecond

// runLive passes events on while they are made, also when the next one keeps the reader waiting. One second after the
// range it ends even if no event says that it has passed.
func (f *Filter) runLive() error {
	var mu sync.Mutex
	finished := make(chan error, 1)
	stopped := false
	go func() {
		for {
			e, err := f.r.Next()
			mu.Lock()
			if stopped {
				mu.Unlock()
				return
			}
			end, err := f.step(e, err)
			mu.Unlock()
			if end {
				finished <- err
				return
			}
		}
	}()
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	deadline := f.deadline()
	for {
		select {
		case err := <-finished:
			return err
		case <-deadline:
			mu.Lock()
			defer mu.Unlock()
			stopped = true
			return f.stop()
		case <-tick.C:
			mu.Lock()
			var err error
			if f.begun {
				err = errors.Join(f.defineClocks(), f.w.Flush())
			}
			stopped = err != nil
			mu.Unlock()
			if err != nil {
				return err
			}
		}
	}
}

// stop ends the range without an event that says that it has passed.
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

// deadline is one second after the end of the range by this machine's clock; nil when that cannot be known.
func (f *Filter) deadline() <-chan time.Time {
	var last *format.ClockSnapshot
	for _, c := range f.first.Clocks {
		if c.Realtime != 0 {
			last = c
		}
	}
	if !f.o.End.set || last == nil {
		return nil
	}
	at := time.Unix(0, last.Realtime).Add(time.Duration(f.end - last.Monotonic + afterEnd))
	return time.After(time.Until(at))
}
