package pytrace

import (
	"cmp"
	"math/bits"
	"os"
	"slices"
	"strings"
	"time"

	"wprof/internal/proc"
)

// readTSC reads the CPU's time stamp counter, after all that stands before.
func readTSC() int64

// canUseTSC reports whether the kernel itself takes its clocks from the TSC, which is then the same on all CPUs and does not change its rate.
func canUseTSC() bool {
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && strings.TrimSpace(string(source)) == "tsc" && cpuHas("constant_tsc", "nonstop_tsc")
}

// cpuHas reports whether the first CPU has some flags.
func cpuHas(flags ...string) bool {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, has, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "flags" {
			all := strings.Fields(has)
			return !slices.ContainsFunc(flags, func(flag string) bool { return !slices.Contains(all, flag) })
		}
	}
	return false
}

// tickClock converts ticks of the TSC to CLOCK_MONOTONIC, by pairs of both that were read at one moment. The kernel changes the rate of its clock all
// the time, so pairs are read as often as calls are, and times between two of them are on the line from one to the other.
type tickClock struct {
	read  func() pair
	pairs []pair // in the order of both
	most  int
}

type pair struct {
	tsc, ns int64
	rate    uint64 // from the pair before on, ns for 2^32 ticks
}

// maxPairs are 11 minutes of a recording. Then every second one is dropped, and so the rate of what is older is known for longer times.
const maxPairs = 1 << 16

func newTickClock(read func() pair) *tickClock {
	c := &tickClock{read: read, most: maxPairs}
	c.pairs = append(c.pairs, read())
	return c
}

// pairTries is how often a pair is read. The tightest reading wins.
const pairTries = 8

func readPair() (best pair) {
	width := int64(-1)
	for range pairTries {
		before := readTSC()
		ns := proc.Monotonic()
		if w := readTSC() - before; width < 0 || w < width {
			width, best = w, pair{tsc: before + w/2, ns: ns}
		}
	}
	return best
}

// ticksPerSecond measures the TSC's rate: for limits, not for times.
func (c *tickClock) ticksPerSecond() uint64 {
	time.Sleep(2 * time.Millisecond)
	first, next := c.pairs[0], c.read()
	return uint64(float64(next.tsc-first.tsc) / float64(next.ns-first.ns) * 1e9)
}

// add reads a pair. What ended before is between two.
func (c *tickClock) add() {
	next, last := c.read(), &c.pairs[len(c.pairs)-1]
	switch {
	case next.tsc < last.tsc: // the machine was suspended, and the counter began anew
		c.pairs = append(c.pairs[:0], next)
		return
	case next.tsc == last.tsc || next.ns < last.ns:
		return
	}
	last.setRate(next)
	c.pairs = append(c.pairs, next)
	if len(c.pairs) >= c.most {
		c.thin()
	}
}

func (p *pair) setRate(next pair) {
	high, low := bits.Mul64(uint64(next.ns-p.ns), 1<<32)
	if ticks := uint64(next.tsc - p.tsc); high < ticks {
		p.rate, _ = bits.Div64(high, low, ticks)
	}
}

// thin drops every second pair but the newest ones.
func (c *tickClock) thin() {
	n, end := 0, len(c.pairs)-2
	for i := 0; i < end; i += 2 {
		c.pairs[n] = c.pairs[i]
		n++
	}
	n += copy(c.pairs[n:], c.pairs[end:])
	c.pairs = c.pairs[:n]
	for i := range n - 1 {
		c.pairs[i].setRate(c.pairs[i+1])
	}
}

// ns returns the time at a tick. It never goes back where ticks do not.
func (c *tickClock) ns(tsc int64) int64 {
	i := len(c.pairs) - 2
	if i < 0 {
		return c.pairs[0].ns
	}
	if tsc < c.pairs[i].tsc {
		at, found := slices.BinarySearchFunc(c.pairs, tsc, func(p pair, tsc int64) int { return cmp.Compare(p.tsc, tsc) })
		if !found {
			at--
		}
		i = max(at, 0)
	}
	p := &c.pairs[i]
	if tsc < p.tsc { // before all
		return p.ns
	}
	high, low := bits.Mul64(uint64(tsc-p.tsc), p.rate)
	if high>>31 != 0 { // no agent writes that
		return -1
	}
	return p.ns + int64(high<<32|low>>32)
}
