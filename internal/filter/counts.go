package filter

import (
	"math"

	"wprof/format"
)

// countedCPUs know which counts of an event begin before the range: those on a CPU that has not switched in it.
type countedCPUs struct {
	isCut    bool
	from     int64
	switched map[uint32]bool
}

// maxCountedCPUs bounds what a damaged input takes. The recorder has 16 bits for CPUs.
const maxCountedCPUs = 1 << 16

// cut begins a range within a window.
func (c *countedCPUs) cut(from int64) {
	*c = countedCPUs{isCut: from != math.MinInt64, from: from, switched: make(map[uint32]bool)}
}

// note takes an event after it was written: the next counts of its CPU begin at a switch.
func (c *countedCPUs) note(e *format.Event) {
	if c.isCut && e.Kind == format.KindSwitch && ownTime(e) >= c.from && len(c.switched) < maxCountedCPUs {
		c.switched[e.CPU] = true
	}
}

// sees reports whether the counts of an event begin within the range.
func (c *countedCPUs) sees(e *format.Event) bool {
	if start, isSpan := e.Start(); isSpan && c.isCut {
		return start >= c.from
	}
	return !c.isCut || c.switched[e.CPU]
}

// ownTime is when an event happened, which is before its place among the others if it is late.
func ownTime(e *format.Event) int64 {
	if e.Flags&format.FlagLate != 0 {
		return e.Own
	}
	return e.Time
}

// hideCounts removes the counts of switches and samples that are those of a hidden thread, or begin before the range.
func (f *Filter) hideCounts(e *format.Event) {
	switch e.Kind {
	case format.KindSwitch:
		if e.Flags&format.FlagSubject == 0 || !f.counting.sees(e) {
			e.Flags &^= format.SwitchHasCounts
		}
	case format.KindSample:
		if !f.counting.sees(e) {
			e.Flags &^= format.SampleHasCounts
		}
	}
}
