package syscalls

import (
	"slices"

	"wprof/internal/ringdata"
)

// Shapes returns what the kernel programs read of each call, by its number, in the two tables: enum rec_call_shape in bpf/syscall.h.
func Shapes(machine string) (shapes [abis][Numbers]uint16) {
	calls := ReadCalls()
	for abi, names := range [abis][]string{Names(machine), CompatNames(machine)} {
		for number := range Numbers {
			name := ""
			if number < len(names) {
				name = names[number]
			}
			shapes[abi][number] = calls.Of(name, abi > 0).shape()
		}
	}
	return shapes
}

// kept are the calls at whose end the registers, or the descriptor in them, are gone.
func kept() []string { return []string{"execve", "execveat", "rt_sigreturn", "sigreturn", "close"} }

func (c *Call) shape() uint16 {
	s := uint16(len(c.Args))
	for i, n := range c.FDs() {
		s |= uint16(n+1) << [...]int{ringdata.CallShapeFdShift, ringdata.CallShapeFd2Shift}[i]
	}
	for i, n := range c.Paths() {
		s |= uint16(n+1) << [...]int{ringdata.CallShapePathShift, ringdata.CallShapePath2Shift}[i]
	}
	if slices.Contains(kept(), c.Name) {
		s |= ringdata.CallShapeKept
	}
	return s
}
