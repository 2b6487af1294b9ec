package filter

import (
	"cmp"
	"maps"
	"slices"

	"wprof/format"
)

// losses are the sums of a section's lost events. They replace the recorder's counts if the end block with these
// was lost.
type losses map[lossKey]uint64

type lossKey struct {
	cpu, kind, cause uint32
	of               string // name of an event type, or of its group; "": not known
}

// maxLosses bounds the number of different losses that are counted separately.
const maxLosses = 4096

func (l *losses) add(e *format.Event) {
	lost := e.Lost()
	if lost.Cause() == format.CauseDamage {
		return // the reader made it, not the recorder
	}
	if *l == nil {
		*l = make(losses)
	}
	key := lossKey{e.CPU, uint32(lost.What()), uint32(lost.Cause()), string(lost.TypeName())}
	if _, ok := (*l)[key]; !ok && len(*l) >= maxLosses {
		key = lossKey{cpu: format.AllCPUs, cause: uint32(lost.Cause()) % 256}
	}
	(*l)[key] = format.Sum((*l)[key], lost.Count())
}

func (l losses) list() []*format.Loss {
	keys := slices.SortedFunc(maps.Keys(l), func(a, b lossKey) int {
		return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.kind, b.kind), cmp.Compare(a.of, b.of), cmp.Compare(a.cpu, b.cpu))
	})
	var list []*format.Loss
	for _, key := range keys {
		list = append(list, &format.Loss{Cpu: key.cpu, Kind: key.kind, Cause: key.cause, Count: l[key], Type: []byte(key.of)})
	}
	return list
}

// atLeast returns the recorder's sums, raised for causes of which the lost events have more.
func (l losses) atLeast(sums []*format.Loss) []*format.Loss {
	short := map[uint32]uint64{}
	for key, n := range l {
		short[key.cause] += n
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
