package symbol

import (
	"debug/elf"
	"errors"
)

// Table reads the functions of a file: those of its symbol table; without one those of its debug file; without that the
// exported ones, those in .gnu_debugdata and those in a Go program's own table. A file that has some also has the stubs of its linkage table.
func (f *File) Table() (_ *Table, err error) {
	defer RecoverTo(&err, "read symbols")
	l := &functions{}
	err = l.gather(f.addSymbols, elf.SHT_SYMTAB)
	if len(l.list) == 0 && f.debug != nil {
		err = errors.Join(err, l.gather(f.debug.addSymbols, elf.SHT_SYMTAB))
	}
	if len(l.list) == 0 {
		err = errors.Join(err, l.gather(f.addSymbols, elf.SHT_DYNSYM), l.gather(f.addDebugData, elf.SHT_SYMTAB),
			l.gather(f.addGoFunctions, elf.SHT_NULL))
	}
	if len(l.list) > 0 {
		f.addStubs(l)
		return l.table(), nil
	}
	if err == nil {
		err = errNoSymbols
	}
	return nil, err
}

// gather adds all functions of one source, or on an error none: if some were missing, a function without a size before them would
// seem longer than it is.
func (l *functions) gather(add func(*functions, elf.SectionType) error, t elf.SectionType) error {
	before := len(l.list)
	err := add(l, t)
	if err != nil {
		l.list = l.list[:before]
	}
	return err
}

// hasSymbols reports whether the file has a symbol table of its own.
func (f *File) hasSymbols() bool { return f.sectionOf(elf.SHT_SYMTAB) != nil }
