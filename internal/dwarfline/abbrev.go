package dwarfline

// Tags, attributes and forms of DWARF 5, section 7.5, and of GNU's extensions of version 4.
const (
	tagCompileUnit       = 0x11
	tagInlinedSubroutine = 0x1d
	tagSubprogram        = 0x2e
	tagSkeletonUnit      = 0x4a

	attrSibling        = 0x01
	attrName           = 0x03
	attrStmtList       = 0x10
	attrLowPC          = 0x11
	attrHighPC         = 0x12
	attrCompDir        = 0x1b
	attrAbstractOrigin = 0x31
	attrSpecification  = 0x47
	attrRanges         = 0x55
	attrCallFile       = 0x58
	attrCallLine       = 0x59
	attrLinkageName    = 0x6e
	attrStrOffsetsBase = 0x72
	attrAddrBase       = 0x73
	attrRnglistsBase   = 0x74
	attrDwoName        = 0x76
	attrMIPSLinkage    = 0x2007
	attrGNUDwoName     = 0x2130
	attrGNUDwoID       = 0x2131
	attrGNURangesBase  = 0x2132
	attrGNUAddrBase    = 0x2133

	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

const (
	// maxAbbrevBytes bounds the abbreviations of one unit, which take ten times as much in memory. Most have some 10 KiB.
	maxAbbrevBytes = 2 << 20
	// maxTableBytes bounds the tables of abbreviations that are kept, by their bytes in the file.
	maxTableBytes = 1 << 20
)

type attrSpec struct {
	attr, form uint16
	implicit   int64
}

// abbrev is the layout of entries with one code.
type abbrev struct {
	tag      uint16
	children bool
	code     bool  // entries may have addresses
	fixed    int32 // bytes of all attributes together; -1: they vary
	attrs    []attrSpec
}

// abbrevTable is the abbreviations of a unit.
type abbrevTable struct {
	dense  []abbrev // of the codes from 1 on, as compilers number them
	sparse map[uint64]*abbrev
}

func (t *abbrevTable) find(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	return t.sparse[code]
}

// abbrevKey is what the sizes in a table depend on.
type abbrevKey struct {
	offset      uint64
	version     uint16
	addressSize uint8
	wide        bool
}

// abbrevs returns the table of a unit.
func (d *data) abbrevs(u *unit) (*abbrevTable, error) {
	key := abbrevKey{u.abbrev, u.version, u.addressSize, u.wide}
	if t := d.tables[key]; t != nil {
		return t, nil
	}
	for size := uint64(16 << 10); ; size *= 4 {
		b := d.abbrev.near(u.abbrev, size)
		if len(b) > int(size) {
			b = b[:size]
		}
		c := cursor{b: b, order: d.order}
		t, end := readAbbrevs(&c, u, 0)
		if end {
			if d.tableBytes += c.at; d.tableBytes > maxTableBytes {
				clear(d.tables)
				d.tableBytes = c.at
			}
			d.tables[key] = t
			return t, d.spend(c.at)
		}
		if uint64(len(b)) < size || size >= maxAbbrevBytes {
			return nil, errMalformed
		}
		if err := d.spend(len(b)); err != nil {
			return nil, err
		}
	}
}

// firstAbbrev returns a table with the abbreviation of a unit's first entry alone, which is the first one where compilers wrote
// it; nil: it is another.
func (d *data) firstAbbrev(u *unit) *abbrevTable {
	head := cursor{b: d.info.near(u.offset+uint64(u.header), 4), order: d.order}
	code := head.uleb()
	c := cursor{b: d.abbrev.near(u.abbrev, 256), order: d.order}
	if t, _ := readAbbrevs(&c, u, 1); t != nil && t.find(code) != nil && !head.bad {
		return t
	}
	return nil
}

// readAbbrevs reads a table; false: the end is missing. count is how many are read; 0: all.
func readAbbrevs(c *cursor, u *unit, count int) (t *abbrevTable, end bool) {
	t = &abbrevTable{}
	for {
		code := c.uleb()
		if c.bad || code == 0 {
			return t, !c.bad
		}
		a := abbrev{tag: uint16(min(c.uleb(), 0xffff)), children: c.u8() != 0}
		for {
			s := attrSpec{attr: uint16(min(c.uleb(), 0xffff)), form: uint16(min(c.uleb(), 0xffff))}
			if s.form == formImplicitConst {
				s.implicit = c.sleb()
			}
			if c.bad {
				return nil, false
			}
			if s.attr == 0 && s.form == 0 {
				break
			}
			if a.code = a.code || s.attr == attrLowPC || s.attr == attrRanges; a.fixed >= 0 {
				if n := u.fixedSize(s.form); n >= 0 {
					a.fixed += int32(n)
				} else {
					a.fixed = -1
				}
			}
			a.attrs = append(a.attrs, s)
		}
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, a)
		} else {
			if t.sparse == nil {
				t.sparse = make(map[uint64]*abbrev)
			}
			t.sparse[code] = &a
		}
		if count--; count == 0 {
			return t, true
		}
	}
}
