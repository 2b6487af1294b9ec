package symbol

import (
	"bufio"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// errNoSymbols is the error of a file without function names.
var errNoSymbols = errors.New("no symbols")

// maxSymbolEntries bounds the entries of a symbol table, functions or not: a sparse file may have any number, and each
// takes 10 ns.
const maxSymbolEntries = 32 << 20

// functions collects the functions of a file, with the positions of their names.
type functions struct {
	list  []span
	names names
	code  []codeSection
	first bool // stop after the first function
}

// codeSection is a section with code.
type codeSection struct{ start, end uint64 }

// rawSymbol is an entry of a symbol table, of either class.
type rawSymbol struct {
	name    uint32
	info    byte
	section uint16
	value   uint64
	size    uint64
}

func (f *File) sectionOf(t elf.SectionType) *elf.Section {
	for _, s := range f.elf.Sections {
		if s.Type == t && f.holds(s) {
			return s
		}
	}
	return nil
}

// addSymbols adds the functions of a symbol table: STT_FUNC, STT_GNU_IFUNC, and symbols of assembly that have neither
// type nor size.
func (f *File) addSymbols(into *functions, t elf.SectionType) error {
	table, ok := f.symbolTable(t)
	if !ok {
		return nil
	}
	base, ok := into.names.add(table.strings, table.nameBytes, true)
	if !ok {
		return errors.New("read symbols: their names take more than 4 GiB")
	}
	into.code = append(into.code, f.codeSections()...)
	buffer := 256 << 10
	if into.first {
		buffer = 16 << 10
	} else {
		into.list = slices.Grow(into.list, int(min(table.count, maxSymbols)))
	}
	return table.each(buffer, func(s *rawSymbol) (bool, error) {
		if !f.isCode(s) || f.isMapping(s, table.strings, table.nameBytes) {
			return true, nil
		}
		if len(into.list) >= maxSymbols {
			return false, fmt.Errorf("read symbols: there are more than %d functions", maxSymbols)
		}
		into.addSymbol(s, base)
		return !into.first || len(into.list) == 0, nil
	})
}

// symbolTable is a symbol table with its names.
type symbolTable struct {
	f         *File
	section   *elf.Section
	width     uint64 // bytes of an entry
	count     uint64
	strings   *io.SectionReader
	nameBytes uint64
}

// symbolTable finds the symbol table of a type.
func (f *File) symbolTable(t elf.SectionType) (*symbolTable, bool) {
	section := f.sectionOf(t)
	if section == nil || int(section.Link) >= len(f.elf.Sections) {
		return nil, false
	}
	text := f.elf.Sections[section.Link]
	if !f.holds(text) {
		return nil, false
	}
	out := &symbolTable{f: f, section: section, width: 24, nameBytes: text.FileSize,
		strings: io.NewSectionReader(f.r, int64(text.Offset), int64(text.FileSize))}
	if f.elf.Class == elf.ELFCLASS32 {
		out.width = 16
	}
	out.count = section.FileSize / out.width
	return out, true
}

// each visits the symbols, reading so many bytes at a time, up to the first for which visit returns false.
func (t *symbolTable) each(buffer int, visit func(*rawSymbol) (more bool, err error)) error {
	if t.count > maxSymbolEntries {
		return fmt.Errorf("read symbols: there are more than %d", maxSymbolEntries)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(t.f.r, int64(t.section.Offset), int64(t.section.FileSize)), buffer)
	entry := make([]byte, t.width)
	for range t.count {
		if _, err := io.ReadFull(in, entry); err != nil {
			return fmt.Errorf("read symbols: %w", err)
		}
		s := t.f.symbol(entry)
		if uint64(s.name) >= t.nameBytes {
			continue
		}
		if more, err := visit(&s); !more || err != nil {
			return err
		}
	}
	return nil
}

// codeSections returns the sections with code.
func (f *File) codeSections() []codeSection {
	var list []codeSection
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Flags&elf.SHF_ALLOC != 0 && s.Addr+s.Size > s.Addr && len(list) < maxCodeSections {
			list = append(list, codeSection{s.Addr, s.Addr + s.Size})
		}
	}
	return list
}

