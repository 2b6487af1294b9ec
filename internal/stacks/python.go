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
)

// Words of -e, and the flag that hides functions of Python, in all tools that show stacks.
const (
	pythonOnly     = "py-stacks-only"
	pythonCombined = "py-combine"
	NoPython       = "no-py"

	// PythonUsage describes the words of -e, and NoPythonUsage the flag.
	PythonUsage   = pythonOnly + ": of the program's part of stacks that have functions of Python, only these. " + pythonCombined + " (the default): functions of Python in place of the interpreter's loop, with the native functions between them."
	NoPythonUsage = "Show the interpreter's loop instead of functions of Python, as in a recording with -f no-py-stacks."
)

// PythonWords are the words of -e.
func PythonWords() []string { return []string{pythonOnly, pythonCombined} }

// PythonViewOf returns the view of lists of -e, of which the last word counts, and of the flag.
func PythonViewOf(lists []string, hidden bool) (v PythonView) {
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			switch word {
			case pythonOnly:
				v = PythonOnly
			case pythonCombined, "no-" + pythonOnly:
				v = PythonCombined
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
	for _, id := range s.Frames[:split] {
		f := defs.Frame(id)
		isPython := f != nil && defs.Module(f.Module).IsPython()
		switch {
		case isPython == (v == PythonOnly):
			to = append(to, id)
		case isPython && f.Loop != 0:
			to = append(to, f.Loop)
		}
	}
	if v == PythonOnly && len(to) == 0 {
		return s.Frames, kernel
	}
	return append(to, s.Frames[split:]...), kernel
}
