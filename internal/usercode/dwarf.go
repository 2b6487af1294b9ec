package usercode

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"wprof/internal/symbol"
)

// ErrNoDWARF is the error for a place that no DWARF describes.
var ErrNoDWARF = errors.New("no debugging information (DWARF) describes it")

const (
	maxDwarfBytes = 1 << 30 // of all sections, inflated
	// Entries that one call reads: to find a function or a type, and to understand types and variables.
	maxEntries    = 64 << 20
	maxDetails    = 2 << 20
	maxCode       = 4 << 20 // ranges of a unit's functions
	maxScopeNodes = 1 << 18 // entries of one function that are in memory
	maxDepth      = 64      // of entries that refer to, or are in, one another
)

var errWork = errors.New("the debugging information is too large to be searched")

// Attributes that [dwarf] has no names for.
const (
	attrLoclistsBase dwarf.Attr = 0x8c
	attrDataBit      dwarf.Attr = 0x6b
	attrGoKind       dwarf.Attr = 0x2900
	attrGNUAddrBase  dwarf.Attr = 0x2133
	attrDwoName      dwarf.Attr = 0x76
	attrGNUDwoName   dwarf.Attr = 0x2130
)

// dwarfData is the DWARF of a file.
type dwarfData struct {
	*dwarf.Data
	order    binary.ByteOrder
	loc      []byte // .debug_loc
	loclists []byte
	addr     []byte
	units    []unitHead
	read     int   // entries that the current call has read
	details  int   // of these, those of types and variables
	last     *unit // whose functions are in lastCode
	lastCode []code
}

// unit is a compilation unit.
type unit struct {
	d     *dwarfData
	entry *dwarf.Entry
	low   uint64
	lang  int64
	dwo   bool // its entries are in another file
}

// Languages: DWARF 5, 7.12.
const (
	langGo   = 0x16
	langRust = 0x1c
)

// isC reports whether names of types are after struct, union and enum.
func (u *unit) isC() bool {
	switch u.lang {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c:
		return true
	}
	return false
}

// data begins a call that reads the file's DWARF, or that of its debug file.
func (f *File) data() (*dwarfData, error) {
	if f.dwarf == nil && f.dwarfError == nil {
		f.dwarf, f.dwarfError = f.readDwarf()
	}
	if f.dwarfError != nil {
		return nil, f.dwarfError
	}
	f.dwarf.read, f.dwarf.details = 0, 0
	return f.dwarf, nil
}

func (f *File) readDwarf() (*dwarfData, error) {
	from := f.symbols
	if !hasDwarf(from) {
		if from = f.debugFile(); from == nil || !hasDwarf(from) {
			return nil, ErrNoDWARF
		}
	}
	return loadDwarf(from.ELF())
}

func hasDwarf(f *symbol.File) bool {
	s := f.ELF().Section(".debug_info")
	return s != nil && s.Type != elf.SHT_NOBITS
}

func loadDwarf(e *elf.File) (d *dwarfData, err error) {
	defer symbol.RecoverTo(&err, "read DWARF")
	total := uint64(0)
	for _, s := range e.Sections {
		if len(s.Name) > 7 && (s.Name[:7] == ".debug_" || s.Name[:7] == ".zdebug") {
			if total += s.Size; s.Size > maxDwarfBytes || total > maxDwarfBytes {
				return nil, fmt.Errorf("its DWARF has more than %d MiB", maxDwarfBytes>>20)
			}
		}
	}
	data, err := e.DWARF()
	if err != nil {
		return nil, fmt.Errorf("read DWARF: %w", err)
	}
	d = &dwarfData{Data: data, order: e.ByteOrder}
	if d.units, err = readUnits(e); err != nil {
		return nil, err
	}
	for name, into := range map[string]*[]byte{".debug_loc": &d.loc, ".debug_loclists": &d.loclists, ".debug_addr": &d.addr} {
		if s := e.Section(name); s != nil && s.Type != elf.SHT_NOBITS {
			if *into, err = s.Data(); err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
		}
	}
	return d, nil
}

