package symbol

import (
	"container/list"
	"fmt"
	"io"
	"time"

	"wprof/format"
	"wprof/internal/jitdump"
)

// defaultTableBytes bounds the memory of tables that are kept for later lookups.
const defaultTableBytes = 64 << 20

// Options are the sources of a Resolver; each may be nil.
type Options struct {
	// Open returns a file that was kept open. It is tried first. close, which may be nil, is called when the file's table is
	// dropped.
	Open func(*format.Module) (file io.ReaderAt, size int64, close func(), err error)
	// NoPaths excludes the paths of the modules themselves, and /usr/lib/debug.
	NoPaths bool
	// DebugDirs are searched, in order and before /usr/lib/debug, for the module's file (DIR/path, DIR/name,
	// DIR/.build-id/ab/cdef.debug and ab/cdef) and for debug files. A debug file that objcopy made cannot replace the file itself:
	// it lacks the file offsets of the code.
	DebugDirs []string
	// Fetch returns the file of a build-id, or with debug its separate debug file, from another machine. The file itself is fetched
	// if it is nowhere else, the debug file if nothing else has all symbols, or the lines.
	Fetch func(buildID []byte, debug bool) (file io.ReaderAt, size int64, close func(), err error)
	// FetchKernel allows Fetch for the kernel's debug file, of up to a gigabyte, which is used for lines alone.
	FetchKernel bool
	// Functions returns the functions of a build-id from elsewhere, with offsets in the file as addresses. It is tried last.
	Functions func(buildID []byte) (*Table, error)
	// Lines returns what [Resolver.WriteLines] wrote for a build-id. It is used where neither a file nor its debug file has lines.
	Lines func(buildID []byte) (io.Reader, error)
	// Kallsyms and Modules are /proc/kallsyms and /proc/modules of the recorded kernel.
	Kallsyms, Modules func() (io.ReadCloser, error)
	// PerfMap returns a process's map of generated code.
	PerfMap func(*format.Module) (io.ReadCloser, error)
	// VDSO is the image of the recorded kernel's vDSO.
	VDSO func() ([]byte, error)
	// Form is the form of C++ and Rust names.
	Form Form
	// TableBytes is defaultTableBytes if it is 0. The table in use and the kernel's are kept even if they are larger.
	TableBytes int64
	// Signalled is closed when a signal ends the program. From then on, reading map files of generated code takes at most
	// SignalledTime in all: any user can have map files that take long to read, and whoever sent the signal is waiting.
	Signalled     <-chan struct{}
	SignalledTime time.Duration // 0: a second
}

// Address is a place in a module, as in a frame.
type Address struct {
	Offset uint64 // its origin depends on the module's kind: see format.Frame
	Caller bool   // a return address: its function is the one that contains Offset-1
}

// Name is the function that holds an address.
type Name struct {
	Function string
	Offset   uint64 // of the address from the function's start
	OK       bool   // the function was found
}

// Resolver names addresses, module by module. It reads each file once and keeps tables within a budget. It is not safe
// for concurrent use.
type Resolver struct {
	options  Options
	tables   map[format.ModuleKey]*list.Element // of *loaded
	recent   list.List                          // the most recently used table in front
	bytes    int64
	reasons  map[reasonKey]failure
	stripped map[reasonKey]bool // files that were tried for a stripped file of their build-id, and are stripped too
	kernel   *Kernel
	noKernel string // why kernel is nil; "": it was not needed yet
	maps     mapBudget

	differing differing
}

// loaded holds the symbols of one module.
type loaded struct {
	key    format.ModuleKey
	path   string // of the module for which it was read
	from   string // the file from which it was read; "": it has no path
	beside bool   // its debug file may be in the folder of from
	table  *Table
	file   *File              // converts offsets to the table's addresses; nil: they are the same
	dump   *jitdump.Functions // nil: it is no jitdump
	close  []func()
}

// NewResolver makes a Resolver. Close releases its resources.
func NewResolver(o Options) *Resolver {
	if o.TableBytes == 0 {
		o.TableBytes = defaultTableBytes
	}
	if o.SignalledTime == 0 {
		o.SignalledTime = time.Second
	}
	return &Resolver{options: o, tables: make(map[format.ModuleKey]*list.Element), reasons: make(map[reasonKey]failure), stripped: make(map[reasonKey]bool),
		maps: mapBudget{bytes: mapsBytes, time: mapsTime, refilled: time.Now(), signalled: o.Signalled, signalledTime: o.SignalledTime}}
}

// MapsCut returns a warning about map files of generated code that were not read to the end; "" if all were.
func (r *Resolver) MapsCut() string {
	if r.maps.cut == 0 {
		return ""
	}
	why := "are too large, or too many, to be read to their ends"
	if r.maps.isSignalled {
		why = "were read for a second at most after the signal, which was too short for all of them"
	}
	return fmt.Sprintf("map files of generated code %s (%d were not read to their ends): functions in the generated code of these "+
		"processes may have no names", why, r.maps.cut)
}

// Close drops all tables and closes their files.
func (r *Resolver) Close() {
	for r.recent.Len() > 0 {
		r.drop(r.recent.Back())
	}
}

// Names names addresses of one module: out[i] is the function that holds at[i]. Where no name is known, out[i].OK is
// false, and Why returns the reason if that is the same for the whole module. The only error is an out shorter than at.
func (r *Resolver) Names(m *format.Module, at []Address, out []Name) error {
	if len(out) < len(at) {
		return fmt.Errorf("name %d addresses: there is room for only %d names", len(at), len(out))
	}
	clear(out[:len(at)])
	l := r.load(m)
	if l != nil && l.dump != nil && isBeyond(at, l.dump.End) {
		r.drop(r.tables[l.key])
		l = r.load(m)
	}
	if l == nil {
		return nil
	}
	form := r.options.Form
	if m.Kind == uint32(format.ModuleKind_MODULE_JIT) || l.dump != nil {
		form = RawForm
	}
	demangled := make(map[uint32]string) // by position in names: many addresses share a function
	for i, a := range at {
		out[i] = l.name(a, form, demangled)
	}
	return nil
}

func (l *loaded) name(a Address, form Form, demangled map[uint32]string) Name {
	address, ok := l.address(a)
	if !ok {
		return Name{}
	}
	i, ok := l.table.find(address)
	if !ok {
		return Name{}
	}
	position := l.table.pieces[i].name
	function, ok := demangled[position]
	if !ok {
		if function, ok = l.table.name(i); !ok || function == "" {
			return Name{}
		}
		function = Demangle(function, form)
		demangled[position] = function
	}
	start, _ := l.table.span(i)
	offset := address - start
	if a.Caller {
		offset++
	}
	return Name{Function: function, Offset: offset, OK: true}
}

// address is the address in the table of a place: of a call's last byte for the place after it.
func (l *loaded) address(a Address) (uint64, bool) {
	if a.Caller {
		if a.Offset == 0 {
			return 0, false
		}
		a.Offset--
	}
	if l.file == nil {
		return a.Offset, true
	}
	return l.file.Address(a.Offset)
}
