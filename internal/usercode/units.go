package usercode

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const maxUnits = 1 << 20

var errUnits = errors.New("read DWARF: the units of .debug_info are malformed")

// unitHead is the header of a unit. [dwarf.Reader] reads all entries of one to find the next.
type unitHead struct {
	entry   dwarf.Offset // of its first entry
	version uint16
}

// readUnits reads the headers of all units that have entries of their own (DWARF 5, 7.5.1).
func readUnits(e *elf.File) (list []unitHead, err error) {
	s := e.Section(".debug_info")
	if s == nil {
		return nil, nil
	}
	info := s.Open()
	for at := int64(0); at < int64(s.Size); {
		if _, err := info.Seek(at, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read DWARF: %w", err)
		}
		var head [24]byte
		n, err := io.ReadFull(info, head[:])
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || n < 11 {
			return nil, errUnits
		}
		u, size := unitOf(head[:], e.ByteOrder)
		if size < 11 || size > int64(s.Size)-at || len(list) >= maxUnits {
			return nil, errUnits
		}
		if u.entry > 0 {
			u.entry += dwarf.Offset(at)
			list = append(list, u)
		}
		at += size
	}
	return list, nil
}

// Kinds of units of DWARF 5.
const (
	unitCompile  = 1
	unitPartial  = 3
	unitSkeleton = 4
)

// unitOf reads a header. entry is 0 for type units, and size is that of the unit; 0: it is malformed.
func unitOf(head []byte, order binary.ByteOrder) (u unitHead, size int64) {
	size, fields, offset := int64(order.Uint32(head))+4, 4, 4
	if size == 0xffffffff+4 { // the 64-bit format
		length := order.Uint64(head[4:])
		if length > maxDwarfBytes {
			return unitHead{}, 0
		}
		size, fields, offset = int64(length)+12, 12, 8
	}
	u.version = order.Uint16(head[fields:])
	switch {
	case u.version < 5:
		u.entry = dwarf.Offset(fields + 2 + offset + 1)
	case head[fields+2] == unitCompile || head[fields+2] == unitPartial:
		u.entry = dwarf.Offset(fields + 4 + offset)
	case head[fields+2] == unitSkeleton:
		u.entry = dwarf.Offset(fields + 4 + offset + 8)
	}
	return u, size
}

// eachUnit visits all compilation units. r is behind the unit's own entry.
func (d *dwarfData) eachUnit(visit func(u *unit, r *dwarf.Reader) (more bool, err error)) error {
	for _, head := range d.units {
		r := d.Reader()
		r.Seek(head.entry)
		e, err := d.next(r)
		if err != nil {
			return err
		}
		if e == nil || e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagPartialUnit {
			continue
		}
		if more, err := visit(d.newUnit(e), r); !more || err != nil {
			return err
		}
	}
	return nil
}
