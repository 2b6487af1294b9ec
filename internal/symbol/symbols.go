package symbol

import (
	"debug/elf"
	"errors"
)

// Table reads the functions of a file: those of its symbol table; without one those of its debug file; without that the
// exported ones, those in .gnu_debugdata and those that a Go program keeps for itself.
func (f *File) Table() (_ *Table, err error) {
	defer recoverTo(&err, "read symbols")
	l := &functions{}
	err = f.addSymbols(l, elf.SHT_SYMTAB)
	if len(l.list) == 0 && f.debug != nil {
		err = errors.Join(err, f.debug.addSymbols(l, elf.SHT_SYMTAB))
	}
	if len(l.list) == 0 {
		err = errors.Join(err, f.addSymbols(l, elf.SHT_DYNSYM), f.addDebugData(l), f.addGoFunctions(l))
	}
	if len(l.list) > 0 {
		return l.table(), nil // what could be read is right, even if more could not
	}
	if err == nil {
		err = ErrNoSymbols
	}
	return nil, err
}

// hasSymbols says whether the file has a symbol table of its own.
func (f *File) hasSymbols() bool { return f.sectionOf(elf.SHT_SYMTAB) != nil }
