package dwarfline

// Entries of a range list, DWARF 5, section 7.25.
const (
	rangeEnd          = 0
	rangeBaseAddressx = 1
	rangeStartxEndx   = 2
	rangeStartxLength = 3
	rangeOffsetPair   = 4
	rangeBaseAddress  = 5
	rangeStartEnd     = 6
	rangeStartLength  = 7
)

// extent is the addresses of an entry, from its attributes.
type extent struct {
	low, high, ranges value
}

// each visits the address ranges of an entry. Those of removed code are left out.
func (s *scope) each(e *extent, visit func(low, high uint64)) error {
	visitCode := func(low, high uint64) {
		if low < high && !s.isRemoved(low) {
			visit(low, high)
		}
	}
	if e.ranges.form != 0 {
		return s.eachInList(e.ranges, visitCode)
	}
	low, ok := s.address(e.low)
	if !ok {
		return nil
	}
	if e.high.isConstant() {
		if high := low + e.high.u; high >= low {
			visitCode(low, high)
		}
		return nil
	}
	if high, ok := s.address(e.high); ok {
		visitCode(low, high)
	}
	return nil
}

// isRemoved reports whether code that begins at an address was removed by the linker: it is at 0, or above all others.
func (s *scope) isRemoved(low uint64) bool { return low == 0 || low >= s.removed() }

// removed is the lowest address by which a linker marks code that it removed: lld writes -1, and -2 to .debug_ranges.
func (s *scope) removed() uint64 {
	if s.u.addressSize == 4 {
		return 1<<32 - 2
	}
	return 1<<64 - 2
}

func (s *scope) eachInList(v value, visit func(low, high uint64)) error {
	if s.u.version < 5 {
		return s.eachInRanges(v.u+s.rangesBase, visit)
	}
	if v.form != formRnglistx {
		return s.eachInRnglists(v.u, visit)
	}
	width, lists := s.u.offsetSize(), &s.d.rnglists
	if v.u >= lists.size {
		return errMalformed
	}
	c := cursor{b: lists.near(s.rnglistsBase+v.u*width, width), order: s.d.order, wide: s.u.wide}
	at := c.offset()
	if c.bad {
		return errMalformed
	}
	return s.eachInRnglists(s.rnglistsBase+at, visit)
}

// eachInRanges reads a list of .debug_ranges: pairs of addresses relative to a base, until a pair of zeroes.
func (s *scope) eachInRanges(at uint64, visit func(low, high uint64)) error {
	size := uint64(s.u.addressSize)
	from, base := &s.of.ranges, s.low
	for ; ; at += 2 * size {
		c := cursor{b: from.near(at, 2*size), order: s.d.order}
		low, high := c.uint(s.u.addressSize), c.uint(s.u.addressSize)
		if c.bad {
			return errMalformed
		}
		if err := s.d.spend(int(2 * size)); err != nil {
			return err
		}
		switch {
		case low == 0 && high == 0:
			return nil
		case low == s.removed()+1:
			base = high
		case base+low >= base && base+high >= base && low < s.removed():
			visit(base+low, base+high)
		}
	}
}

// eachInRnglists reads a list of .debug_rnglists.
func (s *scope) eachInRnglists(at uint64, visit func(low, high uint64)) error {
	const longest = 32 // bytes of an entry
	base, hasBase := s.low, true
	for {
		c := cursor{b: s.d.rnglists.near(at, longest), order: s.d.order}
		kind := c.u8()
		var low, high uint64
		ok := true
		switch kind {
		case rangeEnd:
			if c.bad {
				return errMalformed
			}
			return nil
		case rangeBaseAddressx:
			base, hasBase = s.addressAt(c.uleb())
			ok = false
		case rangeBaseAddress:
			base, hasBase = c.uint(s.u.addressSize), true
			ok = false
		case rangeOffsetPair:
			low, high = base+c.uleb(), base+c.uleb()
			ok = hasBase && low >= base && high >= base && base < s.removed()
		case rangeStartxEndx:
			low, ok = s.addressAt(c.uleb())
			end, found := s.addressAt(c.uleb())
			high, ok = end, ok && found
		case rangeStartxLength:
			low, ok = s.addressAt(c.uleb())
			high = low + c.uleb()
		case rangeStartEnd:
			low, high = c.uint(s.u.addressSize), c.uint(s.u.addressSize)
		case rangeStartLength:
			low = c.uint(s.u.addressSize)
			high = low + c.uleb()
		default:
			return errMalformed
		}
		if c.bad {
			return errMalformed
		}
		if err := s.d.spend(c.at); err != nil {
			return err
		}
		if ok {
			visit(low, high)
		}
		at += uint64(c.at)
	}
}
