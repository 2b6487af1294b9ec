package symbol

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxEveryName bounds the names of one symbol table that are in memory while its functions are visited.
const maxEveryName = 512 << 20

// Named is one name of a function. A function may have several.
type Named struct {
	Name     string // as it is in the file, without a version
	Address  uint64
	Size     uint64 // bytes; 0: not known
	Indirect bool   // it is called once, to choose the function that has this name from then on (STT_GNU_IFUNC)
}

// NamedData is one name of a variable.
type NamedData struct {
	Named
	IsThreadLocal bool
	IsLocal       bool // to the file of the source: others may have the same name
}

// EveryDatum visits all names of the data of a file, with size 0 too. debug is its debug file; nil: it has none.
func (f *File) EveryDatum(debug *File, visit func(NamedData)) (err error) {
	defer RecoverTo(&err, "read symbols")
	err = f.everyDatum(elf.SHT_SYMTAB, visit)
	if debug != nil {
		err = errors.Join(err, debug.everyDatum(elf.SHT_SYMTAB, visit))
	}
	return errors.Join(err, f.everyDatum(elf.SHT_DYNSYM, visit))
}

func (f *File) everyDatum(t elf.SectionType, visit func(NamedData)) error {
	return f.everyNamed(t, func(_ *symbolTable, s *rawSymbol) bool {
		kind := elf.ST_TYPE(s.info)
		isData := kind == elf.STT_OBJECT || kind == elf.STT_COMMON || kind == elf.STT_TLS
		return s.section != 0 && s.section < uint16(elf.SHN_LORESERVE) && isData
	}, func(n Named, s *rawSymbol) {
		visit(NamedData{Named: n, IsThreadLocal: elf.ST_TYPE(s.info) == elf.STT_TLS, IsLocal: elf.ST_BIND(s.info) == elf.STB_LOCAL})
	})
}

// EveryName visits all names of the functions of a file: those of both symbol tables, of .gnu_debugdata and, of a Go program without a
// symbol table, of its own table of functions. debug is its debug file; nil: it has none. Where one table cannot be read, the others are
// visited all the same.
func (f *File) EveryName(debug *File, visit func(Named)) (err error) {
	defer RecoverTo(&err, "read symbols")
	found := false
	seen := func(n Named) {
		found = true
		visit(n)
	}
	err = f.everySymbol(elf.SHT_SYMTAB, seen)
	if debug != nil {
		err = errors.Join(err, debug.everySymbol(elf.SHT_SYMTAB, seen))
	}
	isComplete := found
	err = errors.Join(err, f.everySymbol(elf.SHT_DYNSYM, seen))
	if !isComplete {
		inner, _, failed := f.debugData()
		if err = errors.Join(err, failed); inner != nil {
			err = errors.Join(err, inner.everySymbol(elf.SHT_SYMTAB, seen))
		}
		err = errors.Join(err, f.everyGoName(seen))
	}
	if found {
		return nil
	}
	if err == nil {
		err = errNoSymbols
	}
	return err
}

// everySymbol visits the functions of a symbol table.
func (f *File) everySymbol(t elf.SectionType, visit func(Named)) error {
	return f.everyNamed(t, func(table *symbolTable, s *rawSymbol) bool {
		return f.isCode(s) && !f.isMapping(s, table.strings, table.nameBytes)
	}, func(n Named, s *rawSymbol) {
		n.Indirect = elf.ST_TYPE(s.info) == elf.STT_GNU_IFUNC
		visit(n)
	})
}

// everyNamed visits the symbols of a table that have a name and meet a condition.
func (f *File) everyNamed(t elf.SectionType, meets func(*symbolTable, *rawSymbol) bool, visit func(Named, *rawSymbol)) error {
	table, ok := f.symbolTable(t)
	if !ok {
		return nil
	}
	text, err := table.text()
	if err != nil {
		return err
	}
	return table.each(256<<10, func(s *rawSymbol) (bool, error) {
		if meets(table, s) {
			if name, ok := text.name(s.name); ok {
				visit(Named{Name: withoutVersion(name), Address: s.value, Size: s.size}, s)
			}
		}
		return true, nil
	})
}

// nameTable is the names of a symbol table.
type nameTable []byte

// text reads the names of a symbol table.
func (t *symbolTable) text() (nameTable, error) {
	if t.nameBytes > maxEveryName {
		return nil, fmt.Errorf("read symbols: their names take more than %d MiB", maxEveryName>>20)
	}
	text := make([]byte, t.nameBytes)
	if n, _ := t.strings.ReadAt(text, 0); n < len(text) {
		return nil, errors.New("read symbols: their names are cut")
	}
	return text, nil
}

func (t nameTable) name(at uint32) (string, bool) {
	b := t[at:]
	end := bytes.IndexByte(b[:min(len(b), maxNameBytes)], 0)
	if end <= 0 {
		return "", false
	}
	return string(b[:end]), true
}

// everyGoName visits the functions of a Go program's own table.
func (f *File) everyGoName(visit func(Named)) error {
	list := &functions{}
	if err := f.addGoFunctions(list, elf.SHT_NULL); err != nil {
		return err
	}
	for i := range list.list {
		s := &list.list[i]
		if name, ok := list.names.read(s.name); ok && name != "" {
			visit(Named{Name: name, Address: s.start, Size: s.end - s.start})
		}
	}
	return nil
}

// IsGo reports whether a file is a Go program, or has Go code.
func (f *File) IsGo() bool {
	for _, s := range f.elf.Sections {
		if s.Name == ".go.buildinfo" || strings.HasSuffix(s.Name, ".gopclntab") {
			return true
		}
	}
	return false
}

// Data returns the address of a symbol of data by its name in one of the symbol tables.
func (f *File) Data(name string) (address uint64, ok bool) {
	for _, t := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		table, has := f.symbolTable(t)
		if !has {
			continue
		}
		text, err := table.text()
		if err != nil {
			continue
		}
		_ = table.each(256<<10, func(s *rawSymbol) (bool, error) { // symbols before malformed bytes are used
			kind := elf.ST_TYPE(s.info)
			if s.section == 0 || s.section >= uint16(elf.SHN_LORESERVE) || kind == elf.STT_TLS || kind == elf.STT_FILE || kind == elf.STT_SECTION {
				return true, nil
			}
			if at, found := text.name(s.name); found && withoutVersion(at) == name {
				address, ok = s.value, true
			}
			return !ok, nil
		})
		if ok {
			return address, true
		}
	}
	return 0, false
}

// Reader returns the contents of the file.
func (f *File) Reader() (r io.ReaderAt, size uint64) { return f.r, f.size }
