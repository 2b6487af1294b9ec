package waits

import (
	"slices"
	"testing"

	"wprof/internal/syscalls"
)

// TestCallsHaveTheirDescriptorFirst compares the two tables of system calls: what a thread waits for, and what the arguments are.
func TestCallsHaveTheirDescriptorFirst(t *testing.T) {
	all := syscalls.ReadCalls()
	for _, c := range calls() {
		signature := all[c.Name]
		switch {
		case c.Name == "io_uring_enter": // it may be a number of a ring that is registered
			continue
		case signature == nil:
			t.Errorf("the arguments of %s are not known", c.Name)
		case (c.Use&useFD != 0) != slices.Contains(signature.FDs(), 0) && c.Use != 0:
			t.Errorf("%s: is the first argument a descriptor?", c.Name)
		}
	}
}
