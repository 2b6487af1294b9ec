package dwarfline

import (
	"cmp"
	"slices"
)

// findInUnit visits addresses of one unit.
func (f *File) findInUnit(u *unit, addresses []uint64, visit func(i int, line *Line)) (err error) {
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
	f.addOuter(code, table, nodes)
	var line *Line
	for i := range addresses {
		// Addresses are sorted: those with the same line follow one another.
		if i == 0 || owners[i] != owners[i-1] || places[i] != places[i-1] {
			line = f.line(code, table, nodes, owners[i], places[i])
		}
		if line != nil {
			visit(i, line)
		}
	}
	return err
}

// maxChain bounds the functions at one place. Of more, those next to the innermost are left out.
const maxChain = 256

// addOuter adds to each node where it is inlined. A node comes after the one that it is inlined into.
func (f *File) addOuter(code *scope, table *lineTable, nodes []node) {
	for i := range nodes {
		n := &nodes[i]
		if n.parent == none {
			continue
		}
		parent := &nodes[n.parent]
		if n.outer, n.depth = parent.outer, parent.depth; n.depth >= maxChain-1 {
			continue
		}
		n.depth++
		n.outer = f.newLine(Line{f.function(code, parent.entry), f.shared(table.path(n.callFile)), n.callLine, parent.outer})
	}
}

// line returns the innermost function at a place; nil: neither it nor its line is known.
func (f *File) line(code *scope, table *lineTable, nodes []node, owner int32, at place) *Line {
	if owner == none && !at.known {
		return nil
	}
	l := f.newLine(Line{})
	if at.known {
		l.File, l.Line = f.shared(table.path(uint64(at.file))), at.line
	}
	if owner != none {
		l.Function, l.Outer = f.function(code, nodes[owner].entry), nodes[owner].outer
	}
	return l
}

// newLine allocates lines many at a time.
func (f *File) newLine(l Line) *Line {
	if len(f.lines) == 0 {
		f.lines = make([]Line, 512)
	}
	at := &f.lines[0]
	f.lines = f.lines[1:]
	*at = l
	return at
}
