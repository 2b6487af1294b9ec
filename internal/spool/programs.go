package spool

import (
	"cmp"
	"slices"

	"wprof/format"
)

// programs are the functions of BPF programs that the kernel has at a time, by address. Each is a module of its own: the
// next program may be put where one was.
type programs struct {
	functions []program
	version   uint64 // changes with them
}

type program struct {
	from, to uint64
	module   *module
}

// maxPrograms is more than any machine has.
const maxPrograms = 1 << 16

// add puts a function in place of what it overlaps.
func (p *programs) add(from, length uint64, name string) {
	to := from + length
	if length == 0 || to < from || name == "" {
		return
	}
	first, last := p.overlapped(from, to)
	if len(p.functions)-(last-first) >= maxPrograms {
		return
	}
	m := &module{function: name, definition: &format.Module{
		Path: []byte("[bpf]"), Base: from, Kind: uint32(format.ModuleKind_MODULE_KERNEL_MODULE),
	}}
	p.functions = slices.Replace(p.functions, first, last, program{from, to, m})
	p.version++
}

// remove takes functions away.
func (p *programs) remove(from, length uint64) {
	first, last := p.overlapped(from, from+length)
	if first < last {
		p.functions = slices.Delete(p.functions, first, last)
		p.version++
	}
}

// overlapped are the indices of the functions that have an address from from to before to.
func (p *programs) overlapped(from, to uint64) (first, last int) {
	first, _ = slices.BinarySearchFunc(p.functions, from, func(f program, a uint64) int { return cmp.Compare(f.to, a+1) })
	for last = first; last < len(p.functions) && p.functions[last].from < to; last++ {
	}
	return first, last
}

// find is the function that an address stands in; nil: none does.
func (p *programs) find(address uint64) *module {
	first, last := p.overlapped(address, address+1)
	if first == last {
		return nil
	}
	return p.functions[first].module
}
