package unwind

import "errors"

var errFrames = errors.New("the call frame information is malformed")

// Encodings of pointers in .eh_frame: Linux Standard Base, core, 10.5.1.
const (
	encodingOmitted  = 0xff
	encodingForm     = 0x0f
	encodingRelative = 0x70
	relativeToPlace  = 0x10
	encodingIndirect = 0x80
)

// Bounds of what many entries may share, so that the time for a hostile section is proportional to its size.
const (
	maxAugmentation       = 16
	maxCommonInstructions = 256
)

// section is a section with call frame information.
type section struct {
	data    []byte
	address uint64
	debug   bool // .debug_frame: other identifiers, addresses as they are
}

// common is a common information entry (CIE).
type common struct {
	codeAlign    uint64
	dataAlign    int64
	encoding     uint8
	augmented    bool // entries have a length of augmentation data
	signal       bool
	instructions []byte
	usable       bool
}

// entry is a frame description entry (FDE): the rules of one range of code.
type entry struct {
	cie          *common
	begin, end   uint64 // addresses
	instructions []byte
}

// pointer reads an encoded pointer; place is the address of the cursor's first byte.
func (c *cursor) pointer(encoding uint8, place uint64) uint64 {
	at := place + uint64(c.at)
	var v uint64
	switch encoding & encodingForm {
	case 0x00, 0x04, 0x0c:
		v = c.u64()
	case 0x01:
		v = c.uleb()
	case 0x02:
		v = uint64(c.u16())
	case 0x03:
		v = uint64(c.u32())
	case 0x09:
		v = uint64(c.sleb())
	case 0x0a:
		v = uint64(int16(c.u16()))
	case 0x0b:
		v = uint64(int32(c.u32()))
	default:
		c.failed = true
	}
	switch encoding & encodingRelative {
	case 0:
	case relativeToPlace:
		v += at
	default:
		c.failed = true
	}
	if encoding&encodingIndirect != 0 {
		c.failed = true
	}
	return v
}

// entries calls yield with each entry that can be used, in the order of the section.
func (s *section) entries(yield func(entry)) error {
	commons := map[uint64]*common{}
	c := &cursor{b: s.data}
	for !c.done() {
		length := uint64(c.u32())
		if length == 0 && !s.debug {
			return nil // the terminator
		}
		wide := length == 0xffffffff
		if wide {
			length = c.u64()
		}
		start := c.at
		body := c.take(length)
		if c.failed {
			return errFrames
		}
		s.entry(commons, uint64(start), &cursor{b: body}, wide, yield)
	}
	return nil
}

// entry reads one entry, whose body is at an offset of the section. What cannot be used is left out.
func (s *section) entry(commons map[uint64]*common, at uint64, c *cursor, wide bool, yield func(entry)) {
	cie, isFDE := s.commonOf(at, c, wide)
	if !isFDE || c.failed {
		return
	}
	shared, known := commons[cie]
	if !known {
		shared = s.common(cie)
		commons[cie] = shared
	}
	if !shared.usable {
		return
	}
	e := entry{cie: shared}
	e.begin = c.pointer(shared.encoding, s.address+at)
	e.end = e.begin + c.pointer(shared.encoding&encodingForm, 0)
	if shared.augmented {
		c.take(c.uleb())
	}
	e.instructions = c.b[c.at:]
	if !c.failed && e.begin < e.end {
		yield(e)
	}
}

// commonOf reads the identifier of an entry: the offset of its CIE, or that it is one itself.
func (s *section) commonOf(at uint64, c *cursor, wide bool) (cie uint64, isFDE bool) {
	place := at + uint64(c.at)
	id, none := uint64(c.u32()), uint64(0xffffffff)
	if wide && s.debug {
		id |= uint64(c.u32()) << 32
		none = 0xffffffffffffffff
	}
	if s.debug {
		return id, id != none
	}
	return place - id, id != 0
}

// common reads the CIE at an offset of the section.
func (s *section) common(at uint64) *common {
	out := &common{}
	if at >= uint64(len(s.data)) {
		return out
	}
	c := &cursor{b: s.data[at:]}
	length := uint64(c.u32())
	wide := length == 0xffffffff
	if wide {
		length = c.u64()
	}
	c = &cursor{b: c.take(length)}
	if _, isFDE := s.commonOf(0, c, wide); !isFDE {
		out.usable = out.read(c) && !c.failed && len(out.instructions) <= maxCommonInstructions
	}
	return out
}

func (o *common) read(c *cursor) bool {
	version := c.u8()
	augmentation := c.text(maxAugmentation)
	if version == 4 {
		c.take(2) // sizes of addresses and segment selectors
	}
	o.codeAlign, o.dataAlign = c.uleb(), c.sleb()
	if version == 1 {
		c.u8()
	} else {
		c.uleb()
	}
	if version != 1 && version != 3 && version != 4 {
		return false
	}
	if augmentation == "" {
		o.instructions = c.b[c.at:]
		return true
	}
	if augmentation[0] != 'z' {
		return false
	}
	o.augmented = true
	data := &cursor{b: c.take(c.uleb())}
	for _, letter := range augmentation[1:] {
		switch letter {
		case 'R':
			o.encoding = data.u8()
		case 'P':
			encoding := data.u8()
			data.pointer(encoding&^(encodingIndirect|encodingRelative), 0)
		case 'L':
			data.u8()
		case 'S':
			o.signal = true
		case 'B':
		default:
			return false
		}
	}
	o.instructions = c.b[c.at:]
	return !data.failed
}
