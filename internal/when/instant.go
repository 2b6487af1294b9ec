package when

import (
	"time"

	"wprof/format"
)

// Instant is when something is to happen. The zero value is as soon as possible.
type Instant struct {
	ns     int64 // of CLOCK_REALTIME, or of CLOCK_BOOTTIME
	onBoot bool
	every  int64 // ns; 0: it is no multiple of a period
	set    bool
}

// IsSet reports whether it is a certain instant, and not as soon as possible.
func (i Instant) IsSet() bool { return i.set }

// Wall returns CLOCK_REALTIME at the instant, in ns, if it is given by the time of day.
func (i Instant) Wall() (ns int64, ok bool) { return i.ns, i.set && !i.onBoot }

// Left returns how long it is until the instant; negative: it is past. Settings of the time of day and suspensions change that: clocks are
// a reading of now.
func (i Instant) Left(clocks *format.ClockSnapshot) time.Duration {
	if i.onBoot {
		return time.Duration(i.ns - clocks.Boottime)
	}
	return time.Duration(i.ns - clocks.Realtime)
}

// Monotonic returns CLOCK_MONOTONIC at the instant, if no clock is set and the machine is not suspended before it.
func (i Instant) Monotonic(clocks *format.ClockSnapshot) int64 {
	return clocks.Monotonic + int64(i.Left(clocks))
}

// Next returns the first multiple of the period that is at least so far away; any other instant as it is.
func (i Instant) Next(clocks *format.ClockSnapshot, least time.Duration) Instant {
	if i.every == 0 {
		return i
	}
	from := clocks.Realtime + int64(least)
	i.ns = from / i.every * i.every
	if i.ns < from {
		i.ns += i.every
	}
	return i
}
