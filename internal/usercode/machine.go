package usercode

import (
	"debug/elf"
	"slices"
	"strconv"

	"wprof/internal/probe"
)

// Register is a register of a machine as struct pt_regs has it.
type Register struct {
	Name   string
	Offset int // bytes in struct pt_regs
	Size   int // bytes of the value
	Shift  int // bits to the right of it: of ah, bh, ch and dh
}

// machine is what is known of an architecture.
type machine struct {
	elf       elf.Machine
	registers []Register // with the names that the assembler has for them and their parts
	modes     []string   // registers in struct pt_regs that say how the kernel was entered, and nothing of the program
	pc, sp    int        // offsets in struct pt_regs
	dwarf     []int      // offsets by DWARF's numbers of registers; -1: not in struct pt_regs
	c         convention
	golang    convention
	returned  int // bytes from the stack pointer to the arguments on the stack at a function's entry
}

// convention is where arguments are at the entry of a function.
type convention struct {
	arguments []int // offsets in struct pt_regs
	results   []int
}

// machineOf returns nil for other architectures than x86-64 and arm64.
func machineOf(m elf.Machine) *machine {
	switch m {
	case elf.EM_X86_64:
		return x86()
	case elf.EM_AARCH64:
		return arm()
	}
	return nil
}

func (m *machine) register(name string) (Register, bool) {
	for _, r := range m.registers {
		if r.Name == name {
			return r, true
		}
	}
	return Register{}, false
}

// x86 is struct pt_regs of arch/x86/include/asm/ptrace.h; numbers and conventions: System V ABI, AMD64 supplement, 3.2.3 and 3.6.2, and
// Go's cmd/compile/abi-internal.md.
func x86() *machine {
	m := &machine{elf: elf.EM_X86_64, pc: 128, sp: 152, returned: 8, modes: []string{"orig_rax", "cs", "ss"}}
	for _, r := range []struct {
		offset                  int
		names                   [4]string // of 8, 4, 2 and 1 bytes
		high                    string    // of the second byte
		dwarf, argument, golang int       // -1: none
	}{
		{80, [4]string{"rax", "eax", "ax", "al"}, "ah", 0, -1, 0},
		{40, [4]string{"rbx", "ebx", "bx", "bl"}, "bh", 3, -1, 1},
		{88, [4]string{"rcx", "ecx", "cx", "cl"}, "ch", 2, 3, 2},
		{96, [4]string{"rdx", "edx", "dx", "dl"}, "dh", 1, 2, -1},
		{104, [4]string{"rsi", "esi", "si", "sil"}, "", 4, 1, 4},
		{112, [4]string{"rdi", "edi", "di", "dil"}, "", 5, 0, 3},
		{32, [4]string{"rbp", "ebp", "bp", "bpl"}, "", 6, -1, -1},
		{152, [4]string{"rsp", "esp", "sp", "spl"}, "", 7, -1, -1},
		{72, [4]string{"r8", "r8d", "r8w", "r8b"}, "", 8, 4, 5},
		{64, [4]string{"r9", "r9d", "r9w", "r9b"}, "", 9, 5, 6},
		{56, [4]string{"r10", "r10d", "r10w", "r10b"}, "", 10, -1, 7},
		{48, [4]string{"r11", "r11d", "r11w", "r11b"}, "", 11, -1, 8},
		{24, [4]string{"r12", "r12d", "r12w", "r12b"}, "", 12, -1, -1},
		{16, [4]string{"r13", "r13d", "r13w", "r13b"}, "", 13, -1, -1},
		{8, [4]string{"r14", "r14d", "r14w", "r14b"}, "", 14, -1, -1},
		{0, [4]string{"r15", "r15d", "r15w", "r15b"}, "", 15, -1, -1},
		{128, [4]string{"rip", "eip"}, "", 16, -1, -1},
		{120, [4]string{"orig_rax"}, "", -1, -1, -1},
		{136, [4]string{"cs"}, "", -1, -1, -1},
		{144, [4]string{"eflags"}, "", -1, -1, -1},
		{160, [4]string{"ss"}, "", -1, -1, -1},
	} {
		for i, name := range r.names {
			if name != "" {
				m.registers = append(m.registers, Register{Name: name, Offset: r.offset, Size: 8 >> i})
			}
		}
		if r.high != "" {
			m.registers = append(m.registers, Register{Name: r.high, Offset: r.offset, Size: 1, Shift: 8})
		}
		m.dwarf = placed(m.dwarf, r.dwarf, r.offset)
		m.c.arguments = placed(m.c.arguments, r.argument, r.offset)
		m.golang.arguments = placed(m.golang.arguments, r.golang, r.offset)
	}
	m.c.results = []int{80, 96}
	m.golang.results = m.golang.arguments
	return m
}

// arm is struct user_pt_regs of arch/arm64/include/uapi/asm/ptrace.h, and the Procedure Call Standard for the Arm 64-bit Architecture.
func arm() *machine {
	m := &machine{elf: elf.EM_AARCH64, pc: 256, sp: 248}
	for i := range 31 {
		n := strconv.Itoa(i)
		m.registers = append(m.registers, Register{Name: "x" + n, Offset: 8 * i, Size: 8}, Register{Name: "w" + n, Offset: 8 * i, Size: 4})
		m.dwarf = append(m.dwarf, 8*i)
		if i < 8 {
			m.c.arguments = append(m.c.arguments, 8*i)
		}
		if i < 16 {
			m.golang.arguments = append(m.golang.arguments, 8*i)
		}
	}
	m.registers = append(m.registers, Register{Name: "sp", Offset: 248, Size: 8}, Register{Name: "wsp", Offset: 248, Size: 4},
		Register{Name: "pc", Offset: 256, Size: 8}, Register{Name: "lr", Offset: 240, Size: 8}, Register{Name: "fp", Offset: 232, Size: 8})
	m.dwarf = append(m.dwarf, 248, 256)
	m.c.results = []int{0, 8}
	m.golang.results = m.golang.arguments
	return m
}

// placed sets an element of a list that grows; the others are -1 until they are set.
func placed(list []int, at, value int) []int {
	if at < 0 {
		return list
	}
	for len(list) <= at {
		list = append(list, -1)
	}
	list[at] = value
	return list
}

// RegisterRead returns how to read a register, or a part of one, by the name that the assembler has for it.
func RegisterRead(of elf.Machine, name string) (probe.Read, bool) {
	m := machineOf(of)
	if m == nil {
		return probe.Read{}, false
	}
	r, ok := m.register(name)
	if !ok {
		return probe.Read{}, false
	}
	read := registerRead(r.Offset, r.Size, false)
	read.Leaf.Hex = true
	if r.Shift > 0 {
		read.From.Size, read.Leaf.Shift, read.Leaf.Bits = 8, r.Shift, 8*r.Size
	}
	return read, true
}

// PointerRead returns how to read the instruction pointer.
func PointerRead(of elf.Machine) (probe.Read, bool) {
	m := machineOf(of)
	if m == nil {
		return probe.Read{}, false
	}
	read := registerRead(m.pc, 8, false)
	read.Leaf.Hex = true
	return read, true
}

// Registers returns the names of a program's whole registers, without the instruction pointer.
func Registers(of elf.Machine) (names []string) {
	m := machineOf(of)
	if m == nil {
		return nil
	}
	seen := map[int]bool{m.pc: true}
	for _, r := range m.registers {
		if r.Size == 8 && !seen[r.Offset] && !slices.Contains(m.modes, r.Name) {
			seen[r.Offset] = true
			names = append(names, r.Name)
		}
	}
	return names
}
