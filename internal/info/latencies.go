package info

import (
	"fmt"
	"math"
	"math/bits"

	"wprof/internal/histogram"
)

// latencies counts durations by size: exact up to steps, beyond that with an error below 1%, in bounded memory.
type latencies struct {
	count   uint64
	longest int64
	buckets [64 - stepBits]*[steps]uint64 // by power of two
}

const (
	stepBits = 6
	steps    = 1 << stepBits // of each power of two
)

func (l *latencies) add(ns int64) {
	ns = max(0, ns)
	l.count++
	l.longest = max(l.longest, ns)
	power := max(0, bits.Len64(uint64(ns))-stepBits-1)
	step := ns >> power
	if step >= steps {
		power, step = power+1, step-steps
	}
	if l.buckets[power] == nil {
		l.buckets[power] = new([steps]uint64)
	}
	l.buckets[power][step]++
}

// low is the least duration of a step.
func low(power, step int) int64 {
	if power == 0 {
		return int64(step)
	}
	return int64(step+steps) << (power - 1)
}

// quantile returns the duration that a share q of all does not exceed.
func (l *latencies) quantile(q float64) int64 {
	rank := uint64(max(1, math.Ceil(q*float64(l.count)))) - 1
	for power, bucket := range l.buckets {
		for step := range steps {
			if bucket == nil || bucket[step] == 0 {
				continue
			}
			if rank < bucket[step] {
				from := low(power, step)
				return min(l.longest, from+int64(1)<<max(0, power-1)/2)
			}
			rank -= bucket[step]
		}
	}
	return l.longest
}

// counts returns how many durations there were by power of two.
func (l *latencies) counts() *histogram.Counts {
	var c histogram.Counts
	for power, bucket := range l.buckets {
		for step := range steps {
			if bucket != nil {
				c.Add(histogram.Of(low(power, step)), bucket[step])
			}
		}
	}
	return &c
}

// brief writes a duration with three digits.
func brief(ns int64) string {
	for _, unit := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		switch v := float64(ns) / unit.ns; {
		case v >= 99.95:
			return fmt.Sprintf("%.0f %s", v, unit.name)
		case v >= 9.995:
			return fmt.Sprintf("%.1f %s", v, unit.name)
		case v >= 0.9995:
			return fmt.Sprintf("%.2f %s", v, unit.name)
		}
	}
	return fmt.Sprintf("%d ns", ns)
}
