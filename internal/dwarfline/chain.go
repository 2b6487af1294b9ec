package dwarfline

import (
	"cmp"
	"slices"
)

// chainKey is what a chain depends on within a unit.
type chainKey struct {
	owner int32
	at    place
}

// findInUnit visits addresses of one unit.
func (f *File) findInUnit(u *unit, addresses []uint64, visit func(i int, chain []Line)) (err error) {
	defer recoverTo(&err)
	s, err := f.main.scope(u, nil)
	if err != nil {
		return err
	}
	code := s // the scope that has the functions
	if s.dwoName.form != 0 {
		split, done, failed := f.split(s)
		if failed == nil {
			defer done()
			code = split
		}
		err = failed
	}
	owners := slices.Grow(f.owners[:0], len(addresses))[:len(addresses)]
	nodes, failed := code.walk(addresses, owners, f.nodes[:0])
	f.owners, f.nodes = owners, nodes
	err = cmp.Or(err, failed)
	places := slices.Grow(f.places[:0], len(addresses))[:len(addresses)]
	f.places = places
	clear(places)
	table, failed := s.lines()
	err = cmp.Or(err, failed)
	if table != nil {
		err = cmp.Or(err, table.run(addresses, places))
	}
	chains := make(map[chainKey][]Line)
	for i := range addresses {
		key := chainKey{owners[i], places[i]}
		chain, known := chains[key]
		if !known {
			chain = f.chain(code, table, nodes, key)
			chains[key] = chain
		}
		if len(chain) > 0 {
			visit(i, chain)
		}
	}
	return err
}

// maxChain bounds the functions at one place. Of more, those before the last are left out.
const maxChain = 256

// chain returns the functions at a place, innermost first.
func (f *File) chain(code *scope, table *lineTable, nodes []node, key chainKey) (chain []Line) {
	at := Line{}
	if key.at.known {
		at.File, at.Line = f.shared(table.path(uint64(key.at.file))), key.at.line
	}
	if key.owner == none && key.at.known {
		return []Line{at}
	}
	for i := key.owner; i != none; i = nodes[i].parent {
		n := &nodes[i]
		if len(chain) >= maxChain-1 && n.parent != none {
			continue
		}
		at.Function = f.function(code, n.entry)
		chain = append(chain, at)
		at = Line{File: f.shared(table.path(n.callFile)), Line: n.callLine}
	}
	return chain
}
