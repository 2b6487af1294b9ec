// Package sources is the table of what the recorder's kernel programs record beside the scheduler: event types, each with the feature
// that switches it on, its fields and its programs. The recorder's flags, the programs that are loaded, the definitions in the
// stream and the documentation are made from it.
package sources

import (
	"iter"
	"slices"

	"wprof/format"
)

// Type is an event type that kernel programs write as records of kind typed: enum rec_type in bpf/records.h.
type Type struct {
	Number   uint32
	Feature  string // the word of -f
	Doc      string // what it shows; of a feature with several types only the first one has it
	Programs []Program
	Def      *format.EventType // without the id
	Counted  bool              // with --pmu, its spans have counts: the field [Counts] follows those of Def
}

// HasNoThread reports whether an event with a tid has no thread: 0 is the idle thread for those that belong to a CPU.
func (t *Type) HasNoThread(tid uint32) bool {
	return tid == 0 && t.Def.On == uint32(format.TypeTrack_TRACK_GLOBAL)
}

// Words is how many words the values of a record have.
func (t *Type) Words() (n int) {
	for _, f := range t.Def.Fields {
		n += Words(f)
	}
	return n
}

// Program is a kernel program. Types may share it.
type Program struct {
	Name      string // of the C function
	On        string // tracepoint; "": as the program
	Writes    bool   // it writes the type's records
	Optional  bool   // kernels that lack the tracepoint do without
	Instead   string // the program that does the same on kernels that lack the tracepoint; "": none
	AtClose   bool   // it has no tracepoint: it runs at the close of the window and writes what is open
	Skipped   bool   // what it is skipped for, because it is running on the CPU, is caused by kernel programs: no event is lost
	Second    string // it does what the program before it was skipped for, because that was running on the CPU; this variable counts what both were skipped for
	Preempted bool   // it is only needed on kernels that preempt threads in programs
	Event     Event  // it has no tracepoint: it runs for each such event of each CPU
}

// Event is a software event of perf_event_open(2), PERF_COUNT_SW_ and so on; 0: none.
type Event uint64

const (
	Faults      Event = 2
	FaultsMajor Event = 6
)

// Tracepoint returns the tracepoint to which the program is attached; "": none.
func (p *Program) Tracepoint() string {
	if p.AtClose || p.Event != 0 || p.On != "" {
		return p.On
	}
	return p.Name
}

// TakesStacks reports whether events of the types have stacks.
func (s Set) TakesStacks() bool {
	for t := range s.Types() {
		for _, f := range t.Def.Fields {
			if f.Is(format.ValueType_VALUE_STACK) {
				return true
			}
		}
	}
	return false
}

// FeatureOf returns the word of -f that needs a tracepoint; "": none does, or does without it.
func FeatureOf(tracepoint string) string {
	for _, t := range Table() {
		for _, p := range t.Programs {
			if p.Tracepoint() == tracepoint && !p.Optional && tracepoint != "" {
				return t.Feature
			}
		}
	}
	return ""
}

// pair are the programs at the begin and at the end of a span, which writes it.
func pair(names ...string) (all []Program) {
	for _, name := range names {
		all = append(all, Program{Name: name + "_entry"}, Program{Name: name + "_exit", Writes: true})
	}
	return all
}

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

// Tracepoints is the word of -f for tracepoints that users choose. They have no type in the table.
const Tracepoints = "tp"

// Probes is what user-defined probes are called where events are counted. They have no type in the table.
const Probes = "probe"

// Features returns the words that switch on the types of the set.
func (s Set) Features() (words []string) {
	for t := range s.Types() {
		if !slices.Contains(words, t.Feature) {
			words = append(words, t.Feature)
		}
	}
	return words
}

// SpanWords are the groups and names of the types of spans, in alphabetical order: the words for sources in conditions on durations.
func SpanWords() (all []string) {
	for _, t := range Table() {
		if t.Def.Shape != uint32(format.TypeShape_SHAPE_SPAN) {
			continue
		}
		for _, w := range []string{string(t.Def.Group), string(t.Def.Name)} {
			if w != "" && !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	slices.Sort(all)
	return all
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

// FeatureWords returns all words that -f takes for types.
func FeatureWords() (words []string) {
	words = All().Features()
	for _, t := range Table() {
		if group := string(t.Def.Group); !slices.Contains(words, group) {
			words = append(words, group)
		}
	}
	return words
}

// Table returns the types, in the order of their numbers.
func Table() []Type {
	return slices.Concat(
		interruptTypes(), []Type{callType()}, lockTypes(), blockTypes(), moveTypes(), signalTypes(), powerTypes(), memoryTypes(), faultTypes(), ringTypes(), networkTypes(), gpuTypes(), []Type{pythonType(), torchType()},
	)
}
