package dwarfline

// node is a function at one place: a function, or one that is inlined into another.
type node struct {
	parent   int32 // index of the function that it is inlined into; none: it is not
	inlined  bool
	callLine uint32
	callFile uint64
	entry    uint64 // where it is in .debug_info
	outer    *Line  // where it is inlined; nil: it is not
	depth    int32  // functions of outer
}

// none is no node.
const none = -1

const (
	// maxDepth bounds the nesting of entries. Compilers reach some hundreds.
	maxDepth = 1 << 16
	// maxNodes bounds the functions at the addresses of one unit.
	maxNodes = 4 << 20
)

// walk finds the innermost function of each of the addresses, which are sorted: owners[i] is an index in the nodes, or none.
// Only functions at an address become nodes.
func (s *scope) walk(addresses []uint64, owners []int32, buffer []node) (nodes []node, err error) {
	nodes = buffer
	for i := range owners {
		owners[i] = none
	}
	b, err := s.d.load(s.u)
	if err != nil {
		return nodes, err
	}
	c := cursor{b: b, at: int(s.u.header), order: s.d.order, wide: s.u.wide}
	around := []int32{none} // the functions around the current entry, by its depth
	for c.left() > 0 {
		entry := uint64(c.at)
		code := c.uleb()
		if code == 0 { // the end of a list of children, or padding
			if len(around) > 1 {
				around = around[:len(around)-1]
			}
			continue
		}
		a := s.table.find(code)
		if a == nil {
			return nodes, errMalformed
		}
		inside := around[len(around)-1]
		sibling := uint64(0)
		switch isFunction := a.tag == tagSubprogram || a.tag == tagInlinedSubroutine; {
		case isFunction && a.code:
			n := node{parent: inside, inlined: a.tag == tagInlinedSubroutine, entry: s.u.offset + entry}
			if !n.inlined {
				n.parent = none
			}
			if nodes, inside, sibling, err = s.function(&c, a, n, nodes, addresses, owners); err != nil {
				return nodes, err
			}
		case isFunction:
			s.u.skipEntry(&c, a)
			inside = none
		default:
			s.u.skipEntry(&c, a)
		}
		if c.bad {
			return nodes, errMalformed
		}
		switch {
		case !a.children:
		case sibling > uint64(c.at) && sibling <= uint64(len(b)):
			c.at = int(sibling)
		case len(around) >= maxDepth:
			return nodes, errMalformed
		default:
			around = append(around, inside)
		}
	}
	return nodes, nil
}

// function reads a function, and makes it the owner of its addresses. It returns the nodes, the function's own one or none, and
// where its next sibling is; 0: its children have to be read.
func (s *scope) function(c *cursor, a *abbrev, n node, nodes []node, addresses []uint64, owners []int32) (_ []node, own int32, sibling uint64, err error) {
	var e extent
	sibling = s.readFunction(c, a, &n, &e)
	own = none
	hits := 0
	if err := s.each(&e, func(low, high uint64) {
		for i := search(addresses, low); i < len(addresses) && addresses[i] < high; i++ {
			if own == none {
				nodes = append(nodes, n)
				own = int32(len(nodes) - 1)
			}
			owners[i] = own
			hits++
		}
	}); err != nil {
		return nodes, own, 0, err
	}
	if err := s.d.spend(hits); err != nil || len(nodes) > maxNodes {
		return nodes, own, 0, errTooMuch
	}
	if own != none || !n.inlined {
		sibling = 0 // a function may have others in it that are somewhere else
	}
	return nodes, own, sibling, nil
}

// readFunction reads the attributes of a function, and returns where its next sibling is; 0: it does not say.
func (s *scope) readFunction(c *cursor, a *abbrev, n *node, e *extent) (sibling uint64) {
	for i := range a.attrs {
		v := s.u.read(c, &a.attrs[i])
		switch a.attrs[i].attr {
		case attrSibling:
			sibling = v.u
		case attrLowPC:
			e.low = v
		case attrHighPC:
			e.high = v
		case attrRanges:
			e.ranges = v
		case attrCallFile:
			n.callFile = v.u
		case attrCallLine:
			n.callLine = uint32(min(v.u, 1<<32-1))
		}
	}
	return sibling
}

// search returns the index of the first address that is not below low.
func search(addresses []uint64, low uint64) int {
	from, to := 0, len(addresses)
	for from < to {
		if middle := int(uint(from+to) / 2); addresses[middle] < low {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}
