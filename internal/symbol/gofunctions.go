package symbol

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	go118Magic = 0xfffffff0 // Go 1.18 and 1.19
	go120Magic = 0xfffffff1 // Go 1.20 and later

	maxGoScanBytes = 256 << 20 // largest section that is searched for the table
)

// goTable is the table of functions that every Go program has for its own tracebacks, stripped or not: runtime's
// pcHeader and what follows it (runtime/symtab.go).
type goTable struct {
	r       io.ReaderAt // from the header on
	size    uint64
	offset  uint64 // of the header in the file
	address uint64
	order   binary.ByteOrder
	word    uint64 // bytes of a pointer
	count   uint64
	text    uint64 // address that functions are relative to; 0 since Go 1.26
	names   uint64
	units   uint64 // of which each has a list of files
	files   uint64
	depths  uint64 // tables of stack depths, files, lines and inlined functions: pctab
	funcs   uint64
	quantum uint64 // bytes that depths count code in
	isGo118 bool   // before 1.20
}

// addGoFunctions adds the functions of a Go program.
func (f *File) addGoFunctions(into *functions, _ elf.SectionType) error {
	t := f.goTable()
	if t == nil {
		return nil
	}
	text, ok := f.goText(t)
	if !ok {
		return errors.New("read the Go program's functions: their addresses cannot be determined")
	}
	if t.count > maxSymbols {
		return fmt.Errorf("read the Go program's functions: there are more than %d", maxSymbols)
	}
	base, ok := into.names.add(io.NewSectionReader(t.r, int64(t.names), int64(t.size-t.names)), t.size-t.names, false)
	if !ok {
		return errors.New("read the Go program's functions: their names take more than 4 GiB")
	}
	into.list = slices.Grow(into.list, int(t.count))
	return t.each(func(start, end, name uint32) {
		into.list = append(into.list, span{start: text + uint64(start), end: text + uint64(end),
			rank: hasSize | uint32(len(into.list)), name: base + name})
	})
}

// each visits the functions in the order of their addresses. start and end are relative to runtime.text.
func (t *goTable) each(visit func(start, end, name uint32)) error {
	return t.eachBody(func(start, end, name uint32, _ uint64) { visit(start, end, name) })
}

// eachBody passes the offset of the function's struct _func as well.
func (t *goTable) eachBody(visit func(start, end, name uint32, body uint64)) error {
	index, bodies := &window{r: t.r, size: t.size}, &window{r: t.r, size: t.size}
	nameBytes := t.size - t.names
	for i := uint64(0); i < t.count; i++ {
		entry, ok := index.at(t.funcs+i*8, 12)
		if !ok {
			return errors.New("read the Go program's functions: the table is cut")
		}
		start, body, end := t.order.Uint32(entry), t.order.Uint32(entry[4:]), t.order.Uint32(entry[8:])
		f, ok := bodies.at(t.funcs+uint64(body), 8) // struct _func: entryOff, nameOff
		if !ok {
			return errors.New("read the Go program's functions: the table is cut")
		}
		if name := t.order.Uint32(f[4:]); end > start && uint64(name) < nameBytes {
			visit(start, end, name, t.funcs+uint64(body))
		}
	}
	return nil
}

// goTable finds the table: by the name of its section, else by its header.
func (f *File) goTable() *goTable {
	for _, s := range f.elf.Sections {
		if f.holds(s) && strings.HasSuffix(s.Name, ".gopclntab") {
			if t := f.goTableAt(s, 0); t != nil {
				return t
			}
		}
	}
	if f.elf.Section(".go.buildinfo") == nil {
		return nil // not a Go program: searching a browser's sections would take 0.1 s
	}
	for _, s := range f.elf.Sections {
		if f.holds(s) && s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR == 0 && s.Flags&elf.SHF_ALLOC != 0 &&
			(strings.HasPrefix(s.Name, ".rodata") || strings.HasPrefix(s.Name, ".data.rel.ro")) && s.FileSize <= maxGoScanBytes {
			if t := f.scanGoTable(s); t != nil {
				return t
			}
		}
	}
	return nil
}

// scanGoTable searches a section for a table's header.
func (f *File) scanGoTable(s *elf.Section) *goTable {
	w := &window{r: f.r, size: s.Offset + s.FileSize}
	for at := uint64(0); at+8 <= s.FileSize; at += 8 {
		head, ok := w.at(s.Offset+at, 8)
		if !ok {
			return nil
		}
		if magic := f.elf.ByteOrder.Uint32(head); magic != go118Magic && magic != go120Magic {
			continue
		}
		if t := f.goTableAt(s, at); t != nil {
			return t
		}
	}
	return nil
}

// goTableAt reads the header at an offset in a section; nil: there is none.
func (f *File) goTableAt(s *elf.Section, at uint64) *goTable {
	size := s.FileSize - at
	var head [8 + 8*8]byte
	if n, _ := f.r.ReadAt(head[:min(size, uint64(len(head)))], int64(s.Offset+at)); n < 8+8*4 {
		return nil
	}
	t := &goTable{r: io.NewSectionReader(f.r, int64(s.Offset+at), int64(size)), size: size, offset: s.Offset + at, address: s.Addr + at,
		order: f.elf.ByteOrder, word: uint64(head[7]), quantum: uint64(head[6])}
	magic := t.order.Uint32(head[:])
	if magic != go118Magic && magic != go120Magic {
		return nil
	}
	t.isGo118 = magic == go118Magic
	// pad1, pad2, minLC, ptrSize
	if head[4] != 0 || head[5] != 0 || head[6] != 1 && head[6] != 2 && head[6] != 4 || t.word != 4 && t.word != 8 {
		return nil
	}
	t.count, t.text, t.names, t.depths, t.funcs = t.field(head[:], 0), t.field(head[:], 2), t.field(head[:], 3), t.field(head[:], 6), t.field(head[:], 7)
	t.units, t.files = t.field(head[:], 4), t.field(head[:], 5)
	if t.count == 0 || t.names >= size || t.funcs >= size || t.count > size/8 || t.count*8+4 > size-t.funcs {
		return nil
	}
	return t
}

// field returns one word of the header.
func (t *goTable) field(head []byte, i uint64) uint64 {
	b := head[8+i*t.word:]
	if t.word == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}
