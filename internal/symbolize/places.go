package symbolize

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/symbol"
)

const (
	// maxAhead bounds the places whose names are looked up in advance, 100 bytes each, their names and lines. A module takes as
	// much as placesPerModule of them. Beyond it, each is looked up when it is needed, and gets no lines.
	maxAhead        = 1 << 20
	placesPerModule = 10
)

// places are the places of a capture, module by module.
type places struct {
	modules map[format.ModuleKey]*modulePlaces
	total   int
	// The module of the last place: the next one is mostly in it too.
	last       *format.Module
	lastPlaces *modulePlaces
}

// modulePlaces are the places of one module. Their names and lines have the same index.
type modulePlaces struct {
	module *format.Module
	wanted map[symbol.Address]struct{} // nil once they are sorted
	at     []symbol.Address
	names  []symbol.Name
	lines  []*symbol.Line // the innermost function; nil: not known
}

func newPlaces() *places { return &places{modules: make(map[format.ModuleKey]*modulePlaces)} }

// of returns the places of a module; nil: it has none.
func (p *places) of(m *format.Module) *modulePlaces {
	if m != p.last {
		p.last, p.lastPlaces = m, p.modules[m.Key()]
	}
	return p.lastPlaces
}

// add adds a place unless there are too many.
func (p *places) add(m *format.Module, at symbol.Address) {
	in := p.of(m)
	if in != nil {
		if _, known := in.wanted[at]; known {
			return
		}
	}
	if p.total >= maxAhead {
		return
	}
	if in == nil {
		in = &modulePlaces{module: m, wanted: make(map[symbol.Address]struct{})}
		p.modules[m.Key()], p.lastPlaces = in, in
		p.total += placesPerModule
	}
	in.wanted[at] = struct{}{}
	p.total++
}

// sort makes room for names and lines.
func (p *modulePlaces) sort() {
	p.at = make([]symbol.Address, 0, len(p.wanted))
	for at := range p.wanted {
		p.at = append(p.at, at)
	}
	p.wanted = nil
	slices.SortFunc(p.at, compareAddresses)
	p.names, p.lines = make([]symbol.Name, len(p.at)), make([]*symbol.Line, len(p.at))
}

func compareAddresses(a, b symbol.Address) int {
	if a.Offset != b.Offset || a.Caller == b.Caller {
		return cmp.Compare(a.Offset, b.Offset)
	}
	if b.Caller {
		return -1
	}
	return 1
}

// find returns what was found about a place; false: it was not looked up.
func (p *places) find(m *format.Module, at symbol.Address) (found, bool) {
	in := p.of(m)
	if in == nil {
		return found{}, false
	}
	i, ok := slices.BinarySearchFunc(in.at, at, compareAddresses)
	if !ok {
		return found{}, false
	}
	return found{in.names[i], in.lines[i]}, true
}