// next reads the next entry.
func (d *dwarfData) next(r *dwarf.Reader) (*dwarf.Entry, error) {
	if d.read++; d.read > maxEntries {
		return nil, errWork
	}
	return r.Next()
}

// entry reads the entry at an offset.
func (d *dwarfData) entry(at dwarf.Offset) (*dwarf.Entry, error) {
	if d.details++; d.details > maxDetails {
		return nil, errWork
	}
	r := d.Reader()
	r.Seek(at)
	e, err := d.next(r)
	if err == nil && e == nil {
		err = errors.New("the debugging information is malformed")
	}
	return e, err
}

// unitAt returns the compilation unit with the code at an address.
func (d *dwarfData) unitAt(address uint64) (*unit, *dwarf.Reader, error) {
	r := d.Reader()
	e, err := r.SeekPC(address)
	if err != nil {
		return nil, nil, ErrNoDWARF
	}
	return d.newUnit(e), r, nil
}

func (d *dwarfData) newUnit(e *dwarf.Entry) *unit {
	u := &unit{d: d, entry: e}
	u.low, _ = e.Val(dwarf.AttrLowpc).(uint64)
	u.lang, _ = e.Val(dwarf.AttrLanguage).(int64)
	for _, attr := range []dwarf.Attr{attrDwoName, attrGNUDwoName} {
		u.dwo = u.dwo || e.Val(attr) != nil && !e.Children
	}
	return u
}

// contains reports whether the code of an entry has an address.
func (d *dwarfData) contains(e *dwarf.Entry, address uint64) bool {
	for _, c := range d.codeOf(e) {
		if address >= c.low && address < c.high {
			return true
		}
	}
	return false
}

// attr returns an attribute of an entry, or of what it is an instance of.
func (d *dwarfData) attr(e *dwarf.Entry, attr dwarf.Attr) any {
	for range 8 {
		if v := e.Val(attr); v != nil {
			return v
		}
		at, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if at, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return nil
			}
		}
		origin, err := d.entry(at)
		if err != nil {
			return nil
		}
		e = origin
	}
	return nil
}

func (d *dwarfData) name(e *dwarf.Entry) string {
	name, _ := d.attr(e, dwarf.AttrName).(string)
	return name
}

// node is an entry with those below it.
type node struct {
	*dwarf.Entry
	below []*node
}

// function is the code of a function in DWARF.
type function struct {
	unit *unit
	node *node
	low  uint64
}

// code is the code of a function in a unit.
type code struct {
	low, high uint64
	at        dwarf.Offset
}

// functionAt returns the function with the code at an address.
func (d *dwarfData) functionAt(address uint64) (_ *function, err error) {
	defer symbol.RecoverTo(&err, "read DWARF")
	if d.last == nil || !d.contains(d.last.entry, address) {
		if err := d.index(address); err != nil {
			return nil, err
		}
	}
	for _, c := range d.lastCode {
		if address < c.low || address >= c.high {
			continue
		}
		r := d.Reader()
		r.Seek(c.at)
		e, err := d.next(r)
		if err != nil {
			return nil, fmt.Errorf("read DWARF: %w", err)
		}
		n, err := d.tree(r, e)
		if err != nil {
			return nil, err
		}
		return &function{unit: d.last, node: n, low: d.lowOf(e)}, nil
	}
	return nil, ErrNoDWARF
}

// index lists the functions of the unit with the code at an address.
func (d *dwarfData) index(address uint64) error {
	d.last, d.lastCode = nil, nil
	u, r, err := d.unitAt(address)
	switch {
	case err != nil:
		return err
	case u.dwo:
		return errors.New("its debugging information is in a .dwo file, which is not read")
	case !u.entry.Children:
		return ErrNoDWARF
	}
	var list []code
	for depth := 1; depth > 0; {
		e, err := d.next(r)
		switch {
		case err != nil:
			return fmt.Errorf("read DWARF: %w", err)
		case e == nil:
			depth = 0
		case e.Tag == 0:
			depth--
		case e.Tag == dwarf.TagSubprogram:
			list = append(list, d.codeOf(e)...)
			r.SkipChildren()
		case e.Children && holdsFunctions(e.Tag):
			depth++
		case e.Children:
			r.SkipChildren()
		}
		if len(list) > maxCode {
			return errWork
		}
	}
	d.last, d.lastCode = u, list
	return nil
}

