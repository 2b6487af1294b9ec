package perfetto

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/tracks"
)

// counterRow adds up what counters counted on a CPU or in a process, by intervals of [rateNs], until nothing is added to an interval any more.
//
// A long time on a CPU has counts in the intervals in which it begins and ends, and a constant level in those between. So it takes no more memory
// than a short one, and no more values of a track.
type counterRow struct {
	item    tracks.Item    // a value of it, without time, name and number
	begins  int64          // its first counts: a process has no row in Perfetto before its fork, so nothing is drawn earlier
	ran     int64          // ns
	known   uint8          // by counter: it has counts
	waiting []rateInterval // by number
	drawn   int64          // number of the first interval that is not drawn
	level   counterValues  // of the intervals from drawn on, up to the first that waits
	levels  int            // times on a CPU that are in level
	shown   []float64      // values that were drawn last
	isBusy  bool           // it is in [counterTracks].busy
}

// counterValues are numbers by counter.
type counterValues [maxRates]float64

// rateInterval is an interval in which counts change.
type rateInterval struct {
	number int64
	counts counterValues // in this interval alone
	steps  counterValues // what the level changes by at this interval
	levels int           // times on a CPU of which the level begins here, less those of which it ends
}

const (
	// maxRates bounds the events that are drawn: the recorder has no more.
	maxRates = 8
	// rateNs is the time over which rates are averaged.
	rateNs = int64(10e6)
	// minRateNs is the CPU time from which on a process has a row.
	minRateNs = rateNs
	// maxUndrawn bounds the intervals of a process that wait until it has a row, and maxWaiting those of a row.
	maxUndrawn = 16
	maxWaiting = 1 << 12
)

// interval returns the waiting interval with a number, which may be a new one.
func (r *counterRow) interval(number int64) *rateInterval {
	at, found := slices.BinarySearchFunc(r.waiting, number, func(i rateInterval, n int64) int { return cmp.Compare(i.number, n) })
	if !found {
		r.waiting = slices.Insert(r.waiting, at, rateInterval{number: number})
	}
	return &r.waiting[at]
}

// add spreads counts evenly over the time in which they were counted. What belongs to intervals that are drawn is added to those after them.
func (r *counterRow) add(from, to int64, counts []format.Count) {
	from = max(from, r.drawn*rateNs)
	to = max(to, from)
	first, last, length := from/rateNs, to/rateNs, float64(to-from)
	if last > first && to%rateNs == 0 {
		last-- // nothing is in the interval that begins there
	}
	share := func(n int64) float64 {
		if length == 0 {
			return 1
		}
		return float64(min(to, (n+1)*rateNs)-max(from, n*rateNs)) / length
	}
	for i, c := range counts[:min(len(counts), maxRates)] {
		if !c.Known {
			continue
		}
		r.known |= 1 << i
		r.interval(first).counts[i] += share(first) * float64(c.Number)
		if last == first {
			continue
		}
		r.interval(last).counts[i] += share(last) * float64(c.Number)
		if last > first+1 {
			step := share(first+1) * float64(c.Number)
			r.interval(first + 1).steps[i] += step
			r.interval(last).steps[i] -= step
		}
	}
	if last > first+1 {
		r.interval(first+1).levels++
		r.interval(last).levels--
	}
}

// draw calls value with the counts of the intervals before the one with the number end: for each that may differ from that before it.
func (r *counterRow) draw(end int64, value func(number int64, counts *counterValues)) {
	n := 0
	for ; n < len(r.waiting) && r.waiting[n].number < end; n++ {
		i := &r.waiting[n]
		if i.number > r.drawn {
			value(r.drawn, &r.level)
		}
		r.levels += i.levels
		sum := i.counts
		for c := range r.level {
			if r.level[c] += i.steps[c]; r.levels == 0 {
				r.level[c] = 0 // without rounding errors
			}
			sum[c] += r.level[c]
		}
		value(i.number, &sum)
		r.drawn = i.number + 1
	}
	r.waiting = slices.Delete(r.waiting, 0, n)
	if r.drawn < end {
		value(r.drawn, &r.level)
		r.drawn = end
	}
}

// merge adds the oldest waiting intervals to the ones after them until at most most are left.
func (r *counterRow) merge(most int) {
	n := max(len(r.waiting)-most, 0)
	for i := range n {
		from, to := &r.waiting[i], &r.waiting[i+1]
		for c := range to.counts {
			to.counts[c] += from.counts[c] + from.steps[c]*float64(to.number-from.number)
			to.steps[c] += from.steps[c]
		}
		to.levels += from.levels
	}
	r.waiting = slices.Delete(r.waiting, 0, n)
}
