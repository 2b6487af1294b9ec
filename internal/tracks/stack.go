package tracks

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"

	"wprof/format"
	"wprof/internal/stacks"
)

// Key identifies a stack or a frame in all sections. Several objects may have the same key.
type Key struct{ Section, ID uint32 }

// Stack is a call stack.
type Stack struct {
	Key
	Def    *format.Stack // nil: its definition is missing
	Frames []*Frame      // outermost first, at most stacks.MaxFrames, from the first one in a known module on
	Kernel int           // number of kernel frames, which are the innermost
	Cut    bool          // outer frames are missing
	Own    any           // for the encoder

	placesKey string // result of places; "": not computed yet
}

// Frame is a place in the code.
type Frame struct {
	Key
	Def    *format.Frame  // nil: its definition is missing
	Module *format.Module // nil: not known
	Own    any            // for the encoder

	functions []string
}

// Functions returns the names of the function there and then of those inlined into it, as [stacks.FunctionName] makes them.
func (f *Frame) Functions() []string {
	if f.functions != nil {
		return f.functions
	}
	if f.Def == nil {
		f.functions = []string{stacks.LostFrame}
		return f.functions
	}
	for _, l := range slices.Backward(f.Lines()) {
		f.functions = append(f.functions, stacks.FunctionName(l.GetFunction(), f.Module))
	}
	return f.functions
}

// Lines returns the functions inlined there and, last, the function itself: at least one, which may have no name.
func (f *Frame) Lines() []*format.Line {
	if f.Def == nil || len(f.Def.Lines) == 0 {
		return []*format.Line{{}}
	}
	return f.Def.Lines[:min(len(f.Def.Lines), stacks.MaxInlined)]
}

// IsPython reports whether it is a function of Python.
func (f *Frame) IsPython() bool { return f.Module.IsPython() }

// IsRuby reports whether it is a method or block of Ruby.
func (f *Frame) IsRuby() bool { return f.Module.IsRuby() }

// Functions returns the names of all functions on the stack, outermost first.
func (s *Stack) Functions() []string {
	var all []string
	for name := range s.EachFunction() {
		all = append(all, name)
	}
	return all
}

// EachFunction yields the names of all functions on the stack, outermost first, and the frame that each is of; nil: of none.
func (s *Stack) EachFunction() iter.Seq2[string, *Frame] {
	return func(yield func(string, *Frame) bool) {
		if s.Def == nil {
			yield(stacks.LostFrame, nil)
			return
		}
		if s.Cut && !yield(stacks.CutFrame, nil) {
			return
		}
		for _, f := range s.Frames {
			for _, name := range f.Functions() {
				if !yield(name, f) {
					return
				}
			}
		}
	}
}

// isKnown reports whether there is a stack and its definition is not lost.
func (s *Stack) isKnown() bool { return s != nil && len(s.Frames) > 0 }

// isSame reports whether two stacks are the same frames. A stack without a definition is the same only within its section.
func (s *Stack) isSame(other *Stack) bool {
	if s.Section == other.Section || !s.isKnown() || !other.isKnown() {
		return s.Key == other.Key
	}
	return s.places() == other.places()
}

// places returns a key of the stack's frames that does not depend on ids, so that it is the same in all sections.
func (s *Stack) places() string {
	if s.placesKey != "" {
		return s.placesKey
	}
	h := sha256.New()
	fmt.Fprintln(h, s.Kernel, s.Def.Cut, len(s.Def.Frames))
	for _, f := range s.Frames {
		switch {
		case f.Def == nil:
			fmt.Fprintf(h, "%#v\n", f.Key)
		case f.Module == nil:
			fmt.Fprintln(h, f.Def.Offset)
		default:
			fmt.Fprintf(h, "%d %#v\n", f.Def.Offset, f.Module.Key())
		}
	}
	s.placesKey = "@" + string(h.Sum(nil))
	return s.placesKey
}

// maxShown bounds the bytes of the functions that an argument shows of a stack.
const maxShown = 16 << 10

// Shown returns the names of the functions on the stack as arguments show them: innermost first, and "…" for those beyond a bound.
func (s *Stack) Shown() []string {
	all := s.Functions()
	slices.Reverse(all)
	left := maxShown
	for i, name := range all {
		if left -= len(name); left < 0 {
			return append(all[:i], "…")
		}
	}
	return all
}

// BlockedIn returns the function that best describes what a thread with this stack waits for; "": there is none.
func (s *Stack) BlockedIn() string {
	var program, kernel []string
	user := len(s.Frames) - s.Kernel
	if user > 0 {
		program = s.Frames[user-1].Functions()
	}
	for _, f := range s.Frames[user:] {
		kernel = append(kernel, f.Functions()...)
	}
	return stacks.BlockedIn(program, kernel)
}
