//go:build linux

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// The location of a CPU's preempt count on x86: see interrupt.h.
const (
	preemptCountVariable = 1 + iota // __preempt_count: up to 6.1, and since 6.15
	preemptCountHot                 // pcpu_hot.preempt_count
)

// preemptCountID is PREEMPT_COUNT_ID, the placeholder for the kernel's variable in the programs. The library resolves
// addresses of variables only, and for a per-CPU one the kernel needs its BTF id.
const preemptCountID = 0x7072656570746364

const pseudoBTFID = asm.Register(3) // BPF_PSEUDO_BTF_ID

// findPreemptCount sets where the programs read the preempt count. If they cannot, they detect interrupts by the stack that they run
// on: see interrupt.h.
func (o *Options) findPreemptCount(spec *ebpf.CollectionSpec, types *btf.Cache) error {
	if runtime.GOARCH != "amd64" {
		return nil
	}
	kernel, err := types.Kernel()
	if err != nil {
		return fmt.Errorf("read the kernel's types: %w", err)
	}
	for location, name := range map[uint32]string{preemptCountVariable: "__preempt_count", preemptCountHot: "pcpu_hot"} {
		var variable *btf.Var
		if err := kernel.TypeByName(name, &variable); errors.Is(err, btf.ErrNotFound) {
			continue
		} else if err != nil {
			return fmt.Errorf("find the kernel's variable %s: %w", name, err)
		}
		id, err := kernel.TypeID(variable)
		if err != nil {
			return fmt.Errorf("find the kernel's variable %s: %w", name, err)
		}
		var fromRunQueue int32
		if !o.countByRunQueue && isReadable(id) {
			for _, program := range spec.Programs {
				setPreemptCount(program.Instructions, id)
			}
		} else if fromRunQueue = distance(kernel, "runqueues", name); fromRunQueue == 0 {
			continue
		}
		if err := setVariables(spec, map[string]any{"preempt_count_location": location, "preempt_count_from_rq": fromRunQueue}); err != nil {
			return err
		}
		stack := map[uint32]string{preemptCountVariable: "hardirq_stack_ptr", preemptCountHot: name}[location]
		if err := setSoftirqs(spec, distance(kernel, "runqueues", stack)); err != nil {
			return err
		}
	}
	return nil
}

// setSoftirqs sets how programs distinguish soft interrupts that a thread runs itself, if possible.
func setSoftirqs(spec *ebpf.CollectionSpec, irqStack int32) error {
	at := [2]uint64{kernelAddress("do_softirq"), kernelAddress("do_softirq.part.0")}
	if at[0] == 0 {
		return nil // this process may not read addresses (kptr_restrict in proc_sys_kernel(5))
	}
	return setVariables(spec, map[string]any{"irq_stack_from_rq": irqStack, "do_softirq_at": at})
}

// kernelAddress returns the address of a kernel function; 0: not known. A program looks it up, because reading /proc/kallsyms
// takes much longer.
func kernelAddress(function string) uint64 {
	const text = 0xffffffff << 32 // upper half of addresses of the kernel's text (Documentation/arch/x86/x86_64/mm.rst)
	name := make([]byte, (len(function)/8+1)*8)
	copy(name, function)
	var code asm.Instructions
	for i := 0; i < len(name); i += 8 {
		code = append(code, asm.LoadImm(asm.R1, int64(binary.NativeEndian.Uint64(name[i:])), asm.DWord),
			asm.StoreMem(asm.RFP, int16(i-len(name)), asm.R1, asm.DWord))
	}
	result := int16(-len(name) - 8)
	code = append(code,
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, result, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, int32(-len(name))),
		asm.Mov.Imm(asm.R2, int32(len(function)+1)),
		asm.Mov.Imm(asm.R3, 0),
		asm.Mov.Reg(asm.R4, asm.RFP), asm.Add.Imm(asm.R4, int32(result)),
		asm.FnKallsymsLookupName.Call(),
		asm.LoadMem(asm.R0, asm.RFP, result, asm.Word),
		asm.Return())
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Syscall, Flags: unix.BPF_F_SLEEPABLE, License: "GPL", Instructions: code})
	if err != nil {
		return 0
	}
	defer program.Close()
	if low, err := program.Run(&ebpf.RunOptions{}); err == nil && low != 0 {
		return text | uint64(low)
	}
	return 0
}

// distance returns how many bytes one of the kernel's per-CPU variables lies behind another one; 0: not known.
func distance(kernel *btf.Spec, from, to string) int32 {
	var section *btf.Datasec
	if kernel.TypeByName(".data..percpu", &section) != nil {
		return 0
	}
	var a, b *btf.VarSecinfo
	for i := range section.Vars {
		switch section.Vars[i].Type.TypeName() {
		case from:
			a = &section.Vars[i]
		case to:
			b = &section.Vars[i]
		}
	}
	if a == nil || b == nil {
		return 0
	}
	bytes := int64(b.Offset) - int64(a.Offset)
	if bytes != int64(int32(bytes)) {
		return 0
	}
	return int32(bytes)
}

// isReadable reports whether programs can read a per-CPU variable: the kernel looks its address up by name, which it has only
// with CONFIG_KALLSYMS_ALL.
func isReadable(id btf.TypeID) bool {
	load := asm.LoadImm(asm.R1, int64(id), asm.DWord)
	load.Src = pseudoBTFID
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SocketFilter, License: "GPL", Instructions: asm.Instructions{load, asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return false
	}
	return program.Close() == nil
}

func setPreemptCount(instructions asm.Instructions, id btf.TypeID) {
	for i := range instructions {
		if in := &instructions[i]; in.OpCode.IsDWordLoad() && in.Src == 0 && in.Constant == preemptCountID {
			in.Src, in.Constant = pseudoBTFID, int64(id)
		}
	}
}
