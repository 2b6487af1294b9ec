package filter

import (
	"maps"
	"slices"

	"wprof/format"
)

// addLoss adds a lost event of the section. The sums replace the recorder's counts if the end block with these was lost.
func (f *Filter) addLoss(e *format.Event) {
	if e.Lost().Cause() != format.CauseDamage { // the reader made that, not the recorder
		f.losses.AddEvent(e)
	}
}

// atLeast returns the recorder's sums, raised for causes of which the lost events have more.
func atLeast(losses format.LossCounts, sums []*format.Loss) []*format.Loss {
	short := map[uint32]uint64{}
	for _, l := range losses.List() {
		short[l.Cause] += l.Count
	}
	for _, s := range sums {
		short[s.Cause] -= min(short[s.Cause], s.Count)
	}
	for _, cause := range slices.Sorted(maps.Keys(short)) {
		if n := short[cause]; n > 0 {
			sums = append(sums, &format.Loss{Cpu: format.AllCPUs, Cause: cause, Count: n})
		}
	}
	return sums
}
