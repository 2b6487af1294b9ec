//go:build linux

package bpf

// Places in struct pt_regs, arch/x86/include/asm/ptrace.h.
const (
	stackPointer      = 152
	goroutineRegister = 8 // r14: the register of g in Go's internal ABI
	returnAddress     = 8 // bytes by which a return moves the stack pointer
)

const (
	hitAddress    = 176 // of addr in struct bpf_perf_event_data
	executeLength = 8   // of breakpoints at code
)
