package tracepoint

import (
	"bytes"
	"encoding/binary"
	"math"

	"wprof/format"
)

// Decoder holds memory for the values of an event.
type Decoder struct {
	values []format.Value
	lists  []byte
}

// Values returns the values of an event of a copy of its record. What the copy does not have is 0 or empty. They are valid until the next
// call.
func (d *Decoder) Values(l *Layout, record []byte) []format.Value {
	d.values, d.lists = d.values[:0], d.lists[:0]
	for i := range l.Places {
		d.values = append(d.values, d.value(l.Def.Fields[i], &l.Places[i], record, l.Base))
	}
	return d.values
}

func (d *Decoder) value(f *format.TypeField, p *Place, record []byte, base int) format.Value {
	v := format.Value{Field: f}
	switch {
	case f.Is(format.ValueType_VALUE_STRING):
		v.Bytes, _, _ = bytes.Cut(p.bytes(record, base), []byte{0})
	case f.Is(format.ValueType_VALUE_BYTES):
		v.Bytes = p.bytes(record, base)
	case f.List && f.Is(format.ValueType_VALUE_ENUM) && p.Count == 0 && p.Kind == Fixed:
		d.flags(&v, uint64(p.number(part(record, p.Offset, p.Size))))
	case f.List:
		d.list(&v, p, p.bytes(record, base))
	default:
		v.Number = uint64(p.number(part(record, p.Offset, p.Size)))
		switch {
		case f.Is(format.ValueType_VALUE_BOOL):
			v.Number = min(v.Number, 1)
		case f.Is(format.ValueType_VALUE_FLOAT) && p.Size == 4:
			v.Number = math.Float64bits(float64(math.Float32frombits(uint32(v.Number))))
		}
	}
	return v
}

// part returns up to size bytes of b.
func part(b []byte, from, size int) []byte {
	if from < 0 || size < 0 || from > len(b) {
		return nil
	}
	return b[from:min(len(b), from+size)]
}

// bytes returns the bytes of a field that is no number.
func (p *Place) bytes(record []byte, base int) []byte {
	if p.Kind == Fixed {
		return part(record, p.Offset, p.Size*max(p.Count, 1))
	}
	location := uint32((&Place{Size: 4}).number(part(record, p.Offset, 4)))
	from := int(location & 0xffff)
	if p.Kind == RelLoc {
		from += p.Offset + 4
	} else {
		from -= base
	}
	return part(record, from, int(location>>16))
}

// number returns a number; 0: it is not there.
func (p *Place) number(b []byte) int64 {
	var word [8]byte
	if len(b) < p.Size || p.Size > len(word) {
		return 0
	}
	copy(word[:], b[:p.Size])
	return p.extend(binary.LittleEndian.Uint64(word[:]))
}

func (d *Decoder) list(v *format.Value, p *Place, b []byte) {
	from := len(d.lists)
	for ; p.Size > 0 && len(b) >= p.Size; b = b[p.Size:] {
		d.append(v, uint64(p.number(b)))
	}
	v.Bytes = d.lists[from:len(d.lists):len(d.lists)]
}

// flags makes a list of the flags that are set, as __print_flags does, and one number of the bits that no flag has.
func (d *Decoder) flags(v *format.Value, bits uint64) {
	from := len(d.lists)
	for _, name := range v.Field.Names {
		if flag := uint64(name.Number); flag != 0 && bits&flag == flag {
			d.append(v, flag)
			bits &^= flag
		}
	}
	if bits != 0 {
		d.append(v, bits)
	}
	v.Bytes = d.lists[from:len(d.lists):len(d.lists)]
}

// append appends an element of a list.
func (d *Decoder) append(v *format.Value, n uint64) {
	v.Number++
	d.lists = format.AppendElement(d.lists, v.Field, &format.Value{Number: n}, 0)
}
