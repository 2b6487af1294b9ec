package filter

import (
	"cmp"
	"slices"
	"strings"

	"wprof/format"
)

// KindSet is the set of dropped kinds of events. The zero value keeps all.
type KindSet struct {
	dropped [format.MaxKind + 1]bool
}

// KindNames returns the kinds that can be selected. Losses are always kept, and states are selected with switches.
func KindNames() []string {
	var names []string
	for _, k := range format.Kinds() {
		if k.Kind != format.KindLost && k.Follows == 0 {
			names = append(names, k.Name)
		}
	}
	return names
}

// MakeKindSet keeps the kinds in keep, all if there are none, without those in drop. The names were checked before.
func MakeKindSet(keep, drop []string) KindSet {
	var s KindSet
	for _, k := range format.Kinds() {
		name := cmp.Or(k.Follows, k.Kind).String()
		s.dropped[k.Kind] = k.Kind != format.KindLost &&
			(len(keep) > 0 && !slices.Contains(keep, name) || slices.Contains(drop, name))
	}
	return s
}

// Has reports whether a kind is kept.
func (s *KindSet) Has(k format.Kind) bool { return k > format.MaxKind || !s.dropped[k] }

// Dropped are the names of the kinds that are dropped, separated by commas.
func (s *KindSet) Dropped() string {
	var names []string
	for _, k := range format.Kinds() {
		if s.dropped[k.Kind] {
			names = append(names, k.Name)
		}
	}
	return strings.Join(names, ",")
}
