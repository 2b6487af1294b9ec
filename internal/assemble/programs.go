package assemble

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/sideband"
	"wprof/internal/symbol"
)

// programs are functions of the kernel at a time, by address: those of BPF programs, and of kernel modules that were loaded
// during the recording. Each function of a BPF program is a module of its own, because another program may be loaded at the
// same address later.
type programs struct {
	functions []program
	modules   map[symbol.KernelModule]*module // that were loaded during the recording, by name and base
	version   uint64                          // changes with them
}

type program struct {
	from, to uint64
	name     string
	module   *module
}

const (
	// maxPrograms is more than any machine has.
	maxPrograms = 1 << 17
	// maxLoadedModules is more than any kernel has.
	maxLoadedModules = 1 << 14
	// maxFunctionName and maxModuleName are KSYM_NAME_LEN and MODULE_NAME_LEN of the kernel, rounded up.
	maxFunctionName = 512
	maxModuleName   = 64
)

// isFunction reports whether a record can be of a function of the kernel.
func isFunction(r *sideband.Record) bool {
	return r.Length > 0 && r.Start+r.Length > r.Start && len(r.Path) > 0 && len(r.Path) <= maxFunctionName && len(r.Data) <= maxModuleName
}

// add puts a function in place of what it overlaps.
func (p *programs) add(r *sideband.Record) {
	if !isFunction(r) {
		return
	}
	from, to := r.Start, r.Start+r.Length
	m := p.moduleOf(r)
	first, last := p.overlapped(from, to)
	if last == first+1 && p.functions[first] == (program{from, to, string(r.Path), m}) {
		return // it was applied before
	}
	if len(p.functions)-(last-first) >= maxPrograms {
		return
	}
	p.functions = slices.Replace(p.functions, first, last, program{from, to, string(r.Path), m})
	p.version++
}

func (p *programs) moduleOf(r *sideband.Record) *module {
	path, base := "[bpf]", r.Start
	if len(r.Data) > 0 {
		path, base = "["+string(r.Data)+"]", r.Start-min(r.Start, r.Offset)
	}
	key := symbol.KernelModule{Name: string(r.Data), Base: base}
	if m := p.modules[key]; m != nil {
		return m
	}
	m := &module{loaded: true, definition: &format.Module{
		Path: []byte(path), Base: base, Kind: uint32(format.ModuleKind_MODULE_KERNEL_MODULE),
	}}
	if len(r.Data) > 0 && len(p.modules) < maxLoadedModules {
		if p.modules == nil {
			p.modules = make(map[symbol.KernelModule]*module)
		}
		p.modules[key] = m
	}
	return m
}

// remove takes functions away.
func (p *programs) remove(r *sideband.Record) {
	if len(r.Data) > 0 {
		delete(p.modules, symbol.KernelModule{Name: string(r.Data), Base: r.Start - min(r.Start, r.Offset)})
	}
	first, last := p.overlapped(r.Start, r.Start+r.Length)
	if first < last {
		p.functions = slices.Delete(p.functions, first, last)
		p.version++
	}
}

// overlapped returns the range of functions that overlap the addresses from..to.
func (p *programs) overlapped(from, to uint64) (first, last int) {
	first, _ = slices.BinarySearchFunc(p.functions, from, func(f program, a uint64) int { return cmp.Compare(f.to, a+1) })
	for last = first; last < len(p.functions) && p.functions[last].from < to; last++ {
	}
	return first, last
}

// find is the function that an address stands in; nil: none does.
func (p *programs) find(address uint64) *program {
	first, last := p.overlapped(address, address+1)
	if first == last {
		return nil
	}
	return &p.functions[first]
}

// function is the name of a frame in a module that find has returned, and its offset in the function.
func (p *programs) function(m *module, f *frame) (name string, offset uint64) {
	address := m.definition.Base + f.offset
	back := uint64(0)
	if f.caller && f.offset > 0 {
		back = 1
	}
	found := p.find(address - back)
	if found == nil || found.module != m {
		return "", 0
	}
	return found.name, address - found.from
}
