package tracks

import (
	"slices"

	"wprof/format"
	"wprof/internal/stacks"
)

// Key identifies a stack or a frame in all sections. The same one may come as several objects.
type Key struct{ Section, ID uint32 }

// Stack is a call stack.
type Stack struct {
	Key
	Def    *format.Stack // nil: its definition is missing
	Frames []*Frame      // outermost first, at most stacks.MaxFrames
	Kernel int           // number of innermost frames that are the kernel's
	Cut    bool          // there are more frames further out
	Own    any           // for the encoder
}

// Frame is a place in the code.
type Frame struct {
	Key
	Def    *format.Frame  // nil: its definition is missing
	Module *format.Module // nil: not known
	Own    any            // for the encoder

	functions []string
}

// Functions are the names of the function there and then of what is inlined into it, as [stacks.FunctionName] has them.
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

// Lines are the function there, last, and before it what is inlined into it: at least one, which may have no name.
func (f *Frame) Lines() []*format.Line {
	if f.Def == nil || len(f.Def.Lines) == 0 {
		return []*format.Line{{}}
	}
	return f.Def.Lines[:min(len(f.Def.Lines), stacks.MaxInlined)]
}

// Functions are the names of all functions on the stack, outermost first.
func (s *Stack) Functions() []string {
	if s.Def == nil {
		return []string{stacks.LostFrame}
	}
	var all []string
	if s.Cut {
		all = append(all, stacks.CutFrame)
	}
	for _, f := range s.Frames {
		all = append(all, f.Functions()...)
	}
	return all
}

// BlockedIn is the function that says best what a thread with this stack waits for; "": there is none.
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
