//go:build linux

package loss

import (
	"slices"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// where is what losses are counted by.
type where struct {
	cpu  uint32
	kind format.Kind
}

// lost is a loss event.
type lost struct {
	where
	cause    format.Cause
	of       string // name of the event type; "": none
	count    uint64
	from, at int64 // CLOCK_MONOTONIC ns
	open     bool
}

// leaving is a switch away from a thread.
type leaving struct {
	tid int32
	at  int64
}

// capture is what these tests need of a stream.
type capture struct {
	path    string
	session *format.Session
	handled map[where]uint64
	losses  []lost
	leaves  []leaving
	inEnds  map[where]uint64 // as end blocks have it
	last    map[uint32]int64 // by CPU: the time of the last event that the kernel reported
	behind  int              // losses in whose time the same CPU has events
}

func read(t *testing.T, path string) *capture {
	t.Helper()
	c := &capture{path: path, handled: map[where]uint64{}, inEnds: map[where]uint64{}, last: map[uint32]int64{}}
	tools.WalkFile(t, path, c.take, func(r *format.Reader) {
		c.session = r.Session()
		r.OnSectionEnd(func(end *format.End) {
			for _, l := range end.Losses {
				c.inEnds[where{l.Cpu, format.Kind(l.Kind)}] += l.Count
			}
		})
	})
	return c
}

func (c *capture) take(r *format.Reader, e *format.Event) {
	switch e.Kind {
	case format.KindLost:
		l := e.Lost()
		if l.Cause() == format.CauseRing && c.last[e.CPU] > l.From() {
			c.behind++
		}
		of, _ := l.Type()
		c.losses = append(c.losses, lost{where{e.CPU, l.What()}, l.Cause(), string(of), l.Count(), l.From(), e.Time, e.Flags&format.FlagOpen != 0})
		return
	case format.KindStateCPU, format.KindStateThread:
		c.handled[where{e.CPU, e.Kind}]++
		return
	case format.KindSwitch:
		c.leaves = append(c.leaves, leaving{r.Task(e.Task).GetTid(), e.Time})
	}
	c.handled[where{e.CPU, e.Kind}]++
	c.last[e.CPU] = e.Time
}

// sums are the loss events added up.
func (c *capture) sums() map[where]uint64 {
	sums := map[where]uint64{}
	for _, l := range c.losses {
		sums[l.where] += l.count
	}
	return sums
}

// total is how often a kind is there, and was lost, on all CPUs.
func (c *capture) total(kind format.Kind) (handled, lost uint64) {
	for at, n := range c.handled {
		if at.kind == kind {
			handled += n
		}
	}
	for at, n := range c.sums() {
		if at.kind == kind {
			lost += n
		}
	}
	return handled, lost
}

// skipped reports whether programs were not run because they were running on that CPU already. Linux 7.2 lets threads preempt
// the program for a rename, and these rename too; the kernel does not report on which CPU.
func (c *capture) skipped(kind format.Kind) bool {
	return slices.ContainsFunc(c.losses, func(l lost) bool { return l.kind == kind && l.cause == format.CauseRecursion })
}

// left is the number of switches from a thread in a time.
func (c *capture) left(tid int32, from, to int64) (n int64) {
	for _, l := range c.leaves {
		if l.tid == tid && l.at > from && l.at <= to {
			n++
		}
	}
	return n
}
