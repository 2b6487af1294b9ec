package assemble

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"wprof/format"
	"wprof/internal/symbol"
)

// Namer finds the names of functions. An error is why a module has none, or not all; the names in out are used nevertheless.
type Namer interface {
	Names(m *format.Module, at []symbol.Address, out []symbol.Name) error
}

// LineFinder finds source lines, as [symbol.Resolver] does. Why there are none is for itself to report.
type LineFinder interface {
	Lines(m *format.Module, at []symbol.Address, visit func(i int, line *symbol.Line))
}

// canHaveNames reports whether frames of a module can have names.
func canHaveNames(m *format.Module) bool {
	kind := format.ModuleKind(m.Kind)
	return kind != format.ModuleKind_MODULE_ANON && !m.IsInterpreted() && kind != format.ModuleKind_MODULE_UNKNOWN
}

// nameRef is a name in 12 bytes.
type nameRef struct {
	name  uint32 // in nameTable.strings
	start uint32
}

const (
	pendingName = 0 // in nameTable.strings: not looked up yet
	noName      = 1 // there is no name
)

const (
	// maxNames and maxNameBytes bound the names that are kept for a whole recording: 30 bytes each and the
	// names themselves.
	maxNames     = 1 << 19
	maxNameBytes = 24 << 20
)

// nameTable keeps each name once.
type nameTable struct {
	strings []string
	index   map[string]uint32
	bytes   int
	entries int
}

func newNameTable() *nameTable {
	return &nameTable{strings: []string{"", ""}, index: make(map[string]uint32)}
}

func (n *nameTable) full() bool { return n.entries >= maxNames || n.bytes >= maxNameBytes }

// ref is the reference to a name; false: it cannot be kept.
func (n *nameTable) ref(name *symbol.Name) (nameRef, bool) {
	if !name.OK || name.Function == "" {
		return nameRef{name: noName}, true
	}
	if name.Offset > math.MaxUint32 {
		return nameRef{}, false
	}
	i, ok := n.index[name.Function]
	if !ok {
		if n.bytes >= maxNameBytes {
			return nameRef{}, false
		}
		i = uint32(len(n.strings))
		n.strings = append(n.strings, name.Function)
		n.index[name.Function] = i
		n.bytes += len(name.Function)
	}
	return nameRef{i, uint32(name.Offset)}, true
}

// note makes room for the name of a place, unless there are too many.
func (n *nameTable) note(m *module, at symbol.Address) {
	names := &m.names[side(at.Caller)]
	if _, ok := (*names)[at.Offset]; ok || n.entries >= maxNames {
		return
	}
	if *names == nil {
		*names = make(map[uint64]nameRef)
	}
	(*names)[at.Offset] = nameRef{}
	n.entries++
}

// set keeps the name of a place that was noted.
func (n *nameTable) set(m *module, at symbol.Address, name *symbol.Name) {
	if ref, ok := n.ref(name); ok {
		m.names[side(at.Caller)][at.Offset] = ref
	}
}

// clear drops all names, which are those of some modules.
func (n *nameTable) clear(modules map[format.ModuleKey]*module) {
	for _, m := range modules {
		m.names, m.lines = [2]map[uint64]nameRef{}, nil
	}
	*n = *newNameTable()
}

// lookUpAll looks up everything that was noted, module by module, so that one symbol table is in memory at a time.
func (n *nameTable) lookUpAll(namer Namer, lines LineFinder, modules map[format.ModuleKey]*module) {
	all := slices.Collect(maps.Values(modules))
	slices.SortFunc(all, func(a, b *module) int {
		return cmp.Or(cmp.Compare(a.definition.Kind, b.definition.Kind), cmp.Compare(string(a.definition.Path), string(b.definition.Path)),
			cmp.Compare(b.definition.Generation, a.definition.Generation)) // the latest is the one whose file is at the path
	})
	var at []symbol.Address
	out := make([]symbol.Name, maxLookups)
	for _, m := range all {
		at = m.noted(at[:0])
		for some := range slices.Chunk(at, maxLookups) {
			clear(out)
			if err := namer.Names(m.definition, some, out[:len(some)]); err != nil && m.count.err == nil {
				m.count.err = err
			}
			for i := range some {
				n.set(m, some[i], &out[i])
			}
		}
		if lines != nil && len(at) > 0 && symbol.CanHaveLines(m.definition) {
			m.lines = make(map[symbol.Address]*symbol.Line)
			lines.Lines(m.definition, at, func(i int, line *symbol.Line) { m.lines[at[i]] = line })
		}
	}
}

// maxLookups is how many places of a module are looked up at once.
const maxLookups = 1 << 12

// noted are the places of a module whose names were not looked up yet, in order.
func (m *module) noted(at []symbol.Address) []symbol.Address {
	for caller, names := range m.names {
		for offset, ref := range names {
			if ref.name == pendingName {
				at = append(at, symbol.Address{Offset: offset, Caller: caller == 1})
			}
		}
	}
	slices.SortFunc(at, func(a, b symbol.Address) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(side(a.Caller), side(b.Caller)))
	})
	return at
}
