//go:build linux

package bpf

// Places in struct user_pt_regs, arch/arm64/include/uapi/asm/ptrace.h.
const (
	stackPointer      = 248
	goroutineRegister = 224 // x28: the register of g in Go's internal ABI
	returnAddress     = 0
)

const (
	hitAddress    = 280 // of addr in struct bpf_perf_event_data
	executeLength = 4   // of breakpoints at code
)
