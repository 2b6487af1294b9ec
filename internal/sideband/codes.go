package sideband

import (
	"maps"
	"slices"

	"wprof/format"
)

const (
	// maxCodePages bounds the references from pages to functions, of all processes: 4 bytes each.
	maxCodePages = 1 << 20
	// maxCodesTried bounds the functions that are compared with an address: the latest that have been on its page.
	maxCodesTried = 4096
	codePageShift = 12
)

// codes are the functions that a program has generated, of which the latest at an address is there.
type codes struct {
	list   []code              // in the order of time
	pages  map[uint64][]uint32 // indices in list, by page of addresses
	refs   int                 // elements of pages
	pid    uint32              // whose dump lists them
	owners int                 // processes that share it: those that a process forks have its code, and may go on to list more in the same dump
	latest uint64              // of Tables.versions, when it was changed
}

type code struct {
	start, length uint64
	offset        uint64 // in the module, at start
	module        *format.Module
}

// code adds a function of a program, which replaces what was at its addresses. The record may be that of an earlier program of the
// process.
func (t *Tables) code(p *process, r *Record) {
	if r.Length == 0 || r.Start+r.Length < r.Start || r.Time < p.began {
		return
	}
	first, last := r.Start>>codePageShift, (r.Start+r.Length-1)>>codePageShift
	c := t.ownCodes(p, r.PID)
	if c == nil || last-first >= maxCodePages-uint64(t.codePages) {
		return
	}
	_, path := classify(r)
	module := t.intern(&format.Module{
		Kind: uint32(format.ModuleKind_MODULE_FILE), Path: path, Device: r.Device, Inode: r.Inode, Generation: r.Generation, Mtime: r.Count,
	})
	for page := first; page <= last; page++ {
		c.pages[page] = append(c.pages[page], uint32(len(c.list)))
		c.refs++
		t.codePages++
	}
	c.list = append(c.list, code{r.Start, r.Length, r.Offset, module})
	t.versions++
	c.latest = t.versions
}

// ownCodes returns the functions to which a dump of a process adds. Those of its parent, which has another dump, are copied. It returns
// nil if there is no room for the copy.
func (t *Tables) ownCodes(p *process, pid uint32) *codes {
	c := p.codes
	switch {
	case c == nil:
		c = &codes{pages: make(map[uint64][]uint32)}
	case c.pid == pid:
		return c
	case c.refs >= maxCodePages-t.codePages:
		return nil
	default:
		c.owners--
		c = &codes{list: slices.Clone(c.list), pages: maps.Clone(c.pages), refs: c.refs}
		for page, list := range c.pages {
			c.pages[page] = slices.Clone(list)
		}
		t.codePages += c.refs
	}
	c.pid, c.owners = pid, 1
	p.codes = c
	return c
}

// find returns the latest function at an address; nil: there is none.
func (c *codes) find(address uint64) *code {
	all := c.pages[address>>codePageShift]
	for _, i := range slices.Backward(all[max(0, len(all)-maxCodesTried):]) {
		if one := &c.list[i]; address-one.start < one.length {
			return one
		}
	}
	return nil
}
