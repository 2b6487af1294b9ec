package usercode

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"wprof/internal/symbol"
)

// File is an ELF file that is open. Its methods are not for use by several goroutines at once.
type File struct {
	path    string
	symbols *symbol.File
	elf     *elf.File
	machine *machine
	close   []io.Closer

	debug       *symbol.File // nil: none, or not looked for yet
	debugSought bool

	table      *symbol.Table // nil: not read yet, or there is none
	tableError error
	dwarf      *dwarfData // nil: not read yet
	dwarfError error
}

// Open opens a program or a shared library.
func Open(path string) (*File, error) {
	in, size, err := symbol.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("open a program: %w", err)
	}
	f, err := read(in, size, path)
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	f.close = append(f.close, in)
	return f, nil
}

// read reads the headers of a program. path is where its debug file is looked for.
func read(in io.ReaderAt, size int64, path string) (*File, error) {
	symbols, err := symbol.Open(in, size)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, symbols: symbols, elf: symbols.ELF()}
	if f.machine = machineOf(f.elf.Machine); f.machine == nil || f.elf.Class != elf.ELFCLASS64 || f.elf.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("it is not a program for x86-64 or arm64, but for %v", f.elf.Machine)
	}
	return f, nil
}

// Close closes the file and its debug file.
func (f *File) Close() error {
	var err error
	for _, c := range f.close {
		err = errors.Join(err, c.Close())
	}
	f.close = nil
	return err
}

// Machine is the architecture of the file.
func (f *File) Machine() elf.Machine { return f.elf.Machine }

// IsGo reports whether the file is a Go program.
func (f *File) IsGo() bool { return f.symbols.IsGo() }

// offset returns the place in the file of an address of its code.
func (f *File) offset(address uint64) (uint64, bool) { return f.offsetIn(address, elf.PF_X) }

// offsetIn returns the place in the file of an address in a segment with all flags.
func (f *File) offsetIn(address uint64, flags elf.ProgFlag) (uint64, bool) {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&flags == flags && address >= p.Vaddr && address-p.Vaddr < p.Filesz {
			return p.Off + (address - p.Vaddr), true
		}
	}
	return 0, false
}

// Address returns the address of an offset in the file. It fails if there is no code.
func (f *File) Address(offset uint64) (uint64, bool) { return f.symbols.Address(offset) }

// symbolAt returns the name of the symbol with an address; "": not known.
func (f *File) symbolAt(address uint64) string {
	if f.table == nil && f.tableError == nil {
		if f.table, f.tableError = f.symbols.Table(); f.tableError != nil && f.debugFile() != nil {
			f.table, f.tableError = f.debugFile().Table()
		}
	}
	if f.tableError != nil {
		return ""
	}
	found, _ := f.table.Lookup(address)
	return found.Name
}

// debugFile returns the separate debug file; nil: there is none.
func (f *File) debugFile() *symbol.File {
	if f.debugSought {
		return f.debug
	}
	f.debugSought = true
	path := f.path
	var dirs []string
	if root, inside, ok := rootOf(path); ok { // the mount namespace of a process has its own debug files
		dirs = append(dirs, filepath.Join(root, "usr/lib/debug"))
		path = inside
	}
	debug, closer := f.symbols.OpenDebug(path, dirs...)
	if debug == nil && path != f.path {
		debug, closer = f.symbols.OpenDebug(f.path)
	}
	if debug != nil {
		f.debug = debug
		f.close = append(f.close, closer)
	}
	return f.debug
}

// rootOf splits a path below /proc/PID/root.
func rootOf(path string) (root, inside string, ok bool) {
	parts := strings.SplitN(path, "/", 5) // "", proc, PID, root, the rest
	if len(parts) < 5 || parts[0] != "" || parts[1] != "proc" || parts[3] != "root" {
		return "", "", false
	}
	return strings.Join(parts[:4], "/"), "/" + parts[4], true
}
