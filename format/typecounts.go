package format

import (
	"cmp"
	"slices"
	"strings"
)

// MaxTypeCounts bounds End.types.
const MaxTypeCounts = 1024

// TypeCounts are numbers of events by event type. Types with the same name and group are one.
type TypeCounts map[typeKey]uint64

type typeKey struct{ name, group string }

// CountTypes sums the number of events of each id. typeOf returns the type of an id; what is lost is not counted.
func CountTypes(events map[uint32]uint64, typeOf func(id uint32) *EventType) TypeCounts {
	counts := TypeCounts{}
	for id, n := range events {
		if t := typeOf(id); !t.IsLost() {
			counts.add(typeKey{string(t.Name), string(t.Group)}, n)
		}
	}
	return counts
}

func (c TypeCounts) add(k typeKey, n uint64) { c[k] = Sum(c[k], n) }

// Add adds the counts of an end block, except for types that are new where there are very many.
func (c TypeCounts) Add(more []*TypeCount) {
	for _, t := range more {
		k := typeKey{string(t.Name), string(t.Group)}
		if _, known := c[k]; known || len(c) < 4*MaxTypeCounts {
			c.add(k, t.Events)
		}
	}
}

// List is what End.types holds: the types with the most events first, [MaxTypeCounts] at most.
func (c TypeCounts) List() []*TypeCount {
	all := make([]*TypeCount, 0, len(c))
	for k, n := range c {
		all = append(all, &TypeCount{Name: []byte(k.name), Group: []byte(k.group), Events: n})
	}
	slices.SortFunc(all, func(a, b *TypeCount) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), strings.Compare(string(a.Name), string(b.Name)), strings.Compare(string(a.Group), string(b.Group)))
	})
	return all[:min(len(all), MaxTypeCounts)]
}
