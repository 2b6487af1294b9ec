package ruby

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"wprof/internal/symbol"
	"wprof/internal/unwind"
)

// Interpreter is a file that has Ruby's virtual machine.
type Interpreter struct {
	Layout
	Context uint64 // added to the address of a byte of code, less its offset in the file, it is where the thread-local variable with the context is described
	Loop    Range  // the function that executes instructions, offsets in the file
}

// Range is a part of a file.
type Range struct{ Begin, End uint64 }

const (
	versionSymbol = "ruby_version"
	contextSymbol = "rb_errinfo" // it begins by reading the thread's execution context
	contextBytes  = 128          // of its code that are looked at
	leastLabels   = 150          // of the loop's table of labels; the regular expressions' has 98
	wordBytes     = 8
	relaBytes     = 24
	maxSection    = 64 << 20
)

var (
	// ErrNone: the file has no interpreter.
	ErrNone = errors.New("the file has no Ruby interpreter")
	// leaOfVariable begins the call that finds a thread-local variable of a shared library (the general dynamic model of x86-64's ABI): data16 lea rdi, [rip+…].
	leaOfVariable = []byte{0x66, 0x48, 0x8d, 0x3d}
)

// UnknownError: the interpreter is one whose layout is not known.
type UnknownError struct{ Version string }

func (e *UnknownError) Error() string { return "the layout of Ruby " + e.Version + " is not known" }

// Read returns the interpreter of a file.
func Read(r io.ReaderAt) (in *Interpreter, err error) {
	defer symbol.RecoverTo(&err, "read the Ruby interpreter")
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("read the ELF header: %w", err)
	}
	exported, err := exports(f)
	if err != nil {
		return nil, err
	}
	version := readVersion(f, exported[versionSymbol].Value)
	layout, ok := layouts()[version]
	if !ok {
		return nil, &UnknownError{version}
	}
	variable, loop := findVariable(f, exported[contextSymbol].Value), findLoop(f)
	code := segmentOf(f, loop.Begin)
	if variable == 0 || code == nil {
		return nil, &UnknownError{version + " that was built in another way"}
	}
	toOffset := code.Off - code.Vaddr
	return &Interpreter{Layout: layout, Context: variable + toOffset, Loop: Range{loop.Begin + toOffset, loop.End + toOffset}}, nil
}

// exports returns those of the file's symbols that a file with an interpreter exports.
func exports(f *elf.File) (map[string]elf.Symbol, error) {
	names := f.Section(".dynstr")
	if names == nil || f.Machine != elf.EM_X86_64 {
		return nil, ErrNone
	}
	if text, err := sectionBytes(names); err != nil || !bytes.Contains(text, []byte("\x00"+versionSymbol+"\x00")) {
		return nil, errors.Join(ErrNone, err)
	}
	all, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("read the exported symbols: %w", err)
	}
	exported := map[string]elf.Symbol{}
	for _, s := range all {
		if (s.Name == versionSymbol || s.Name == contextSymbol) && s.Section != elf.SHN_UNDEF {
			exported[s.Name] = s
		}
	}
	if len(exported) < 2 {
		return nil, ErrNone
	}
	return exported, nil
}

// readVersion returns the first two numbers of the version that is at an address.
func readVersion(f *elf.File, at uint64) string {
	text := string(read(f, at, wordBytes))
	text, _, _ = strings.Cut(text, "\x00")
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// findVariable returns where the thread-local variable with the execution context is described, by its module and its offset there; 0: nowhere.
func findVariable(f *elf.File, function uint64) uint64 {
	code := read(f, function, contextBytes)
	i := bytes.Index(code, leaOfVariable)
	if i < 0 || i+wordBytes > len(code) {
		return 0
	}
	return function + uint64(i) + wordBytes + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+len(leaOfVariable):]))))
}

// findLoop finds the function that executes instructions, which has no name in a stripped file: its table of labels, one for each instruction, is the
// longest one in the file. All of its code has one entry in the table for unwinding.
func findLoop(f *elf.File) (loop Range) {
	relocations := f.Section(".rela.dyn")
	if relocations == nil {
		return Range{}
	}
	b, err := sectionBytes(relocations)
	if err != nil {
		return Range{}
	}
	functions, err := unwind.Functions(f)
	if err != nil {
		return Range{}
	}
	slices.SortFunc(functions, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	most, run, from := leastLabels-1, 0, Range{}
	var last uint64
	for ; len(b) >= relaBytes; b = b[relaBytes:] {
		at, info, label := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		if elf.R_X86_64(info) != elf.R_X86_64_RELATIVE {
			continue
		}
		if at != last+wordBytes || label <= from.Begin || label >= from.End {
			run, from = 0, functionWith(functions, label)
		}
		last = at
		if run++; run > most && from.End != 0 {
			most, loop = run, from
		}
	}
	return loop
}

func functionWith(functions [][2]uint64, address uint64) Range {
	i := sort.Search(len(functions), func(i int) bool { return functions[i][0] > address }) - 1
	if i < 0 || address >= functions[i][1] {
		return Range{}
	}
	return Range{functions[i][0], functions[i][1]}
}

func sectionBytes(s *elf.Section) ([]byte, error) {
	if s.Size > maxSection || s.Type == elf.SHT_NOBITS {
		return nil, fmt.Errorf("read %s: it has %d bytes", s.Name, s.Size)
	}
	b, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.Name, err)
	}
	return b, nil
}

// segmentOf returns the segment that has the code at an address; nil: there is none.
func segmentOf(f *elf.File, address uint64) *elf.Prog {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && address-p.Vaddr < p.Filesz {
			return p
		}
	}
	return nil
}

// read returns bytes at an address of the file's image; nil: they are not there.
func read(f *elf.File, address uint64, n int) []byte {
	for _, p := range f.Progs {
		if at := address - p.Vaddr; p.Type == elf.PT_LOAD && at < p.Filesz && p.Filesz-at >= uint64(n) {
			b := make([]byte, n)
			if _, err := p.ReadAt(b, int64(at)); err != nil {
				return nil
			}
			return b
		}
	}
	return nil
}
