package usercode

import (
	"debug/elf"
	"fmt"

	"wprof/internal/probe"
)

// Lang is a language as far as it passes arguments in a way of its own.
type Lang uint8

const (
	C  Lang = iota // and all languages that use the platform's convention
	Go             // ABIInternal
)

// maxArguments bounds the index of an argument.
const maxArguments = 64

// Argument returns how to read an argument of a function that is not described by DWARF, as a number of 8 bytes: by its index at the
// function's entry, or one of its results at its return. Only integers and pointers count.
func Argument(m elf.Machine, index int, lang Lang, atReturn bool) (probe.Read, error) {
	machine := machineOf(m)
	switch {
	case machine == nil:
		return probe.Read{}, fmt.Errorf("arguments of programs for %v are not known", m)
	case index < 0 || index >= maxArguments:
		return probe.Read{}, fmt.Errorf("there is no argument %d: the last one is %d", index, maxArguments-1)
	}
	convention := &machine.c
	if lang == Go {
		convention = &machine.golang
	}
	registers := convention.arguments
	if atReturn {
		registers = convention.results
	}
	switch {
	case index < len(registers):
		return registerRead(registers[index], 8, false), nil
	case atReturn:
		return probe.Read{}, fmt.Errorf("results are in %d registers, of which the last one is %d", len(registers), len(registers)-1)
	case lang == Go:
		return probe.Read{}, fmt.Errorf("arguments 0 to %d of Go functions are in registers: where others are depends on their types",
			len(registers)-1)
	}
	read := registerRead(machine.sp, 8, false)
	return loaded(read, int64(machine.returned+8*(index-len(registers))), 8, false), nil
}

// registerRead reads a number of some bytes in a register.
func registerRead(offset, size int, signed bool) probe.Read {
	return probe.Read{
		From: probe.From{Kind: probe.FromRegister, Register: offset, Size: size, Signed: signed},
		Leaf: probe.Leaf{Kind: probe.LeafNumber, Size: size, Signed: signed},
	}
}

// loaded reads a number in memory at a distance from the address that another plan reads.
func loaded(read probe.Read, distance int64, size int, signed bool) probe.Read {
	if distance != 0 {
		read.Steps = append(read.Steps, probe.Step{Kind: probe.StepAdd, Number: distance})
	}
	read.Steps = append(read.Steps, probe.Step{Kind: probe.StepLoad, User: true, Size: size, Signed: signed})
	read.Leaf = probe.Leaf{Kind: probe.LeafNumber, Size: size, Signed: signed}
	return read
}

// numberType returns the type of an integer.
func numberType(size int, signed bool) probe.Type {
	for _, row := range probe.Types() {
		if row.Size == size && row.Signed == signed && !row.Float {
			return row.Type
		}
	}
	return probe.TypeAuto
}
