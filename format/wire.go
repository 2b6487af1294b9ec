package format

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// wireField is one field of an encoded message.
type wireField struct {
	number protowire.Number
	typ    protowire.Type
	value  uint64 // of a varint
	bytes  []byte // of a field that has a length
	raw    []byte // all of it
	tag    int    // bytes of raw before the value
}

// appendUnknown keeps a field unknown to this version, as protobuf does: its tag in the shortest form.
func (f *wireField) appendUnknown(b []byte) []byte {
	return append(protowire.AppendTag(b, f.number, f.typ), f.raw[f.tag:]...)
}

// text is the content of a field that has a length, without capacity beyond it; nil if it is empty.
func (f *wireField) text() []byte {
	if len(f.bytes) == 0 {
		return nil
	}
	return f.bytes[:len(f.bytes):len(f.bytes)]
}

// nextField reads the first field of a message that is not empty.
func nextField(b []byte) (wireField, error) {
	var f wireField
	number, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, protowire.ParseError(n)
	}
	if number > protowire.MaxValidNumber {
		return f, errors.New("a field has a number that is too high")
	}
	f.number, f.typ, f.tag = number, typ, n
	var size int
	switch typ {
	case protowire.VarintType:
		f.value, size = protowire.ConsumeVarint(b[n:])
	case protowire.BytesType:
		f.bytes, size = protowire.ConsumeBytes(b[n:])
	default:
		size = protowire.ConsumeFieldValue(number, typ, b[n:])
	}
	if size < 0 {
		return f, protowire.ParseError(size)
	}
	f.raw = b[:n+size]
	return f, nil
}

// beginMember appends the tag of a message within a message and room for its length; what follows is its content, from
// body on, up to [endMember]. Most lengths take one byte; for others the content moves.
func beginMember(b []byte, field protowire.Number) (_ []byte, body int) {
	b = append(protowire.AppendTag(b, field, protowire.BytesType), 0)
	return b, len(b)
}

func endMember(b []byte, body int) []byte {
	size := len(b) - body
	if size < 0x80 {
		b[body-1] = byte(size)
		return b
	}
	more := protowire.SizeVarint(uint64(size)) - 1
	for range more {
		b = append(b, 0)
	}
	copy(b[body+more:], b[body:body+size])
	protowire.AppendVarint(b[:body-1], uint64(size))
	return b
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendText(b []byte, field protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}
