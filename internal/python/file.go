package python

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"wprof/internal/symbol"
)

// Interpreter is a file that has CPython's interpreter: a program, or libpython.
type Interpreter struct {
	Layout
	Runtime uint64  // added to the address of a byte of code, less its offset in the file, it is the address of _PyRuntime
	Loops   []Range // of the functions that execute bytecode, offsets in the file
}

// Range is a part of a file.
type Range struct{ Begin, End uint64 }

// MaxLoops bounds [Interpreter.Loops]: compilers move rare parts of a function away.
const MaxLoops = 4

const (
	runtimeSymbol = "_PyRuntime"
	loopSymbol    = "_PyEval_EvalFrameDefault"
	versionSymbol = "Py_Version" // since 3.11
	maxSection    = 64 << 20
)

// ErrNone: the file has no interpreter.
var ErrNone = errors.New("the file has no Python interpreter")

// Read returns the interpreter of a file.
func Read(r io.ReaderAt) (in *Interpreter, err error) {
	defer symbol.RecoverTo(&err, "read the Python interpreter")
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("read the ELF header: %w", err)
	}
	names := f.Section(".dynstr")
	if names == nil || f.Machine != machine {
		return nil, ErrNone
	}
	if text, err := sectionBytes(names); err != nil || !bytes.Contains(text, []byte("\x00"+runtimeSymbol+"\x00")) {
		return nil, errors.Join(ErrNone, err)
	}
	exported, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("read the exported symbols: %w", err)
	}
	known := map[string]elf.Symbol{}
	for _, s := range exported {
		if s.Section != elf.SHN_UNDEF && (s.Name == runtimeSymbol || s.Name == loopSymbol || s.Name == versionSymbol) {
			known[s.Name] = s
		}
	}
	runtime, loop := known[runtimeSymbol], known[loopSymbol]
	code := segmentOf(f, loop.Value)
	if runtime.Value == 0 || loop.Size == 0 || code == nil {
		return nil, ErrNone
	}
	layout, err := describe(f, runtime.Value, known[versionSymbol].Value)
	if err != nil {
		return nil, err
	}
	toOffset := code.Off - code.Vaddr
	in = &Interpreter{Layout: *layout, Runtime: runtime.Value + toOffset}
	in.Loops = append(in.Loops, Range{loop.Value + toOffset, loop.Value + loop.Size + toOffset})
	in.addParts(f, code)
	return in, nil
}

// addParts adds what the compiler has split off the loop. A stripped file does not show it.
func (in *Interpreter) addParts(f *elf.File, code *elf.Prog) {
	all, err := f.Symbols()
	if err != nil {
		return
	}
	for _, s := range all {
		if !strings.HasPrefix(s.Name, loopSymbol+".") || elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value < code.Vaddr || s.Value >= code.Vaddr+code.Memsz || len(in.Loops) >= MaxLoops {
			continue
		}
		begin := s.Value - code.Vaddr + code.Off
		in.Loops = append(in.Loops, Range{begin, begin + s.Size})
	}
}

// describe returns the layout of the version of a file.
func describe(f *elf.File, runtime, version uint64) (*Layout, error) {
	if version == 0 {
		minor, err := versionText(f)
		if err != nil {
			return nil, err
		}
		return known(minor, layoutOf(minor))
	}
	b, err := read(f, version, 4)
	if err != nil {
		return nil, err
	}
	hex := binary.LittleEndian.Uint32(b)
	minor := int(hex >> 16 & 0xff)
	if hex>>24 != 3 {
		return nil, fmt.Errorf("%w: its version is %#x", ErrUnknown, hex)
	}
	if l := layoutOf(minor); l != nil {
		return l, nil
	}
	if b, err = read(f, runtime, debugBytes); err != nil {
		return nil, err
	}
	return known(minor, parseDebugOffsets(b))
}

// ErrUnknown: the interpreter is one whose layout is not known.
var ErrUnknown = errors.New("this Python is not known")

func known(minor int, l *Layout) (*Layout, error) {
	if l == nil {
		return nil, fmt.Errorf("%w: version 3.%d", ErrUnknown, minor)
	}
	return l, nil
}

// cacheTag is what sys.implementation.cache_tag begins with, before the version without its dot.
const cacheTag = "cpython-3"

// versionText finds the version among the strings of a file.
func versionText(f *elf.File) (minor int, err error) {
	s := f.Section(".rodata")
	if s == nil {
		return 0, fmt.Errorf("%w: it has no .rodata", ErrUnknown)
	}
	data, err := sectionBytes(s)
	if err != nil {
		return 0, err
	}
	for _, l := range layouts() {
		if bytes.Contains(data, []byte("\x00"+cacheTag+strconv.Itoa(l.Minor)+"\x00")) {
			return l.Minor, nil
		}
	}
	return 0, fmt.Errorf("%w: it does not say its version, or is older than 3.8", ErrUnknown)
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

// read returns bytes at an address of the file's image.
func read(f *elf.File, address uint64, n int) ([]byte, error) {
	for _, p := range f.Progs {
		if at := address - p.Vaddr; p.Type == elf.PT_LOAD && at < p.Filesz && p.Filesz-at >= uint64(n) {
			b := make([]byte, n)
			_, err := p.ReadAt(b, int64(at))
			if err != nil {
				return nil, fmt.Errorf("read at %#x: %w", address, err)
			}
			return b, nil
		}
	}
	return nil, fmt.Errorf("%w: nothing is at %#x", ErrUnknown, address)
}
