package unwind

// Base is what the canonical frame address (CFA: the stack pointer before the call) is computed from.
type Base uint8

const (
	// Unknown places have no rule that a table can hold: they are walked by frame pointer.
	Unknown Base = iota
	// Root places have no caller.
	Root
	// SP and FP: the register plus Offset.
	SP
	FP
	// AtSP and AtFP: the word at the register plus Offset, plus Add.
	AtSP
	AtFP
	// PLT is the code of a procedure linkage table: SP plus 8, and 8 more after the push of an entry.
	PLT
	// Signal is the return from a signal handler: the kernel's struct rt_sigframe is at SP.
	Signal
	// Switch is Go code that changes to another stack: as Unknown, but the caller's frame may be anywhere.
	Switch
	// Register: another register plus Offset. Add is its place in the kernel's struct pt_regs. It is known in innermost frames and, if it
	// is rbx, in others.
	Register
	// InRegister: SP plus Offset; the return address is in a register, as in vfork(). Add is its place in the kernel's struct pt_regs. It
	// is known in innermost frames.
	InRegister
	// Cloned: behind a system call that has made this thread if rax is 0, which then has no caller; else as SP. It is known in innermost
	// frames.
	Cloned
)

// Saved is where the frame pointer of the caller is.
type Saved uint8

const (
	// Kept: still in the register.
	Kept Saved = iota
	// AtCFA: in memory at the CFA plus FPOffset; AtOwnFP and AtOwnSP: at this frame's own register plus FPOffset.
	AtCFA
	AtOwnFP
	AtOwnSP
	// Gone: not saved, or in a place that a table cannot hold.
	Gone
)

// Rule leads from a frame to its caller's. The return address is the word below the CFA, except for Signal and InRegister.
type Rule struct {
	Offset   int32 // bytes
	FPOffset int16 // bytes
	Add      int16 // bytes
	BX       int16 // where the caller's rbx is, bytes from the CFA; 0: still in the register; bxGone: elsewhere
	Base     Base
	Saved    Saved
}

// bxGone is no multiple of a word.
const bxGone = 1
