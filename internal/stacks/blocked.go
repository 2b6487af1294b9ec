package stacks

import (
	"slices"
	"strings"

	"wprof/format"
)

// BlockedName returns the name of a time in which a thread was blocked: by the function that [BlockedIn] finds, or, if that
// is "", by the state in which it left its CPU.
func BlockedName(in string, state format.State) string {
	if in == "" {
		return "blocked (" + state.String() + ")"
	}
	return "blocked: " + in
}

// BlockedIn returns the function that best describes what a thread waits for, from the program's and the kernel's part of its stack,
// both outermost first, as [FunctionName] names them; "": there is none. It is the kernel's innermost one except the
// scheduler's own, or, if there is none or it has no name, the program's innermost. Outer functions wait for many different
// things.
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

// isUnnamed reports whether a name is the placeholder for a module's functions without names: see [ModuleName].
func isUnnamed(name string) bool { return strings.HasPrefix(name, "[") }
