package stacks

import (
	"strings"

	"wprof/format"
)

// PythonView is how stacks are shown that have functions of Python.
type PythonView uint8

const (
	PythonCombined PythonView = iota // in place of the interpreter's loop, between native functions
	PythonOnly                       // without native functions; those of the kernel stay
	PythonHidden                     // the interpreter's loop instead

	// PythonRunning is added to one of these: without coroutines that await those that run.
	PythonRunning PythonView = 1 << 7
)

// Words of -e, and the flag that hides functions of Python, in all tools that show stacks.
const (
	pythonOnly     = "py-stacks-only"
	pythonCombined = "py-combine"
	pythonRunning  = "py-running"
	NoPython       = "no-py"

	// PythonUsage describes the words of -e, and NoPythonUsage the flag.
	PythonUsage   = pythonOnly + ": of the program's part of stacks that have functions of Python or Ruby, only these. " + pythonCombined + " (the default): functions of Python and Ruby in place of the interpreter's loop, with the native functions between them. " + pythonRunning + ": without coroutines of Python whose tasks await the running one."
	NoPythonUsage = "Show the interpreter's loop instead of functions of Python and Ruby, as in a recording with -f no-py-stacks,no-ruby-stacks."
)

// PythonWords are the words of -e.
func PythonWords() []string { return []string{pythonOnly, pythonCombined, pythonRunning} }

// PythonViewOf returns the view of lists of -e, in which later words replace earlier ones, and of the flag.
func PythonViewOf(lists []string, hidden bool) (v PythonView) {
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			switch word {
			case pythonOnly:
				v = v&PythonRunning | PythonOnly
			case pythonCombined, "no-" + pythonOnly:
				v = v & PythonRunning
			case pythonRunning:
				v |= PythonRunning
			case "no-" + pythonRunning:
				v &^= PythonRunning
			}
		}
	}
	if hidden {
		return PythonHidden
	}
	return v
}

// Definitions looks up frames and modules of the current section; nil: unknown.
type Definitions interface {
	Frame(id uint32) *format.Frame
	Module(id uint32) *format.Module
}

// Frames returns the frames of a stack in this view, and how many of them, which are the last ones, are the kernel's. In place of to, which it
// may use, it may return the stack's own.
func (v PythonView) Frames(to []uint32, s *format.Stack, defs Definitions) (frames []uint32, kernel int) {
	kernel = min(int(s.KernelFrames), len(s.Frames))
	if v == PythonCombined {
		return s.Frames, kernel
	}
	split := len(s.Frames) - kernel
	to = to[:0]
	base := v &^ PythonRunning
	for _, id := range s.Frames[:split] {
		f := defs.Frame(id)
		var m *format.Module
		if f != nil {
			m = defs.Module(f.Module)
		}
		isInterpreted := m.IsInterpreted()
		switch {
		case base != PythonHidden && v != base && m.IsAwaiting():
		case base == PythonCombined || isInterpreted == (base == PythonOnly):
			to = append(to, id)
		case isInterpreted && f.Loop != 0:
			to = append(to, f.Loop)
		}
	}
	if base == PythonOnly && len(to) == 0 {
		return s.Frames, kernel
	}
	return append(to, s.Frames[split:]...), kernel
}
