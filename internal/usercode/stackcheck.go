package usercode

import (
	"debug/elf"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"
)

const (
	checkInstructions = 6
	checkBytes        = checkInstructions * maxInstruction
	stackGuard        = 16 // of runtime.g: where the bound of its stack is that functions compare with
)

// BehindStackCheck returns how many bytes of a Go function come before the code that runs once a call: functions begin with a comparison of
// the stack pointer with the bound of the stack, and begin again after the stack has grown. 0: it does not begin so. Arguments are still where
// the entry has them.
func (f *File) BehindStackCheck(fn *Function) uint64 {
	code := make([]byte, checkBytes+maxInstruction)
	r, _ := f.symbols.Reader()
	n, _ := r.ReadAt(code[:min(uint64(checkBytes), fn.Size)], int64(fn.Offset))
	if f.elf.Machine == elf.EM_AARCH64 {
		return behindCheckArm(code[:n])
	}
	return behindCheckX86(code, n)
}

// behindCheckX86 finds cmp 0x10(%r14), REG and jbe. code may be read beyond its length.
func behindCheckX86(code []byte, length int) uint64 {
	compared := false
	for at, n := 0, 0; n < checkInstructions && at < length; n++ {
		inst, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			return 0
		}
		at += inst.Len
		switch inst.Op {
		case x86asm.CMP:
			memory, ok := inst.Args[1].(x86asm.Mem)
			compared = ok && memory.Base == x86asm.R14 && memory.Disp == stackGuard
		case x86asm.JBE:
			if compared && at < length {
				return uint64(at)
			}
			return 0
		case x86asm.LEA, x86asm.MOV, x86asm.SUB, x86asm.JB:
		default:
			return 0
		}
	}
	return 0
}

// behindCheckArm finds ldr x16, [x28, #16] and b.ls.
func behindCheckArm(code []byte) uint64 {
	const load, branch, branchMask = 0xf9400b90, 0x54000009, 0xff00001f
	loaded := false
	for at := 0; at+4 < len(code) && at < 4*checkInstructions; at += 4 {
		switch word := binary.LittleEndian.Uint32(code[at:]); {
		case word == load:
			loaded = true
		case loaded && word&branchMask == branch:
			return uint64(at + 4)
		}
	}
	return 0
}
