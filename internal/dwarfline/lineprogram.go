package dwarfline

import (
	"path"
	"slices"
	"strings"
)

// Opcodes of line programs, DWARF 5, section 7.22.
const (
	lineExtended      = 0
	lineCopy          = 1
	lineAdvancePC     = 2
	lineAdvanceLine   = 3
	lineSetFile       = 4
	lineConstAddPC    = 8
	lineFixedAdvance  = 9
	lineEndSequence   = 1 // extended
	lineSetAddress    = 2 // extended
	linePath          = 1 // DW_LNCT_path
	lineDirectory     = 2 // DW_LNCT_directory_index
	maxLineTableBytes = 128 << 20
)

// place is a file and a line of the source.
type place struct {
	file  uint32
	line  uint32
	known bool
}

// fileEntry is a source file, or a folder, in the header of a line program.
type fileEntry struct {
	name   value
	folder uint64
}

// lineTable is the line program of a unit.
type lineTable struct {
	s       *scope
	version uint16
	folders []fileEntry
	files   []fileEntry
	paths   map[uint64]string

	program     section
	unit        *unit // with the sizes of the program, which may differ from those of its unit
	minInst     uint64
	lineBase    int64
	lineRange   uint8
	opcodeBase  uint8
	lengths     []byte
	addressSize uint8
}

// lines reads the header of a unit's line program; nil: it has none.
func (s *scope) lines() (*lineTable, error) {
	at := s.stmtList
	if at.form == 0 {
		return nil, nil
	}
	from := &s.d.line
	c := cursor{b: from.near(at.u, 16), order: s.d.order}
	n := c.length()
	if c.bad || n > from.size-at.u-uint64(c.at) || n > maxLineTableBytes {
		return nil, errMalformed
	}
	t := &lineTable{s: s, paths: make(map[uint64]string), addressSize: s.u.addressSize}
	all := from.part(at.u+uint64(c.at), n)
	if err := t.readHeader(&all, c.wide); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *lineTable) readHeader(all *section, wide bool) error {
	c := cursor{b: all.near(0, 32), order: t.s.d.order, wide: wide}
	t.version = c.u16()
	if t.version < 2 || t.version > 5 {
		return errMalformed
	}
	if t.version == 5 {
		t.addressSize = c.u8()
		c.u8()
	}
	length := c.offset()
	start := uint64(c.at)
	if c.bad || length > all.size-start {
		return errMalformed
	}
	if err := t.s.d.spend(int(length)); err != nil {
		return err
	}
	head := make([]byte, length)
	if !all.read(head, start) {
		return errMalformed
	}
	c = cursor{b: head, order: t.s.d.order, wide: wide}
	t.minInst = uint64(c.u8())
	if t.version >= 4 {
		c.u8() // instructions that share an address: only on VLIW machines
	}
	c.u8() // whether rows are statements by default
	t.lineBase, t.lineRange, t.opcodeBase = int64(int8(c.u8())), c.u8(), c.u8()
	if c.bad || t.lineRange == 0 || t.opcodeBase == 0 {
		return errMalformed
	}
	t.lengths = c.take(uint64(t.opcodeBase - 1))
	t.unit = &unit{version: t.version, wide: wide, addressSize: t.addressSize}
	if t.version == 5 {
		t.folders = t.entries(&c)
		t.files = t.entries(&c)
	} else {
		t.oldEntries(&c)
	}
	if c.bad {
		return errMalformed
	}
	t.program = all.part(start+length, all.size-start-length)
	return nil
}

// entries reads the folders or files of DWARF 5.
func (t *lineTable) entries(c *cursor) (list []fileEntry) {
	var format []attrSpec
	for range c.u8() {
		format = append(format, attrSpec{attr: uint16(min(c.uleb(), 0xffff)), form: uint16(min(c.uleb(), 0xffff))})
	}
	count := c.uleb()
	if c.bad || count > uint64(c.left()) { // each has a path
		c.bad = c.bad || count > 0
		return nil
	}
	for range count {
		var e fileEntry
		for i := range format {
			v := t.unit.read(c, &format[i])
			switch format[i].attr {
			case linePath:
				e.name = v
			case lineDirectory:
				e.folder = v.u
			}
		}
		if c.bad {
			return nil
		}
		list = append(list, e)
	}
	return list
}

