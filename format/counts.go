package format

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Count is what one counter of [Session] counted: while a thread was on a CPU, up to a sample, or in a span.
type Count struct {
	Number uint64
	Known  bool
	Scaled bool // it counted for a part of the time, and Number is an estimate for all of it
}

const maxCount = 1<<62 - 1

// MaxCounters bounds the counters of a session that are read: events and metrics.
const MaxCounters = 64

// AppendCounts appends counts as the fields counts of events have them, in the order of the counters. Numbers are at most 2^62-1. It appends
// nothing if none is known.
func AppendCounts(b []byte, counts []Count) []byte {
	for len(counts) > 0 && !counts[len(counts)-1].Known {
		counts = counts[:len(counts)-1]
	}
	for _, c := range counts {
		word := uint64(0)
		if c.Known {
			word = 1 + min(c.Number, maxCount)<<1
			if c.Scaled {
				word++
			}
		}
		b = binary.AppendUvarint(b, word)
	}
	return b
}

// ReadCounts appends the counts of an event, at most [MaxCounters]. What is damaged ends them.
func ReadCounts(into []Count, data []byte) []Count {
	for len(data) > 0 && len(into) < MaxCounters {
		word, n := binary.Uvarint(data)
		if n <= 0 {
			break
		}
		data = data[n:]
		if word == 0 {
			into = append(into, Count{})
			continue
		}
		into = append(into, Count{Number: min((word-1)>>1, maxCount), Known: true, Scaled: (word-1)&1 != 0})
	}
	return into
}

// Counters are those of a session that are read.
type Counters struct {
	List   []*Counter
	scales []float64
}

// NewCounters returns the counters of a session.
func NewCounters(s *Session) *Counters {
	c := &Counters{List: s.Counters[:min(len(s.Counters), MaxCounters)]}
	for _, one := range c.List {
		scale, err := strconv.ParseFloat(one.GetScale(), 64)
		if err != nil || !(scale > 0) || math.IsInf(scale, 0) {
			scale = 1
		}
		c.scales = append(c.scales, scale)
	}
	return c
}

// IsMetric reports whether a counter is computed from others.
func (x *Counter) IsMetric() bool { return x.GetUnder() != 0 }

// IsNumber reports whether the value of a counter is what was counted: it is no metric, and has no scale.
func (c *Counters) IsNumber(i int) bool { return !c.List[i].IsMetric() && c.List[i].GetScale() == "" }

// AppendValues appends the value of each counter, by what a switch counted or a sum of that; NaN: it is not known. Of an event, it is the
// number times the event's scale.
func (c *Counters) AppendValues(into []float64, counts []Count) []float64 {
	return c.appendValues(into, func(i uint32) float64 {
		if uint64(i) >= uint64(len(counts)) || !counts[i].Known {
			return math.NaN()
		}
		return float64(counts[i].Number)
	})
}

// AppendShares is [Counters.AppendValues] of parts of counts, which need not be whole numbers; NaN: it is not known.
func (c *Counters) AppendShares(into, counts []float64) []float64 {
	return c.appendValues(into, func(i uint32) float64 {
		if uint64(i) >= uint64(len(counts)) {
			return math.NaN()
		}
		return counts[i]
	})
}

func (c *Counters) appendValues(into []float64, count func(i uint32) float64) []float64 {
	number := func(place uint32) float64 {
		if place == 0 || uint64(place) > uint64(len(c.List)) {
			return math.NaN()
		}
		return count(place-1) * c.scales[place-1]
	}
	for i, one := range c.List {
		v := number(uint32(i + 1))
		if one.IsMetric() {
			v = number(one.GetOver()) / number(one.GetUnder())
		}
		if math.IsInf(v, 0) { // divided by 0
			v = math.NaN()
		}
		into = append(into, v)
	}
	return into
}
