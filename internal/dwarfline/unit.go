package dwarfline

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// Types of units, DWARF 5, section 7.5.1.
const (
	unitType         = 0x02
	unitSkeleton     = 0x04
	unitSplitCompile = 0x05
	unitSplitType    = 0x06
)

const (
	// maxUnits bounds the units of a file, 48 bytes each. Chrome has some 40,000.
	maxUnits = 2 << 20
	// maxUnitBytes bounds a unit, which is held in memory as a whole.
	maxUnitBytes = 256 << 20
	// maxEntryBytes bounds one entry.
	maxEntryBytes = 1 << 20
	// maxScopes bounds the units whose first entries are kept.
	maxScopes = 64
)

// unit is the header of a unit in .debug_info.
type unit struct {
	offset, size uint64 // of the whole unit
	abbrev       uint64
	id           uint64 // of a split unit and its skeleton in DWARF 5
	version      uint16
	addressSize  uint8
	header       uint8 // bytes of the header
	kind         uint8
	wide         bool
}

func (u *unit) offsetSize() uint64 {
	if u.wide {
		return 8
	}
	return 4
}

// data is the debug sections of one file, or of one unit in a package.
type data struct {
	image    *Image
	order    binary.ByteOrder
	inflated uint64
	close    []func()

	info, abbrev, str, lineStr, strOffsets section
	line, ranges, rnglists, addr           section

	units      []unit // in order
	whole      section
	alt        *data
	program    []byte // of the unit's lines; used again for the next one
	tables     map[abbrevKey]*abbrevTable
	tableBytes int
	scopes     map[uint64]*scope
	functions  nameCache // by their entries
	texts      nameCache // by their places in .debug_str
	budget     *int64    // bytes that may still be read, so that a hostile file does not take hours
}

var (
	errMalformed = errors.New("its DWARF is malformed")
	errTooMuch   = errors.New("its DWARF refers to the same parts too often")
)

// spend counts n bytes of work.
func (d *data) spend(n int) error {
	if *d.budget -= int64(n); *d.budget < 0 {
		return errTooMuch
	}
	return nil
}

// openData opens the debug sections of a file. suffix is ".dwo" for those of split units.
func openData(image *Image, suffix string, budget *int64) (d *data, err error) {
	d = newData(image, budget)
	defer func() {
		if err != nil {
			d.release()
		}
	}()
	for _, s := range []struct {
		name string
		into *section
	}{
		{"info" + suffix, &d.info}, {"abbrev" + suffix, &d.abbrev}, {"str" + suffix, &d.str}, {"line_str", &d.lineStr},
		{"str_offsets" + suffix, &d.strOffsets}, {"line", &d.line}, {"ranges", &d.ranges}, {"rnglists" + suffix, &d.rnglists},
		{"addr", &d.addr},
	} {
		if *s.into, err = d.section(s.name); err != nil {
			return nil, err
		}
		if s.into == &d.str {
			d.str.step = textStep
		}
		*budget += int64(min(s.into.size, maxInflated)) * workPerByte
	}
	return d, nil
}

func newData(image *Image, budget *int64) *data {
	return &data{image: image, order: image.ELF.ByteOrder, budget: budget, tables: make(map[abbrevKey]*abbrevTable),
		scopes: make(map[uint64]*scope)}
}

func (d *data) release() {
	for _, f := range d.close {
		f()
	}
	d.close = nil
}

// scan reads the headers of all units.
func (d *data) scan() error {
	d.whole = d.info
	for at := uint64(0); at < d.info.size; {
		u, err := d.header(at)
		if err != nil {
			return err
		}
		if len(d.units) >= maxUnits {
			return fmt.Errorf("its DWARF has more than %d units", maxUnits)
		}
		if u.kind != unitType && u.kind != unitSplitType {
			d.units = append(d.units, u)
		}
		at += u.size
	}
	d.units = slices.Clip(d.units)
	return nil
}

// header reads the header of a unit.
func (d *data) header(at uint64) (u unit, err error) {
	c := cursor{b: d.info.near(at, 48), order: d.order}
	n := c.length()
	start := uint64(c.at)
	u = unit{offset: at, size: n + start, wide: c.wide, version: c.u16()}
	if c.bad || n > d.info.size-at || u.size > d.info.size-at {
		return u, errMalformed
	}
	switch {
	case u.version >= 2 && u.version <= 4:
		u.abbrev, u.addressSize = c.offset(), c.u8()
	case u.version == 5:
		u.kind, u.addressSize = c.u8(), c.u8()
		u.abbrev = c.offset()
		switch u.kind {
		case unitSkeleton, unitSplitCompile:
			u.id = c.u64()
		case unitType, unitSplitType:
			c.u64()
			c.offset()
		}
	default:
		return u, fmt.Errorf("its DWARF has version %d, which is not known", u.version)
	}
	if u.header = uint8(c.at); c.bad || uint64(c.at) > u.size || u.addressSize != 4 && u.addressSize != 8 {
		return u, errMalformed
	}
	return u, nil
}

// unitAt returns the unit that an entry is in.
func (d *data) unitAt(entry uint64) *unit {
	i := sort.Search(len(d.units), func(i int) bool { return d.units[i].offset > entry }) - 1
	if i < 0 || entry-d.units[i].offset >= d.units[i].size {
		return nil
	}
	return &d.units[i]
}