// oldEntries reads the folders and files of DWARF 2 to 4. Their numbers begin with 1; 0 is the unit's own.
func (t *lineTable) oldEntries(c *cursor) {
	t.folders = []fileEntry{{name: t.s.compDir}}
	for !c.bad {
		name := c.text()
		if len(name) == 0 {
			break
		}
		t.folders = append(t.folders, fileEntry{name: value{form: formString, text: name}})
	}
	t.files = []fileEntry{{name: t.s.name}}
	for !c.bad {
		name := c.text()
		if len(name) == 0 {
			break
		}
		e := fileEntry{name: value{form: formString, text: name}, folder: c.uleb()}
		c.uleb() // mtime
		c.uleb() // size
		t.files = append(t.files, e)
	}
}

// path returns the path of a source file; "": it is not known.
func (t *lineTable) path(file uint64) string {
	if t == nil || file >= uint64(len(t.files)) || file == 0 && t.version < 5 {
		return ""
	}
	known, found := t.paths[file]
	if found {
		return known
	}
	e := &t.files[file]
	name := t.s.text(e.name)
	if name != "" && !isAbsolute(name) && e.folder < uint64(len(t.folders)) {
		folder := t.s.text(t.folders[e.folder].name)
		if !isAbsolute(folder) && e.folder != 0 {
			folder = join(t.s.text(t.s.compDir), folder)
		}
		name = join(folder, name)
	}
	t.paths[file] = name
	return name
}

// isAbsolute also accepts the paths of programs that were built on Windows.
func isAbsolute(name string) bool {
	return path.IsAbs(name) || len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/')
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return strings.TrimSuffix(folder, "/") + "/" + name
}

// run finds the line of each of the addresses, which are sorted.
func (t *lineTable) run(addresses []uint64, out []place) error {
	if err := t.s.d.spend(int(t.program.size)); err != nil {
		return err
	}
	d := t.s.d
	d.program = slices.Grow(d.program[:0], int(t.program.size))[:t.program.size]
	program := d.program
	if !t.program.read(program, 0) {
		return errMalformed
	}
	c := cursor{b: program, order: t.s.d.order}
	first := row{file: 1, line: 1}
	now, last := first, first
	started, removed, next := false, false, 0
	emit := func() {
		if !started {
			started, removed = true, t.s.isRemoved(now.address)
			next = search(addresses, now.address)
		} else if !removed {
			for ; next < len(addresses) && addresses[next] < now.address; next++ {
				if addresses[next] >= last.address && !out[next].known {
					out[next] = place{file: last.file, line: last.line, known: true}
				}
			}
		}
		last = now
	}
	special := func(code uint8) {
		now.address += uint64(code/t.lineRange) * t.minInst
	}
	for c.left() > 0 {
		code := c.u8()
		if code >= t.opcodeBase {
			special(code - t.opcodeBase)
			now.line += uint32(t.lineBase + int64((code-t.opcodeBase)%t.lineRange))
			emit()
			continue
		}
		switch code {
		case lineExtended:
			n := c.uleb()
			if n == 0 || n > uint64(c.left()) {
				return errMalformed
			}
			x := cursor{b: c.take(n), order: c.order}
			switch x.u8() {
			case lineEndSequence:
				emit()
				now, started = first, false
			case lineSetAddress:
				now.address = x.uint(uint8(min(x.left(), 255)))
			}
		case lineCopy:
			emit()
		case lineAdvancePC:
			now.address += c.uleb() * t.minInst
		case lineAdvanceLine:
			now.line += uint32(c.sleb())
		case lineSetFile:
			now.file = uint32(min(c.uleb(), 1<<32-1))
		case lineConstAddPC:
			special(255 - t.opcodeBase)
		case lineFixedAdvance:
			now.address += uint64(c.u16())
		default:
			for range t.lengths[code-1] {
				c.uleb()
			}
		}
		if c.bad {
			return errMalformed
		}
	}
	return nil
}

// row is a row of the table that a line program writes.
type row struct {
	address    uint64
	file, line uint32
}
