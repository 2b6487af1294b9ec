package usercode

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"wprof/internal/cli"
	"wprof/internal/probe"
	"wprof/internal/symbol"
)

// Datum is a variable of a file that has an address of its own.
type Datum struct {
	Name    string
	Address uint64
	Size    uint64 // bytes; 0: not known
}

// errThreadLocal is why a variable has no address of its own.
var errThreadLocal = errors.New("it is thread-local: each thread has one of its own; watch the address of one of them")

// Datum returns the variable with a name: as the symbol table has it, or demangled.
func (f *File) Datum(name string) (Datum, error) {
	m := newMatcher(name)
	m.isGlob = false
	found, global := map[uint64]Datum{}, map[uint64]Datum{}
	isThreadLocal := false
	err := f.symbols.EveryDatum(f.debugFile(), func(n symbol.NamedData) {
		d := Datum{Name: name, Address: n.Address, Size: n.Size}
		switch {
		case !m.matches(n.Name):
		case n.IsThreadLocal:
			isThreadLocal = true
		case n.IsLocal:
			found[n.Address] = d
		default:
			found[n.Address], global[n.Address] = d, d
		}
	})
	if len(global) > 0 {
		found = global // it is what the linker means by the name
	}
	switch {
	case err != nil:
		return Datum{}, fmt.Errorf("find data of %s: %w", f.path, err)
	case len(found) == 0 && isThreadLocal:
		return Datum{}, errThreadLocal
	case len(found) == 0:
		return Datum{}, &NotFound{What: "variable", Name: name, Near: f.nearData(name)}
	case len(found) > 1:
		var addresses []string
		for at := range found {
			addresses = append(addresses, fmt.Sprintf("%#x", at))
		}
		slices.Sort(addresses)
		return Datum{}, fmt.Errorf("there are %d variables of this name, at %v in the file: name the address of one in the process", len(found), addresses[:min(len(addresses), maxListed)])
	}
	for _, d := range found {
		return d, nil
	}
	return Datum{}, nil
}

// Data returns the variables whose names a pattern matches, sorted by name, and then by address.
func (f *File) Data(pattern string) ([]Datum, error) {
	m := newMatcher(pattern)
	found := map[Datum]bool{}
	err := f.symbols.EveryDatum(f.debugFile(), func(n symbol.NamedData) {
		if !n.IsThreadLocal && n.Size > 0 && m.matches(n.Name) {
			found[Datum{Name: symbol.Demangle(n.Name, symbol.DefaultForm), Address: n.Address, Size: n.Size}] = true
		}
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("find data of %s: %w", f.path, err)
	case len(found) == 0:
		return nil, &NotFound{What: "variable", Name: pattern, Near: f.nearData(pattern)}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b Datum) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address), cmp.Compare(a.Size, b.Size))
	}), nil
}

// nearData returns names of variables that a wrong name may have meant, best first.
func (f *File) nearData(name string) []string {
	var all []string
	seen := map[string]bool{}
	_ = f.symbols.EveryDatum(f.debugFile(), func(n symbol.NamedData) { // Datum has reported it
		if short := symbol.Demangle(n.Name, symbol.DefaultForm); !seen[short] && len(all) < maxNear {
			seen[short] = true
			all = append(all, short)
		}
	})
	slices.Sort(all)
	near := cli.Nearest(name, all)
	return near[:min(len(near), 3)]
}

// DatumLeaf returns how the variable at an address is shown, by its type in the DWARF; false: it is not known, or no number of that many bytes.
func (f *File) DatumLeaf(address uint64, bytes int) (leaf probe.Leaf, ok bool) {
	var failed error
	defer func() { ok = ok && failed == nil }()
	defer symbol.RecoverTo(&failed, "read DWARF")
	d, err := f.data()
	if err != nil {
		return leaf, false
	}
	_ = d.eachUnit(func(u *unit, r *dwarf.Reader) (bool, error) { // units before malformed bytes are read
		t, err := u.datumAt(r, address)
		if t == nil || err != nil {
			return err == nil, err
		}
		v := variable{unit: u, value: whole(constant(0)), typ: t}
		read, err := v.readNumber()
		if leaf = read.Leaf; err == nil && leaf.Size == bytes && (t.kind == kindNumber || t.kind == kindEnum || t.kind == kindPointer) {
			ok = true
		}
		return false, nil
	})
	return leaf, ok
}

// datumAt finds the type of the variable at an address among those of a unit and its namespaces. r is behind the unit's own entry.
func (u *unit) datumAt(r *dwarf.Reader, address uint64) (*typ, error) {
	if !u.entry.Children {
		return nil, nil
	}
	for depth := 1; depth > 0; {
		e, err := u.d.next(r)
		if err != nil || e == nil {
			return nil, err
		}
		switch {
		case e.Tag == 0:
			depth--
		case e.Tag == dwarf.TagVariable && u.isAt(e, address):
			return u.typeOf(e)
		case e.Children && (e.Tag == dwarf.TagNamespace || e.Tag == dwarf.TagModule || e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagLexDwarfBlock):
			depth++ // functions have static variables
		case e.Children:
			r.SkipChildren()
		}
	}
	return nil, nil
}

// isAt reports whether a variable is at an address.
func (u *unit) isAt(e *dwarf.Entry, address uint64) bool {
	place, _ := e.Val(dwarf.AttrLocation).([]byte)
	switch {
	case len(place) == 9 && place[0] == opAddr:
		return u.d.order.Uint64(place[1:]) == address
	case len(place) > 1 && (place[0] == opAddrx || place[0] == opGNUAddrIndex):
		index, n := binary.Uvarint(place[1:])
		at, found := u.address(index)
		return n == len(place)-1 && found && at == address
	}
	return false
}

// Bias is what is added to an address of the file, to get that in a process which has mapped the file's code from an offset on at an address.
func (f *File) Bias(start, offset uint64) (uint64, bool) {
	const page = 4096 // segments begin at any offset, mappings at pages
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && offset >= p.Off/page*page && offset < p.Off+p.Filesz {
			return start - (p.Vaddr + offset - p.Off), true
		}
	}
	return 0, false
}