func (f *File) symbol(b []byte) rawSymbol {
	o := f.elf.ByteOrder
	if f.elf.Class == elf.ELFCLASS32 {
		return rawSymbol{name: o.Uint32(b), value: uint64(o.Uint32(b[4:])), size: uint64(o.Uint32(b[8:])), info: b[12],
			section: o.Uint16(b[14:])}
	}
	return rawSymbol{name: o.Uint32(b), info: b[4], section: o.Uint16(b[6:]), value: o.Uint64(b[8:]), size: o.Uint64(b[16:])}
}

// isCode reports whether a symbol may be a function.
func (f *File) isCode(s *rawSymbol) bool {
	switch elf.ST_TYPE(s.info) {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
	case elf.STT_NOTYPE:
		if s.size != 0 {
			return false
		}
	default:
		return false
	}
	if s.name == 0 || s.section == 0 || int(s.section) >= len(f.elf.Sections) {
		return false
	}
	section := f.elf.Sections[s.section]
	if section.Flags&elf.SHF_EXECINSTR == 0 || section.Flags&elf.SHF_ALLOC == 0 {
		return false
	}
	if f.elf.Machine == elf.EM_ARM {
		s.value &^= 1 // Thumb
	}
	// A symbol at the end of its section (etext) marks the end.
	return s.value >= section.Addr && s.value-section.Addr < section.Size
}

// isMapping reports whether a symbol is one of the labels that separate code from data on Arm and RISC-V ("$x", "$d.1").
func (f *File) isMapping(s *rawSymbol, r io.ReaderAt, size uint64) bool {
	switch f.elf.Machine {
	case elf.EM_AARCH64, elf.EM_ARM, elf.EM_RISCV:
	default:
		return false
	}
	if elf.ST_TYPE(s.info) != elf.STT_NOTYPE || elf.ST_BIND(s.info) != elf.STB_LOCAL {
		return false
	}
	name, ok := readName(r, uint64(s.name), size)
	return !ok || strings.HasPrefix(name, "$") || strings.HasPrefix(name, ".L")
}

// addSymbol adds one function.
func (l *functions) addSymbol(s *rawSymbol, nameBase uint32) {
	rank := uint32(len(l.list))
	if s.size > 0 {
		rank |= hasSize
	}
	if end := s.value + s.size; end >= s.value {
		l.list = append(l.list, span{start: s.value, end: end, rank: rank, name: nameBase + s.name})
	}
}

// table makes a table of the functions.
func (l *functions) table() *Table {
	l.finish()
	return newTable(l.list, innermost, l.names)
}

// finish sets the ends of functions without a size: where the next function begins or the section ends, but not
// beyond the end of a function around them.
func (l *functions) finish() {
	slices.SortFunc(l.list, func(a, b span) int { // of the same start, those with a size first
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	slices.SortFunc(l.code, func(a, b codeSection) int { return cmp.Compare(a.start, b.start) })
	var around []uint64 // ends of the functions that hold the current address
	for i, next := 0, 0; i < len(l.list); i++ {
		s := &l.list[i]
		for len(around) > 0 && around[len(around)-1] <= s.start {
			around = around[:len(around)-1]
		}
		if s.end > s.start {
			around = append(around, s.end)
			continue
		}
		for next = max(next, i); next < len(l.list) && l.list[next].start == s.start; next++ {
		}
		s.end = l.sectionEnd(s.start)
		if next < len(l.list) {
			s.end = min(s.end, l.list[next].start)
		}
		if len(around) > 0 {
			s.end = min(s.end, around[len(around)-1])
		}
	}
}

// sectionEnd returns the end of the section that holds an address. Sections are sorted.
func (l *functions) sectionEnd(address uint64) uint64 {
	i := sort.Search(len(l.code), func(i int) bool { return l.code[i].start > address }) - 1
	if i < 0 {
		return address
	}
	return max(address, l.code[i].end)
}
