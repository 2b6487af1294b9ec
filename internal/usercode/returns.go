package usercode

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// maxFunctionBytes bounds a function that is disassembled.
const maxFunctionBytes = 4 << 20

// Returns returns the offsets in the file of all return instructions of a function. Go programs need probes there: return probes of the
// kernel change the return address on the stack, which breaks when the stack is moved.
func (f *File) Returns(fn *Function) ([]uint64, error) {
	switch {
	case fn.Size == 0:
		return nil, fmt.Errorf("the size of %s is not known", fn.Name)
	case fn.Size > maxFunctionBytes:
		return nil, fmt.Errorf("%s has %d bytes, and the limit is %d", fn.Name, fn.Size, maxFunctionBytes)
	}
	r, _ := f.symbols.Reader()
	code := make([]byte, fn.Size)
	if n, _ := r.ReadAt(code, int64(fn.Offset)); n < len(code) {
		return nil, fmt.Errorf("read the code of %s: the file is cut", fn.Name)
	}
	find := returnsX86
	if f.elf.Machine == elf.EM_AARCH64 {
		find = returnsArm
	}
	at, err := find(code)
	if err != nil {
		return nil, fmt.Errorf("find where %s returns: %w", fn.Name, err)
	}
	if len(at) == 0 {
		return nil, fmt.Errorf("%s has no return instruction", fn.Name)
	}
	for i := range at {
		at[i] += fn.Offset
	}
	return at, nil
}

// returnsX86 fails at instructions that it does not know: behind them, a probe might change a part of an instruction.
func returnsX86(code []byte) (at []uint64, err error) {
	padded := append(code[:len(code):len(code)], make([]byte, maxInstruction)...)
	for i := 0; i < len(code); {
		size, isReturn := instructionX86(padded[i:])
		if size <= 0 || size > len(code)-i {
			return nil, fmt.Errorf("the instruction at +%#x is not known", i)
		}
		if isReturn {
			at = append(at, uint64(i))
		}
		i += size
	}
	return at, nil
}

// maxInstruction is the length of the longest instruction of x86-64, with a byte more.
const maxInstruction = 16

// instructionX86 returns the length of an instruction, of which maxInstruction bytes can be read; 0: it is not known.
func instructionX86(code []byte) (size int, isReturn bool) {
	switch code[0] {
	case 0xc4, 0xc5, 0x62:
		return vectorSize(code), false
	}
	inst, err := x86asm.Decode(code, 64)
	if err != nil {
		return 0, false
	}
	return inst.Len, inst.Op == x86asm.RET
}

// vectorSize returns the length of an instruction with a VEX or EVEX prefix (Intel's manual, volume 2, 2.3 and 2.7), which the
// disassembler does not know; 0: it is none.
func vectorSize(code []byte) int {
	at, opcodes := 2, byte(1)
	switch code[0] {
	case 0xc4:
		at, opcodes = 3, code[1]&0x1f
	case 0x62:
		at, opcodes = 4, code[1]&0x07
	}
	opcode := code[at]
	at++
	if opcodes == 1 && opcode == 0x77 && code[0] != 0x62 {
		return at // vzeroupper, without operands
	}
	at += operandSize(code[at:])
	switch {
	case opcodes < 1 || opcodes > 6 || opcodes == 4:
		return 0
	case opcodes == 3, opcodes == 1 && (opcode >= 0x70 && opcode <= 0x73 || opcode == 0xc2 || opcode >= 0xc4 && opcode <= 0xc6):
		at++
	}
	return at
}

// operandSize returns the length of a ModR/M byte and what belongs to it.
func operandSize(code []byte) int {
	mod, rm := code[0]>>6, code[0]&7
	size := 1
	if mod == 3 {
		return size
	}
	base := rm
	if rm == 4 {
		base = code[1] & 7
		size++
	}
	switch {
	case mod == 1:
		size++
	case mod == 2, mod == 0 && base == 5:
		size += 4
	}
	return size
}

// returnsArm finds ret, retaa and retab.
func returnsArm(code []byte) (at []uint64, err error) {
	for i := 0; i+4 <= len(code); i += 4 {
		word := binary.LittleEndian.Uint32(code[i:])
		if word&^(0x1f<<5) == 0xd65f0000 || word == 0xd65f0bff || word == 0xd65f0fff {
			at = append(at, uint64(i))
		}
	}
	return at, nil
}
