package python

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"wprof/internal/symbol"
)

// Interpreter is a file that has CPython's interpreter, a program or libpython; or only one of its modules, see [ReadTasks].
type Interpreter struct {
	Layout
	Runtime uint64  // added to the address of a byte of code, less its offset in the file, it is the address of _PyRuntime
	Loops   []Range // of the functions that execute bytecode, offsets in the file
	ByShim  bool    // each instruction is a function, and the loop may be in its callers
	Tasks   *Tasks  // the file has the module that runs tasks; nil: it has not
}

const (
	firstOfCalls = 14 // the first release whose instructions may be functions
	leastLoop    = 8 << 10
)

// Range is a part of a file.
type Range struct{ Begin, End uint64 }

// MaxLoops bounds [Interpreter.Loops]: compilers move rare parts of a function away.
const MaxLoops = 4

const (
	evaluateSymbol = "PyEval_EvalFrameEx" // of all releases
	runtimeSymbol  = "_PyRuntime"
	loopSymbol     = "_PyEval_EvalFrameDefault"
	versionSymbol  = "Py_Version"          // since 3.11
	tracedSymbol   = "_Py_PrintReferences" // only where references are traced
	maxSection     = 64 << 20
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
	exported, err := exports(f)
	if err != nil {
		return nil, err
	}
	if exported[evaluateSymbol].Value == 0 {
		return nil, ErrNone
	}
	runtime, loop := exported[runtimeSymbol], exported[loopSymbol]
	code := segmentOf(f, loop.Value)
	if runtime.Value == 0 || loop.Size == 0 || code == nil {
		version, err := readVersion(f, exported[versionSymbol].Value)
		return nil, errors.Join(err, &UnknownError{version})
	}
	layout, err := describe(f, exported)
	if err != nil {
		return nil, err
	}
	toOffset := code.Off - code.Vaddr
	in = &Interpreter{Layout: *layout, Runtime: runtime.Value + toOffset, Tasks: tasksOf(f)}
	in.Loops = append(in.Loops, Range{loop.Value + toOffset, loop.Value + loop.Size + toOffset})
	in.addParts(f, code)
	in.ByShim = layout.Ends == EndsBeforeShim && layout.Minor >= firstOfCalls && loop.Size < leastLoop
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

// exports returns those of the file's symbols that say what interpreter it has.
func exports(f *elf.File) (map[string]elf.Symbol, error) {
	names := f.Section(".dynstr")
	if names == nil || f.Machine != machine {
		return nil, ErrNone
	}
	if text, err := sectionBytes(names); err != nil || !bytes.Contains(text, []byte("\x00"+evaluateSymbol+"\x00")) {
		return nil, errors.Join(ErrNone, err)
	}
	all, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("read the exported symbols: %w", err)
	}
	exported := map[string]elf.Symbol{}
	for _, s := range all {
		switch s.Name {
		case evaluateSymbol, runtimeSymbol, loopSymbol, versionSymbol, tracedSymbol:
			if s.Section != elf.SHN_UNDEF {
				exported[s.Name] = s
			}
		}
	}
	return exported, nil
}

// UnknownError: the interpreter is one whose layout is not known.
type UnknownError struct {
	Version string // "3.7", or what else makes it unknown; "": it does not say
}

func (e *UnknownError) Error() string { return "the layout of Python " + e.Version + " is not known" }

// describe returns the layout of the version of a file.
func describe(f *elf.File, exported map[string]elf.Symbol) (*Layout, error) {
	version, err := readVersion(f, exported[versionSymbol].Value)
	if err != nil {
		return nil, err
	}
	layout := layoutOf(version)
	if layout != nil && exported[tracedSymbol].Value != 0 { // each object begins with two pointers more
		return nil, &UnknownError{version + " that traces references"}
	}
	if layout == nil {
		layout = parseDebugOffsets(read(f, exported[runtimeSymbol].Value, debugBytes))
	}
	if layout == nil {
		return nil, &UnknownError{version}
	}
	return layout, nil
}

// readVersion returns the version that is at an address; 0: the file has it only as text.
func readVersion(f *elf.File, at uint64) (string, error) {
	if at == 0 {
		return versionText(f), nil
	}
	b := read(f, at, 4)
	if b == nil {
		return "", fmt.Errorf("read the version: nothing is at %#x", at)
	}
	return versionOf(binary.LittleEndian.Uint32(b)), nil
}

// versionOf returns the version that PY_VERSION_HEX stands for.
func versionOf(hex uint32) string { return fmt.Sprintf("%d.%d", hex>>24, hex>>16&0xff) }

var (
	// cacheTag is what sys.implementation.cache_tag has since 3.2, libraryFolder where older releases look for their library.
	cacheTag      = regexp.MustCompile(`\x00cpython-([0-9])([0-9]{1,2})\x00`)
	libraryFolder = regexp.MustCompile(`\x00lib/python([0-9])\.([0-9]{1,2})\x00`)
)

// versionText finds the version among the strings of a file; "": it is not there.
func versionText(f *elf.File) string {
	for _, from := range []struct {
		section string
		pattern *regexp.Regexp
	}{{".rodata", cacheTag}, {".data", libraryFolder}} {
		s := f.Section(from.section)
		if s == nil {
			continue
		}
		data, err := sectionBytes(s)
		if err != nil {
			continue
		}
		if found := from.pattern.FindSubmatch(data); found != nil {
			return string(found[1]) + "." + string(found[2])
		}
	}
	return ""
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
