package unwind

import "bytes"

// clone() and clone3() of the C library have no call frame information from their system call on to where the new thread begins
// (sysdeps/unix/sysv/linux/x86_64/clone.S): syscall; test %rax,%rax; jl; jz; ret.
var (
	cloneCall  = []byte{0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c}
	cloneJump  = byte(0x74)
	cloneEnd   = byte(0xc3)
	cloneBytes = uint64(10)
)

// ruleOfGap returns the rule for code between two entries, at an offset in the file.
func (in *input) ruleOfGap(offset, size uint64) Rule {
	if size != cloneBytes {
		return Rule{}
	}
	var code [10]byte
	if n, _ := in.file.ReadAt(code[:], int64(offset)); n < len(code) {
		return Rule{}
	}
	if !bytes.HasPrefix(code[:], cloneCall) || code[7] != cloneJump || code[9] != cloneEnd {
		return Rule{}
	}
	return Rule{Base: Cloned, Offset: wordSize}
}
