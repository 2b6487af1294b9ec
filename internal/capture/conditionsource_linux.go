package capture

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
	"wprof/internal/syscalls"
)

// typeCondition is a condition on events of a type.
type typeCondition struct {
	*Condition
	names *nameMatch // nil: on all events of the type
	of    *recordNames
}

// nameMatch compares the names of spans with a glob. Records have numbers instead of names.
type nameMatch struct {
	glob    string
	calls   *syscalls.Selection // of spans that are system calls, those with a name that matches; nil: the spans are others
	at      int                 // offset of the number in the record
	numbers map[uint64]bool     // of names that match; of texts, as far as they have been defined
}

// maxMatchedTexts bounds the texts of a condition; kernel functions and interrupt handlers have fewer names.
const maxMatchedTexts = 1 << 14

// match reports whether the name of a record's span matches.
func (m *nameMatch) match(body []byte) bool {
	le := binary.LittleEndian
	switch {
	case m == nil:
		return true
	case m.calls != nil:
		if len(body) < ringdata.SyscallSize {
			return false
		}
		abi := 0
		if body[ringdata.SyscallFlags]&ringdata.CallFlag32bit != 0 {
			abi = 1
		}
		number := le.Uint16(body[ringdata.SyscallNumber:])
		return number < syscalls.Numbers && m.calls.Wanted[abi][number/64]>>(number%64)&1 != 0
	}
	return len(body) >= m.at+8 && m.numbers[le.Uint64(body[m.at:])]
}

// text compares a text when it is defined. Its number stays the same in all generations.
func (s *conditionSink) text(body []byte) {
	id := binary.LittleEndian.Uint64(body[ringdata.TextID:])
	text, _, _ := bytes.Cut(body[ringdata.TextText:][:ringdata.TextTextSize], []byte{0})
	for _, c := range s.texts {
		if len(c.names.numbers) < maxMatchedTexts && glob.Match(c.names.glob, text) {
			c.names.numbers[id] = true
		}
	}
}

// addSource finds the event types of the source that a condition names as wprof-filter --around does: by their group or name, and a glob of the
// names of types or spans.
func (c *conditions) addSource(one *Condition, cfg *Config) error {
	word, name, _ := strings.Cut(one.name, ":")
	if one.kind != onSlow || !slices.Contains(sources.SpanWords(), word) {
		also := ""
		if one.kind == onSlow {
			also = ", and no source has such spans: " + strings.Join(sources.SpanWords(), ", ") + " have"
		}
		return cli.Usagef("--snapshot-on %s: no probe has the id %s%s; -U defines probes%s", one.text, one.name, nearConditions(one, cfg), also)
	}
	if name == "" {
		name = "*"
	}
	var recorded, named bool
	feature := ""
	for _, t := range sources.Table() {
		if t.Def.Shape != uint32(format.TypeShape_SHAPE_SPAN) || string(t.Def.Group) != word && string(t.Def.Name) != word {
			continue
		}
		feature = t.Feature
		if !cfg.Kernel.Sources.Has(t.Number) {
			continue
		}
		recorded = true
		m, ok := newNameMatch(&t, name, cfg)
		if !ok {
			continue
		}
		named = true
		added := typeCondition{one, m, namesOfSource(&t, cfg.Kernel.Calls.Machine)}
		c.byType[t.Number] = append(c.byType[t.Number], added)
		if m != nil && m.calls == nil && len(m.numbers) == 0 {
			c.texts = append(c.texts, added)
		}
	}
	switch {
	case !recorded:
		return cli.Usagef("--snapshot-on %s: these events are not recorded: add -f %s", one.text, feature)
	case !named:
		return cli.Usagef("--snapshot-on %s: no span of %s that is recorded has such a name", one.text, word)
	}
	return nil
}

// nearConditions suggests what was intended by the name of a condition; "": nothing is near.
func nearConditions(one *Condition, cfg *Config) string {
	valid := []string{"crash", "loss"}
	if one.kind == onSlow {
		valid = sources.SpanWords()
	}
	for _, t := range cfg.ProbeTypes {
		if id := string(t.Def.Probe); !slices.Contains(valid, id) {
			valid = append(valid, id)
		}
	}
	near := cli.Nearest(one.name, valid)
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}

// newNameMatch compares the names of a type's spans with a glob; nil: all match. ok is false if none can match.
func newNameMatch(t *sources.Type, name string, cfg *Config) (m *nameMatch, ok bool) {
	if t.Number == ringdata.TypeSyscall {
		return callMatch(name, cfg)
	}
	if glob.Match(name, t.Def.Name) {
		return nil, true
	}
	m = &nameMatch{glob: name, at: ringdata.TypedValues, numbers: make(map[uint64]bool)}
	for _, f := range t.Def.Fields {
		if f.Hint != uint32(format.ValueHint_HINT_NAME) {
			m.at += 8 * sources.Words(f)
			continue
		}
		for _, n := range f.Names {
			if glob.Match(name, n.Name) {
				m.numbers[uint64(n.Number)] = true
			}
		}
		return m, f.Is(format.ValueType_VALUE_TEXT) || len(m.numbers) > 0
	}
	return nil, false
}

// callMatch is [newNameMatch] of system calls, which are known by their numbers.
func callMatch(name string, cfg *Config) (m *nameMatch, ok bool) {
	if name == "*" {
		return nil, true
	}
	calls, err := syscalls.Select(cfg.Kernel.Calls.Machine, []string{name})
	if err != nil {
		return nil, false
	}
	for abi := range calls.Wanted {
		for i, recorded := range cfg.Kernel.Calls.Selection.Wanted[abi] {
			calls.Wanted[abi][i] &= recorded
			ok = ok || calls.Wanted[abi][i] != 0
		}
	}
	return &nameMatch{calls: &calls}, ok
}
