// Package sources is the table of what the recorder's kernel programs record beside the scheduler: event types, each with the feature
// that switches it on, its fields and its programs. The recorder's flags, the programs that are loaded, the definitions in the
// stream and the documentation are made from it.
package sources

import (
	"iter"
	"slices"

	"wprof/format"
	"wprof/internal/ringdata"
)

// Type is an event type that kernel programs write as records of kind typed: enum rec_type in bpf/records.h.
type Type struct {
	Number   uint32
	Feature  string // the word of -f
	Doc      string // what it shows
	Programs []string
	Def      *format.EventType // without the id
}

// Writer is the program that writes the records: the last one.
func (t *Type) Writer() string { return t.Programs[len(t.Programs)-1] }

// Set is a set of types by their numbers.
type Set uint64

// Has reports whether a type is in the set.
func (s Set) Has(number uint32) bool { return s>>number&1 != 0 }

// Types returns the types of the set, in the order of the table.
func (s Set) Types() iter.Seq[*Type] {
	return func(yield func(*Type) bool) {
		for _, t := range Table() {
			if s.Has(t.Number) && !yield(&t) {
				return
			}
		}
	}
}

// Features returns the words that switch on the types of the set.
func (s Set) Features() (words []string) {
	for t := range s.Types() {
		if !slices.Contains(words, t.Feature) {
			words = append(words, t.Feature)
		}
	}
	return words
}

// Of returns the types that a word of -f switches on: its own, or those of a group; 0: there are none.
func Of(feature string) (s Set) {
	for _, t := range Table() {
		if t.Feature == feature || string(t.Def.Group) == feature {
			s |= 1 << t.Number
		}
	}
	return s
}

// All returns all types.
func All() (s Set) {
	for _, t := range Table() {
		s |= 1 << t.Number
	}
	return s
}

// Words returns all words that -f takes for types.
func Words() []string { return append(All().Features(), interrupts) }

// interrupts is the group of all kinds of interrupts.
const interrupts = "irq"

// Table returns the types, in the order of their numbers.
func Table() []Type {
	return []Type{
		{
			Number: ringdata.TypeHardirq, Feature: "hardirq", Doc: "handlers of hard interrupts",
			Programs: []string{"irq_handler_entry", "irq_handler_exit"},
			Def: span("hardirq", "Interrupts",
				&format.TypeField{Name: []byte("handler"), Type: uint32(format.ValueType_VALUE_TEXT), Hint: uint32(format.ValueHint_HINT_NAME)},
				&format.TypeField{Name: []byte("irq"), Type: uint32(format.ValueType_VALUE_UINT)},
				&format.TypeField{Name: []byte("handled"), Type: uint32(format.ValueType_VALUE_BOOL)},
			),
		},
		{
			Number: ringdata.TypeSoftirq, Feature: "softirq", Doc: "soft interrupts",
			Programs: []string{"softirq_raise", "softirq_entry", "softirq_exit"},
			Def: span("softirq", "Interrupts",
				&format.TypeField{Name: []byte("vector"), Type: uint32(format.ValueType_VALUE_ENUM), Hint: uint32(format.ValueHint_HINT_NAME), Names: softirqs()},
				&format.TypeField{Name: []byte("delay"), Type: uint32(format.ValueType_VALUE_DURATION), Unit: []byte("ns")},
			),
		},
	}
}

// span is a type of spans on the tracks of CPUs.
func span(name, track string, fields ...*format.TypeField) *format.EventType {
	return &format.EventType{
		Name: []byte(name), Group: []byte(interrupts), Shape: uint32(format.TypeShape_SHAPE_SPAN), On: uint32(format.TypeTrack_TRACK_CPU),
		Track: []byte(track), Colour: []byte(name), Fields: fields,
	}
}

// softirqs names the vectors: the enum with HI_SOFTIRQ in include/linux/interrupt.h.
func softirqs() (names []*format.EnumName) {
	for i, name := range [...]string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"} {
		names = append(names, &format.EnumName{Number: int64(i), Name: []byte(name)})
	}
	return names
}
