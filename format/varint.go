package format

// zigzag maps small numbers of either sign to small unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3.
func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// putUvarint writes v at b[i] and returns the index after it. It is short so that the compiler inlines it: most
// numbers in a record take one byte.
func putUvarint(b []byte, i int, v uint64) int {
	if v < 0x80 {
		b[i] = byte(v)
		return i + 1
	}
	return putLong(b, i, v)
}

func putLong(b []byte, i int, v uint64) int {
	if v < 1<<14 {
		b[i+1] = byte(v >> 7)
		b[i] = byte(v) | 0x80
		return i + 2
	}
	for v >= 0x80 {
		b[i] = byte(v) | 0x80
		v >>= 7
		i++
	}
	b[i] = byte(v)
	return i + 1
}

// uvarint reads the number at b[i] and returns it with the index after it. At the end of b it reads zeros, so that a field
// that an older writer did not have is 0; after a number that is cut or too long, the index is beyond the end of b.
func uvarint(b []byte, i int) (v uint64, next int) {
	if v, next = shortUvarint(b, i); next != 0 {
		return v, next
	}
	return longUvarint(b, i)
}

// shortUvarint is uvarint for numbers of one or two bytes, short enough that the compiler inlines it. For others next is 0.
func shortUvarint(b []byte, i int) (v uint64, next int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	if i+1 < len(b) && b[i+1] < 0x80 {
		return uint64(b[i]&0x7f) | uint64(b[i+1])<<7, i + 2
	}
	return 0, 0
}

func longUvarint(b []byte, i int) (v uint64, next int) {
	if i >= len(b) {
		return 0, i
	}
	// Two and three bytes are what times take.
	if i+2 < len(b) {
		if b[i+1] < 0x80 {
			return uint64(b[i]&0x7f) | uint64(b[i+1])<<7, i + 2
		}
		if b[i+2] < 0x80 {
			return uint64(b[i]&0x7f) | uint64(b[i+1]&0x7f)<<7 | uint64(b[i+2])<<14, i + 3
		}
	}
	for n, x := range b[i:] {
		if n == 9 && x > 1 {
			break
		}
		v |= uint64(x&0x7f) << (7 * n)
		if x < 0x80 {
			return v, i + n + 1
		}
	}
	return 0, len(b) + 1
}

// cursor reads varints from a column.
type cursor struct {
	b []byte
	i int
}

func (c *cursor) uvarint() (v uint64) {
	v, c.i = uvarint(c.b, c.i)
	return v
}

// bad reports whether a number was cut or too long.
func (c *cursor) bad() bool { return c.i > len(c.b) }
