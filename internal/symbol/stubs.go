package symbol

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
)

const stubSuffix = "@plt"

const (
	stubBytes      = 16
	maxStubBytes   = 16 << 20 // of code, and of names
	maxRelocations = 4 << 20  // that are read
)

// addStubs adds the stubs through which x86-64 code calls functions of other files, as "memcpy@plt". A stub jumps to the address in a
// slot of the global offset table, and a relocation says which symbol's address is there: System V ABI, AMD64 supplement, 5.2. For a
// function that a resolver of the file itself chooses, the relocation has the resolver, which is the symbol of the function.
func (f *File) addStubs(into *functions) {
	if !f.hasStubs() {
		return
	}
	slots := f.slots()
	resolvers := into.resolvers(slots)
	var text bytes.Buffer
	before, base := len(into.list), into.names.end
	for _, name := range stubSections() {
		code, ok := f.section(name, maxStubBytes)
		if !ok {
			continue
		}
		s := f.elf.Section(name)
		for at := 0; at+8 <= len(code); at += stubBytes {
			to, ok := slots[s.Addr+uint64(at)+stubSlot(code[at:])]
			if !ok {
				continue
			}
			called, ok := "", false
			if position, resolved := resolvers[to.resolver]; resolved {
				called, ok = into.names.read(position)
			} else {
				called, ok = f.dynamicName(to.symbol)
			}
			if !ok || text.Len() > maxStubBytes || len(into.list) >= maxSymbols {
				continue
			}
			start := s.Addr + uint64(at)
			into.list = append(into.list, span{start: start, end: start + stubBytes, rank: uint32(len(into.list)) | hasSize, name: uint32(base) + uint32(text.Len())})
			text.WriteString(called + stubSuffix + "\x00")
		}
	}
	if _, ok := into.names.add(bytes.NewReader(text.Bytes()), uint64(text.Len()), false); !ok {
		into.list = into.list[:before]
	}
	into.names.memory += int64(text.Len())
}

func stubSections() []string { return []string{".plt", ".plt.sec"} }

func (f *File) hasStubs() bool {
	return f.elf.Machine == elf.EM_X86_64 && f.elf.Class == elf.ELFCLASS64
}

// stubSlot returns where the address is to which a stub jumps, from the stub on: jmp *slot(%rip), after endbr64 or bnd. Other
// code gives 0, where no slot is.
func stubSlot(code []byte) uint64 {
	const jump = "\xff\x25"
	start := 0
	if bytes.HasPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) {
		start = 4
	}
	if start < len(code) && code[start] == 0xf2 {
		start++
	}
	end := start + len(jump) + 4
	if end > len(code) || string(code[start:start+len(jump)]) != jump {
		return 0
	}
	return uint64(end) + uint64(int64(int32(binary.LittleEndian.Uint32(code[end-4:]))))
}

// target is what the address in a slot is of.
type target struct {
	symbol   uint32
	resolver uint64 // address of the function that chooses it; 0: the symbol counts
}

// stubRelocations returns the section with the relocations of stubs; nil: there is none.
func (f *File) stubRelocations() *elf.Section {
	if s := f.elf.Section(".rela.plt"); s != nil && s.Type == elf.SHT_RELA && f.holds(s) {
		return s
	}
	return nil
}

// slots returns what the addresses are of that the linker writes, by their places.
func (f *File) slots() map[uint64]target {
	s := f.stubRelocations()
	if s == nil {
		return nil
	}
	slots := make(map[uint64]target)
	in := bufio.NewReaderSize(io.NewSectionReader(f.r, int64(s.Offset), int64(s.FileSize)), 32<<10)
	entry := make([]byte, 24)
	for range min(s.FileSize/24, maxRelocations) {
		if _, err := io.ReadFull(in, entry); err != nil {
			break
		}
		at, info := f.elf.ByteOrder.Uint64(entry), f.elf.ByteOrder.Uint64(entry[8:])
		switch elf.R_X86_64(info & 0xffffffff) {
		case elf.R_X86_64_JMP_SLOT:
			slots[at] = target{symbol: uint32(info >> 32)}
		case elf.R_X86_64_IRELATIVE:
			slots[at] = target{resolver: f.elf.ByteOrder.Uint64(entry[16:])}
		}
	}
	return slots
}

// resolvers returns the positions of the names of the resolvers in slots.
func (l *functions) resolvers(slots map[uint64]target) map[uint64]uint32 {
	wanted := make(map[uint64]bool)
	for _, to := range slots {
		if to.resolver != 0 {
			wanted[to.resolver] = true
		}
	}
	names := make(map[uint64]uint32)
	for i := range l.list {
		if s := &l.list[i]; wanted[s.start] {
			names[s.start] = s.name
		}
	}
	return names
}

// dynamicName returns the name of a dynamic symbol.
func (f *File) dynamicName(symbol uint32) (string, bool) {
	table := f.sectionOf(elf.SHT_DYNSYM)
	if table == nil || int(table.Link) >= len(f.elf.Sections) || uint64(symbol) >= table.FileSize/24 {
		return "", false
	}
	text := f.elf.Sections[table.Link]
	entry, ok := f.bytes(table.Offset+uint64(symbol)*24, 24)
	if !ok || !f.holds(text) {
		return "", false
	}
	at := uint64(f.symbol(entry).name)
	if at == 0 || at >= text.FileSize {
		return "", false
	}
	name, ok := readName(io.NewSectionReader(f.r, int64(text.Offset), int64(text.FileSize)), at, text.FileSize)
	return withoutVersion(name), ok
}
