package perfetto

import (
	"math"
	"slices"

	"wprof/format"
)

// minSuspendNs is longer than the jitter of reading two clocks one after the other. CLOCK_BOOTTIME gains on
// CLOCK_MONOTONIC only while the machine is suspended.
const minSuspendNs = int64(1e6)

// clock turns CLOCK_MONOTONIC, the stream's, into CLOCK_BOOTTIME. The difference between the two is constant but for
// suspends, and where a suspend happened between two snapshots is not known: the difference changes at the second.
type clock struct {
	offset  int64 // BOOTTIME - MONOTONIC now
	until   int64 // the time from which offset no longer holds
	known   bool
	pending []*format.ClockSnapshot // later than the one that offset is from
	last    *format.ClockSnapshot   // the latest that was added
	past    []step                  // of which suspends there have been few
	wall    int64                   // the latest CLOCK_REALTIME that was written
}

// step is a difference that held until a time.
type step struct{ offset, until int64 }

func newClock() clock { return clock{until: math.MaxInt64} }

// add takes a snapshot and reports whether it is later than those before: snapshots of all sections are in order of time.
func (c *clock) add(s *format.ClockSnapshot) bool {
	if c.last != nil && (s.Monotonic <= c.last.Monotonic || s.Boottime <= c.last.Boottime) {
		return false
	}
	c.last = s
	if !c.known {
		c.offset, c.known = s.Boottime-s.Monotonic, true
		return true
	}
	c.pending = append(c.pending, s)
	c.until = c.pending[0].Monotonic
	return true
}

// shown returns a snapshot as it is written. Where the wall clock was set back, the engine takes all earlier times for
// the one at which that was noticed, so from then on they are written as if it had run on.
func (c *clock) shown(s *format.ClockSnapshot) *format.ClockSnapshot {
	if s.Realtime < c.wall {
		return &format.ClockSnapshot{Monotonic: s.Monotonic, Boottime: s.Boottime}
	}
	c.wall = s.Realtime
	return s
}

// boottime converts times that are nearly in order: a time before a suspend that has been passed gets the new difference.
func (c *clock) boottime(t int64) uint64 {
	if t >= c.until {
		c.advance(t)
	}
	return uint64(max(t+c.offset, 0))
}

func (c *clock) advance(t int64) {
	for len(c.pending) > 0 && c.pending[0].Monotonic <= t {
		s := c.pending[0]
		c.pending = c.pending[1:]
		if gained := s.Boottime - s.Monotonic - c.offset; gained >= minSuspendNs {
			c.past = append(c.past, step{c.offset, s.Monotonic})
			c.offset += gained
		}
	}
	c.until = math.MaxInt64
	if len(c.pending) > 0 {
		c.until = c.pending[0].Monotonic
	}
}

// earlier converts any time that is not in the future: a time before a suspend gets the difference of that time.
func (c *clock) earlier(t int64) uint64 {
	if n := len(c.past); n == 0 || t >= c.past[n-1].until {
		return c.boottime(t)
	}
	i, _ := slices.BinarySearchFunc(c.past, t, func(s step, t int64) int {
		if s.until <= t {
			return -1
		}
		return 1
	})
	return uint64(max(t+c.past[i].offset, 0))
}
