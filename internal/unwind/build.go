package unwind

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"

	"wprof/internal/symbol"
)

const (
	// maxFileBytes is the size of the largest file of which a table is made, whose index of pages then has 16 MiB.
	maxFileBytes = 4 << 30
	// maxSectionBytes is the most call frame information that is read of a file.
	maxSectionBytes = 64 << 20
	maxEntries      = 2 << 20
	maxCode         = 64 // executable segments
)

// ErrNoFrames: the file has no call frame information, so that its code is walked by frame pointer.
var ErrNoFrames = errors.New("it has no call frame information")

// segment is executable code: where it is in memory and in the file.
type segment struct{ address, offset, size uint64 }

// input is what a table is made from.
type input struct {
	file   io.ReaderAt
	frames *section // nil: none
	crt    []entry
	golang []symbol.GoFrames
	code   []segment
}

// Build makes the table of an x86-64 ELF file of a size in bytes, from .eh_frame or, without that, .debug_frame, and from a Go program's
// table of functions. r is read only during the call. The error is ErrNoFrames if the file has none of them.
func Build(r io.ReaderAt, size int64) (*Table, error) {
	in, err := read(r, size)
	if err != nil {
		return nil, err
	}
	return in.table(), nil
}

func read(r io.ReaderAt, size int64) (_ *input, err error) {
	defer symbol.RecoverTo(&err, "read an ELF file")
	if size > maxFileBytes {
		return nil, fmt.Errorf("read an ELF file: it has %d bytes, and the limit is %d", size, maxFileBytes)
	}
	file, err := symbol.Open(r, size)
	if err != nil {
		return nil, err
	}
	f := file.ELF()
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 {
		return nil, fmt.Errorf("%w for x86-64: it is a file for %v", ErrNoFrames, f.Machine)
	}
	in := &input{file: r, crt: crtEntries(f), golang: goFrames(file), code: codeOf(f, uint64(size))}
	in.frames, err = framesOf(f)
	if len(in.golang) == 0 {
		return in, err
	}
	if in.frames != nil && in.frames.debug {
		in.frames = nil // Go's does not say where the frame pointer is saved, nor where stacks begin
	}
	return in, nil
}

// framesOf reads .eh_frame, or .debug_frame of a file without it.
func framesOf(f *elf.File) (*section, error) {
	for _, name := range frameSections() {
		if s, err := framesIn(f, name); s != nil || err != nil {
			return s, err
		}
	}
	return nil, ErrNoFrames
}

func frameSections() []string { return []string{".eh_frame", ".debug_frame"} }

// framesIn reads a section; nil: there is none.
func framesIn(f *elf.File, name string) (*section, error) {
	s := f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS || s.Size == 0 {
		return nil, nil
	}
	if s.Size > maxSectionBytes || s.FileSize > maxSectionBytes {
		return nil, fmt.Errorf("read %s: it has %d bytes, and the limit is %d", name, s.Size, maxSectionBytes)
	}
	data, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return &section{data: data, address: s.Addr, debug: name == ".debug_frame"}, nil
}

// codeOf returns the executable segments, as far as the file has them.
func codeOf(f *elf.File, size uint64) (all []segment) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Off < size && len(all) < maxCode {
			all = append(all, segment{p.Vaddr, p.Off, min(p.Filesz, size-p.Off)})
		}
	}
	return all
}

// placed is the code of an entry or of a Go function.
type placed struct {
	entry
	golang *symbol.GoFrames // nil: an entry
	offset uint64           // in the file
}

// place returns the code that is in the file, in order of offset. Where two parts overlap, the first one ends where the second one
// begins.
func (in *input) place() []placed {
	var all []placed
	add := func(p placed) {
		for _, seg := range in.code {
			from := p.begin - seg.address
			if from < seg.size && p.end-p.begin <= seg.size-from && len(all) < maxEntries {
				p.offset = from + seg.offset
				all = append(all, p)
				return
			}
		}
	}
	for _, e := range in.crt {
		add(placed{entry: e}) // one of the file itself at the same place replaces it
	}
	if in.frames != nil {
		_ = in.frames.entries(func(e entry) { // entries before malformed bytes are used
			if e.cie.signal {
				e.end++ // the place of a thread that is in sigreturn: behind its system call
			}
			add(placed{entry: e})
		})
	}
	for i := range in.golang {
		g := &in.golang[i]
		add(placed{entry: entry{begin: g.Start, end: g.End}, golang: g})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.offset, b.offset) })
	for i := range all[:max(0, len(all)-1)] {
		e := &all[i]
		e.end = min(e.end, e.begin+all[i+1].offset-e.offset)
	}
	return slices.DeleteFunc(all, func(e placed) bool { return e.begin == e.end })
}

// table makes the table of all code that is in the file.
func (in *input) table() *Table {
	all := in.place()
	b := tableBuilder{numbers: map[Rule]uint32{}}
	var m machine
	for i := range all {
		e := &all[i]
		toOffset := e.offset - e.begin
		emit := func(pc uint64, r Rule) { b.add(pc+toOffset, r) }
		if e.golang == nil {
			if !m.run(&e.entry, emit) {
				emit(m.pc, Rule{})
			}
		} else if len(b.t.Rows) < maxGoRows {
			goRules(e.golang, e.end, emit)
		}
		if i+1 == len(all) {
			emit(e.end, Rule{})
		} else if gap := all[i+1].offset - (e.end + toOffset); gap > 0 {
			emit(e.end, in.ruleOfGap(e.end+toOffset, gap))
		}
	}
	return b.finish()
}
