//go:build linux

package bpf

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// loadCollection loads the maps and then the programs on all CPUs. The verifier takes most of the time, and it checks the
// programs of a privileged user side by side (bpf_check in kernel/bpf/verifier.c).
func loadCollection(spec *ebpf.CollectionSpec, types *btf.Cache) (*ebpf.Collection, error) {
	withoutPrograms := *spec
	withoutPrograms.Programs = nil
	c, err := ebpf.NewCollectionWithOptions(&withoutPrograms, ebpf.CollectionOptions{Cache: types})
	if err != nil {
		return nil, err
	}
	if err := sizeCounters(c.Maps, spec.Maps); err != nil {
		c.Close()
		return nil, err
	}
	kernel, err := types.Kernel()
	if err != nil {
		c.Close()
		return nil, err
	}
	l := loader{types: types, kernel: kernel, maps: c.Maps, specs: spec.Programs, names: longestFirst(spec.Programs), programs: c.Programs}
	if err := l.load(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// longestFirst returns the names of the programs by their numbers of instructions, so that no long one starts last, while the other
// CPUs idle.
func longestFirst(programs map[string]*ebpf.ProgramSpec) []string {
	return slices.SortedFunc(maps.Keys(programs), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(programs[b].Instructions), len(programs[a].Instructions)), cmp.Compare(a, b))
	})
}

// loader loads programs that share maps.
type loader struct {
	types  *btf.Cache
	kernel *btf.Spec // without the types of modules, which the library does not read safely on several threads
	maps   map[string]*ebpf.Map

	specs    map[string]*ebpf.ProgramSpec
	mu       sync.Mutex
	names    []string // not yet loaded
	programs map[string]*ebpf.Program
	err      error // the first one
}

func (l *loader) load() error {
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(l.names)) {
		workers.Go(func() {
			for name := l.next(); name != ""; name = l.next() {
				p, err := l.loadProgram(l.specs[name])
				l.loaded(name, p, err)
			}
		})
	}
	workers.Wait()
	return l.err
}

// next returns "" after the last program and after an error.
func (l *loader) next() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.names) == 0 || l.err != nil {
		return ""
	}
	name := l.names[0]
	l.names = l.names[1:]
	return name
}

func (l *loader) loaded(name string, p *ebpf.Program, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.err = cmp.Or(l.err, err)
		return
	}
	l.programs[name] = p
}

func (l *loader) loadProgram(of *ebpf.ProgramSpec) (*ebpf.Program, error) {
	program, name := of.Copy(), of.Name
	for i := range program.Instructions {
		ins := &program.Instructions[i]
		m := l.maps[ins.Reference()]
		if m == nil || !ins.IsLoadFromMap() {
			continue
		}
		if err := ins.AssociateMap(m); err != nil {
			return nil, fmt.Errorf("program %s: %w", name, err)
		}
	}
	only := &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{name: program}}
	c, err := ebpf.NewCollectionWithOptions(only, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: l.kernel}, Cache: l.types})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return withoutTypes(name, c.Programs[name])
}

// loader returns a function that loads one more program after the others.
func (t *Tracer) loader(types *btf.Cache) loadProgram {
	return func(spec *ebpf.ProgramSpec) (*ebpf.Program, error) {
		kernel, err := types.Kernel()
		if err != nil {
			return nil, err
		}
		l := loader{types: types, kernel: kernel, maps: t.collection.Maps}
		return l.loadProgram(spec)
	}
}

// withoutTypes reopens a program without its BTF, of which the library keeps a descriptor open for lookups: one more open file a program.
func withoutTypes(name string, p *ebpf.Program) (*ebpf.Program, error) {
	fd, err := unix.FcntlInt(uintptr(p.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate kernel program %s: %w", name, err)
	}
	same, err := ebpf.NewProgramFromFD(fd)
	if err != nil {
		return nil, fmt.Errorf("open kernel program %s again: %w", name, err)
	}
	return same, nil
}