// scope is what is needed to read the entries of a unit.
type scope struct {
	d     *data
	u     *unit
	of    *data // with the addresses: for a split unit, the file of its skeleton
	table *abbrevTable

	strOffsets, addrBase, rnglistsBase, rangesBase uint64
	splitRanges                                    uint64 // rangesBase of the split unit
	low                                            uint64 // that ranges are relative to
	hasLow                                         bool

	stmtList, name, compDir, dwoName, rangesAt, high value
	id                                               uint64
}

// scope reads the first entry of a unit. skeleton is that of a split unit, else nil.
func (d *data) scope(u *unit, skeleton *scope) (*scope, error) {
	if s := d.scopes[u.offset]; s != nil && skeleton == nil {
		return s, nil
	}
	table, err := d.abbrevs(u)
	if err != nil {
		return nil, err
	}
	s := d.newScope(u, table)
	if skeleton != nil {
		s.of, s.addrBase, s.rangesBase, s.low, s.hasLow = skeleton.d, skeleton.addrBase, skeleton.splitRanges, skeleton.low, skeleton.hasLow
		if u.version >= 5 {
			s.strOffsets, s.rnglistsBase = 2*u.offsetSize(), 12
			if u.wide {
				s.rnglistsBase = 20
			}
		}
	}
	if err := s.readRoot(); err != nil {
		return nil, err
	}
	if skeleton == nil {
		if len(d.scopes) >= maxScopes {
			clear(d.scopes)
		}
		d.scopes[u.offset] = s
	}
	return s, nil
}

func (d *data) newScope(u *unit, table *abbrevTable) *scope {
	return &scope{d: d, u: u, of: d, table: table, addrBase: 2 * u.offsetSize()}
}

// root reads the first entry of a unit, and no other can be read: most units need no more.
func (d *data) root(u *unit) (*scope, error) {
	table := d.firstAbbrev(u)
	if table == nil {
		return d.scope(u, nil)
	}
	s := d.newScope(u, table)
	return s, s.readRoot()
}

func (s *scope) readRoot() error {
	low := value{}
	tag, err := s.entry(s.u.offset+uint64(s.u.header), func(attr uint16, v value) {
		v.text = slices.Clone(v.text)
		switch attr {
		case attrStmtList:
			s.stmtList = v
		case attrName:
			s.name = v
		case attrCompDir:
			s.compDir = v
		case attrLowPC:
			low = v
		case attrHighPC:
			s.high = v
		case attrRanges:
			s.rangesAt = v
		case attrStrOffsetsBase:
			s.strOffsets = v.u
		case attrAddrBase, attrGNUAddrBase:
			s.addrBase = v.u
		case attrRnglistsBase:
			s.rnglistsBase = v.u
		case attrGNURangesBase:
			s.splitRanges = v.u
		case attrDwoName, attrGNUDwoName:
			s.dwoName = v
		case attrGNUDwoID:
			s.id = v.u
		}
	})
	if err != nil {
		return err
	}
	s.id = cmp.Or(s.id, s.u.id)
	if tag != tagCompileUnit && tag != tagSkeletonUnit {
		s.stmtList = value{} // a partial unit has no code of its own
	}
	if a, ok := s.address(low); ok {
		s.low, s.hasLow = a, true
	}
	return nil
}

// entry visits the attributes of an entry of the unit. Values are valid during the visit.
func (s *scope) entry(at uint64, visit func(attr uint16, v value)) (tag uint16, err error) {
	if at < s.u.offset+uint64(s.u.header) || at-s.u.offset >= s.u.size {
		return 0, errMalformed
	}
	end := s.u.offset + s.u.size
	for n := uint64(256); ; n *= 16 {
		b := s.d.bytesAt(at, min(n, end-at))
		b = b[:min(uint64(len(b)), end-at)]
		c := cursor{b: b, order: s.d.order, wide: s.u.wide}
		a := s.table.find(c.uleb())
		if a != nil && tryEntry(s.u, c, a) {
			for i := range a.attrs {
				visit(a.attrs[i].attr, s.u.read(&c, &a.attrs[i]))
			}
			return a.tag, s.d.spend(c.at)
		}
		if n >= end-at || n >= maxEntryBytes || a == nil && !c.bad {
			return 0, errMalformed
		}
	}
}

// tryEntry reports whether all attributes of an entry are in the bytes that were read.
func tryEntry(u *unit, c cursor, a *abbrev) bool {
	u.skipEntry(&c, a)
	return !c.bad
}

// bytesAt returns bytes of .debug_info: those of the unit that is in memory, or else others.
func (d *data) bytesAt(at, n uint64) []byte {
	if w := &d.whole; at >= w.from && at-w.from < uint64(len(w.window)) && uint64(len(w.window))-(at-w.from) >= n {
		return w.window[at-w.from:]
	}
	return d.info.near(at, n)
}

// load reads a whole unit to memory, until the next call.
func (d *data) load(u *unit) ([]byte, error) {
	if u.size > maxUnitBytes {
		return nil, fmt.Errorf("a unit of its DWARF is larger than %d MiB", maxUnitBytes>>20)
	}
	if err := d.spend(int(u.size)); err != nil {
		return nil, err
	}
	b := d.whole.near(u.offset, u.size)
	if uint64(len(b)) < u.size {
		return nil, errMalformed
	}
	return b[:u.size], nil
}
