package stacks

import (
	"slices"
	"strings"

	"wprof/format"
)

// BlockedName is what a time is called in which a thread could not run: by the function that [BlockedIn] finds, or, if that
// is "", by the state in which it left its CPU.
func BlockedName(in string, state format.State) string {
	if in == "" {
		return "blocked (" + state.String() + ")"
	}
	return "blocked: " + in
}

// BlockedIn is the function that tells best what a thread waits for, of the program's and the kernel's part of its stack,
// both outermost first, as [FunctionName] names them; "": there is none. It is the kernel's innermost one but for the
// scheduler's own, else, or if that has no name, the program's innermost. Functions further out wait for it, and for
// anything else.
func BlockedIn(program, kernel []string) string {
	for _, name := range slices.Backward(kernel) {
		switch {
		case isUnnamed(name) && len(program) > 0:
			return program[len(program)-1]
		case !IsScheduler(name):
			return name
		}
	}
	if len(program) == 0 {
		return ""
	}
	return program[len(program)-1]
}

// isUnnamed tells whether a name stands for those of a module that have none: see [ModuleName].
func isUnnamed(name string) bool { return strings.HasPrefix(name, "[") }
