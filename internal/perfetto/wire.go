package perfetto

import "encoding/binary"

// Messages are appended to byte slices field by field, in the order of schema/trace.proto. A message within another
// one has its length before it, which is known only after it: begin leaves 4 bytes for it and end fills them in. A
// varint may be padded with empty groups of seven bits, so every length fits the same place.

const (
	wireVarint = 0
	wireBytes  = 2

	paddedLength = 4
)

func appendTag(b []byte, field, wire uint64) []byte {
	return binary.AppendUvarint(b, field<<3|wire)
}

func appendUint(b []byte, field, v uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, wireVarint), v)
}

func appendInt(b []byte, field uint64, v int64) []byte { return appendUint(b, field, uint64(v)) }

func appendString[T string | []byte](b []byte, field uint64, s T) []byte {
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(s)))
	return append(b, s...)
}

// appendColumn appends a packed repeated field, unless it is empty.
func appendColumn(b []byte, field uint64, column []byte) []byte {
	if len(column) == 0 {
		return b
	}
	return appendString(b, field, column)
}

// begin appends the beginning of a nested message; end gets the position that it returns.
func begin(b []byte, field uint64) ([]byte, int) {
	b = append(appendTag(b, field, wireBytes), 0, 0, 0, 0)
	return b, len(b)
}

func end(b []byte, body int) {
	n := uint32(len(b) - body)
	length := b[body-paddedLength : body]
	length[0] = byte(n) | 0x80
	length[1] = byte(n>>7) | 0x80
	length[2] = byte(n>>14) | 0x80
	length[3] = byte(n>>21) & 0x7f
}

// beginShort and endShort are for a message of at most nine numbers, so that its length fits one byte.
func beginShort(b []byte, field uint64) ([]byte, int) {
	b = append(appendTag(b, field, wireBytes), 0)
	return b, len(b)
}

func endShort(b []byte, body int) { b[body-1] = byte(len(b) - body) }
