package usercode

import (
	"errors"

	"wprof/internal/probe"
	"wprof/internal/symbol"
	"wprof/internal/unwind"
)

var errFrame = errors.New("the location of the function's stack frame is not known there")

// frame returns the canonical frame address at an address by the call frame information of the file or of its debug file.
func (f *File) frame(address uint64) (operand, error) {
	for _, file := range []*symbol.File{f.symbols, f.debugFile()} {
		if file == nil {
			continue
		}
		at, ok := unwind.FrameAt(file.ELF(), address)
		if !ok || at.Register >= uint64(len(f.machine.dwarf)) || f.machine.dwarf[at.Register] < 0 {
			continue
		}
		o := inRegister(Register{Offset: f.machine.dwarf[at.Register], Size: 8})
		o.add(at.Offset)
		if at.Load {
			o.steps = append(o.steps, probe.Step{Kind: probe.StepLoad, User: true, Size: 8})
			o.add(at.Add)
		}
		return o, nil
	}
	return operand{}, errFrame
}
