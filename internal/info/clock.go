package info

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"wprof/format"
)

// leastJump distinguishes a suspend, or a clock that was set, from the jitter of reading clocks one after the other. The wall
// clock may also be slewed, by at most 1 part in 1,000 (adjtimex(2), 500 ppm and as much of the tick).
const leastJump = int64(1e6)

// jumps are the differences between clocks from snapshot to snapshot.
type jumps struct {
	suspended int64 // CLOCK_BOOTTIME ran and CLOCK_MONOTONIC did not, ns
	set       int64 // how far the wall clock was set forward, ns; back, if negative
}

func (r *Recording) jumps() (j jumps) {
	clocks := slices.Clone(r.Clocks)
	slices.SortStableFunc(clocks, func(a, b *format.ClockSnapshot) int { return cmp.Compare(a.Monotonic, b.Monotonic) })
	var boot, real *format.ClockSnapshot // the last ones with these clocks
	for _, c := range clocks {
		if c.Boottime != 0 {
			if boot != nil {
				if d := c.Boottime - boot.Boottime - (c.Monotonic - boot.Monotonic); d >= leastJump {
					j.suspended = format.Sum(j.suspended, d)
				}
			}
			boot = c
		}
		if c.Realtime == 0 || c.Boottime == 0 {
			continue
		}
		if real != nil {
			ran := c.Boottime - real.Boottime
			if d := c.Realtime - real.Realtime - ran; max(d, -d) >= leastJump+ran/1000 {
				j.set = format.Sum(j.set, d)
			}
		}
		real = c
	}
	return j
}

func (r *Recording) printJumps(w io.Writer) {
	j := r.jumps()
	if j.suspended > 0 {
		fact(w, "suspended", "%v, not included in the times here", time.Duration(j.suspended).Round(time.Millisecond))
	}
	if j.set != 0 {
		direction := "forward"
		if j.set < 0 {
			direction = "back"
		}
		fact(w, "clock set", "%s", fmt.Sprintf("%v %s: times of day before that are by the old setting", time.Duration(max(j.set, -j.set)).Round(time.Millisecond), direction))
	}
}