// codeOf returns the ranges of a function's code; nothing for one without code.
func (d *dwarfData) codeOf(e *dwarf.Entry) (list []code) {
	if e.Val(dwarf.AttrLowpc) == nil && e.Val(dwarf.AttrRanges) == nil {
		return nil
	}
	ranges, err := d.Ranges(e)
	if err != nil {
		return nil
	}
	for _, r := range ranges {
		list = append(list, code{r[0], r[1], e.Offset})
	}
	return list
}

// lowOf returns the address of a function's first instruction.
func (d *dwarfData) lowOf(e *dwarf.Entry) uint64 {
	if low, ok := e.Val(dwarf.AttrEntrypc).(uint64); ok {
		return low
	}
	if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok {
		return low
	}
	if ranges, err := d.Ranges(e); err == nil && len(ranges) > 0 {
		return ranges[0][0]
	}
	return 0
}

// holdsFunctions reports whether entries with code may be below one of a kind.
func holdsFunctions(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType:
		return true
	}
	return false
}

// tree reads an entry and all below it.
func (d *dwarfData) tree(r *dwarf.Reader, e *dwarf.Entry) (*node, error) {
	root := &node{Entry: e}
	if !e.Children {
		return root, nil
	}
	open := []*node{root}
	for count := 0; len(open) > 0; count++ {
		e, err := d.next(r)
		switch {
		case err != nil:
			return nil, fmt.Errorf("read DWARF: %w", err)
		case e == nil || count > maxScopeNodes || len(open) > maxDepth*4:
			return nil, errors.New("the debugging information of the function is too large, or malformed")
		case e.Tag == 0:
			open = open[:len(open)-1]
			continue
		}
		n, last := &node{Entry: e}, open[len(open)-1]
		last.below = append(last.below, n)
		if e.Children {
			open = append(open, n)
		}
	}
	return root, nil
}

// children visits the entries directly below one.
func (d *dwarfData) children(e *dwarf.Entry, visit func(*dwarf.Entry) (more bool)) error {
	if !e.Children {
		return nil
	}
	r := d.Reader()
	r.Seek(e.Offset)
	if _, err := d.next(r); err != nil {
		return err
	}
	for {
		e, err := d.next(r)
		if err != nil {
			return err
		}
		if d.details++; d.details > maxDetails {
			return errWork
		}
		if e == nil || e.Tag == 0 || !visit(e) {
			return nil
		}
		if e.Children {
			r.SkipChildren()
		}
	}
}

// scopes returns the scopes at an address, innermost first: lexical blocks, inlined functions, the function itself.
func (fn *function) scopes(address uint64) []*node {
	if inside := fn.unit.d.scopesIn(fn.node, address); inside != nil {
		return inside
	}
	return []*node{fn.node}
}

// scopesIn returns the scopes from an entry on. Compilers may leave code of a block out of the block around it.
func (d *dwarfData) scopesIn(n *node, address uint64) []*node {
	for _, below := range n.below {
		switch below.Tag {
		case dwarf.TagLexDwarfBlock, dwarf.TagInlinedSubroutine, dwarf.TagSubprogram:
			if inside := d.scopesIn(below, address); inside != nil {
				return append(inside, n)
			}
		}
	}
	if d.contains(n.Entry, address) {
		return []*node{n}
	}
	return nil
}

// instance returns the innermost function at an address, which may be an inlined copy.
func (fn *function) instance(address uint64) *node {
	for _, n := range fn.scopes(address) {
		if n.Tag != dwarf.TagLexDwarfBlock {
			return n
		}
	}
	return fn.node
}
