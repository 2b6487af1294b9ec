package filter

import (
	"fmt"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/sources"
	"wprof/internal/syscalls"
	"wprof/internal/tracepoint"
)

// typeSet selects event types by globs on their names and groups.
type typeSet struct {
	keep, drop []string
	all        bool // every type is kept that is not in drop

	section int
	known   byid.Table[uint8] // of a section's types: kept or dropped
}

const (
	typeKept    = 1
	typeDropped = 2
)

// makeTypeSet returns the set for the words of -k and -K, of which those that name kinds are not for it; nil: all types are kept.
func makeTypeSet(keep, drop []string) *typeSet {
	s := &typeSet{keep: typeWords(keep), drop: typeWords(drop), all: len(keep) == 0 || kindsNamed(keep)[format.KindTyped]}
	if len(s.keep) == 0 && len(s.drop) == 0 || s.all && len(s.drop) == 0 {
		return nil
	}
	return s
}

// typeWords returns the words that name no kind.
func typeWords(words []string) (types []string) {
	names, schema := KindNames()
	for _, word := range words {
		if !slices.Contains(names, word) && !slices.Contains(schema, word) {
			types = append(types, word)
		}
	}
	return types
}

// isTypeWord reports whether a word of -k is a glob of event types, or the name or group of one that wprof-record has on any machine.
func isTypeWord(word string) bool {
	if strings.ContainsAny(word, ":*?") || word == tracepoint.Feature {
		return true
	}
	if slices.ContainsFunc(syscalls.Machines(), func(machine string) bool { return slices.Contains(syscalls.AllNames(machine), word) }) {
		return true
	}
	return slices.ContainsFunc(sources.Table(), func(t sources.Type) bool { return word == string(t.Def.Name) || word == string(t.Def.Group) })
}

// typeHint returns advice on a word of -k that names neither a kind nor a type that is known here.
func typeHint(word string) string {
	if names, _ := KindNames(); len(cli.Nearest(word, names)) > 0 {
		return ""
	}
	return fmt.Sprintf("if that is an event type of the capture, write '%s*'", word)
}

// has reports whether the events of a type are kept. The end of a span goes with its begin.
// section numbers that of the id; numbers of different sections differ.
func (s *typeSet) has(r definitions, section int, id uint32) bool {
	if section != s.section {
		s.section = section
		s.known.Clear()
	}
	known := s.known.Get(id)
	if known == 0 {
		known = typeDropped
		if s.selects(r, id) {
			known = typeKept
		}
		if id != 0 {
			s.known.Put(id, known)
		}
	}
	return known == typeKept
}

func (s *typeSet) selects(r definitions, id uint32) bool {
	t := r.EventType(id)
	if !t.IsLost() && t.Shape == uint32(format.TypeShape_SHAPE_END) {
		t = r.EventType(t.Ends)
	}
	if t.IsLost() {
		return s.all
	}
	return (s.all || matchesType(s.keep, t)) && !matchesType(s.drop, t)
}

func matchesType(globs []string, t *format.EventType) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, t.Name) || len(t.Group) > 0 && glob.Match(g, t.Group) })
}
