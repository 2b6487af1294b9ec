package usercode

import "debug/elf"

// Instruction returns the offset in a function of the last instruction that begins at an offset or before it. A probe within an
// instruction would make it another one. Where code cannot be disassembled, the result is the offset.
func (f *File) Instruction(fn *Function, offset uint64) uint64 {
	if f.elf.Machine == elf.EM_AARCH64 {
		return offset &^ 3
	}
	if fn.Size > maxFunctionBytes || offset >= fn.Size {
		return offset
	}
	code := make([]byte, fn.Size+maxInstruction)
	r, _ := f.symbols.Reader()
	if n, _ := r.ReadAt(code[:fn.Size], int64(fn.Offset)); uint64(n) < fn.Size {
		return offset
	}
	at := uint64(0)
	for {
		size, _ := instructionX86(code[at:])
		switch next := at + uint64(max(0, size)); {
		case next == at:
			return offset
		case next > offset:
			return at
		default:
			at = next
		}
	}
}
