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
	types   *typeSet // of event types; nil: all are kept
}

// KindNames returns the kinds that can be selected, and the names that differ from these in the JSON schema. Losses are always kept,
// and states are selected with switches.
func KindNames() (names, schema []string) {
	for _, k := range format.Kinds() {
		if k.Kind == format.KindLost || k.Follows != 0 {
			continue
		}
		names = append(names, k.Name)
		if k.JSON != "" {
			schema = append(schema, k.JSON)
		}
	}
	return names, schema
}

// MakeKindSet keeps the kinds in keep, all if there are none, without those in drop. The names were checked before. What names no kind
// is a glob of event types.
func MakeKindSet(keep, drop []string) KindSet {
	var s KindSet
	kept, dropped := kindsNamed(keep), kindsNamed(drop)
	if len(typeWords(keep)) > 0 {
		kept[format.KindTyped] = true
	}
	s.types = makeTypeSet(keep, drop)
	for _, k := range format.Kinds() {
		by := cmp.Or(k.Follows, k.Kind)
		s.dropped[k.Kind] = k.Kind != format.KindLost && (len(keep) > 0 && !kept[by] || dropped[by])
	}
	return s
}

func kindsNamed(names []string) (kinds [format.MaxKind + 1]bool) {
	for _, k := range format.Kinds() {
		kinds[k.Kind] = slices.Contains(names, k.Name) || k.JSON != "" && slices.Contains(names, k.JSON)
	}
	return kinds
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
