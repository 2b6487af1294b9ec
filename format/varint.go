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
	for v >= 0x80 {
		b[i] = byte(v) | 0x80
		v >>= 7
		i++
	}
	b[i] = byte(v)
	return i + 1
}

// cursor reads varints from a column. At the end of the column it reads zeros, so that a field that an older writer
// did not have is 0; a number that is cut or too long sets bad.
type cursor struct {
	b   []byte
	i   int
	bad bool
}

func (c *cursor) uvarint() uint64 {
	if c.i < len(c.b) && c.b[c.i] < 0x80 {
		c.i++
		return uint64(c.b[c.i-1])
	}
	return c.long()
}

func (c *cursor) long() uint64 {
	b := c.b[c.i:]
	if len(b) == 0 {
		return 0
	}
	// Two and three bytes are what times take.
	if len(b) >= 3 {
		if b[1] < 0x80 {
			c.i += 2
			return uint64(b[0]&0x7f) | uint64(b[1])<<7
		}
		if b[2] < 0x80 {
			c.i += 3
			return uint64(b[0]&0x7f) | uint64(b[1]&0x7f)<<7 | uint64(b[2])<<14
		}
	}
	var v uint64
	for n, x := range b {
		if n == 9 && x > 1 {
			break
		}
		v |= uint64(x&0x7f) << (7 * n)
		if x < 0x80 {
			c.i += n + 1
			return v
		}
	}
	c.bad = true
	c.i = len(c.b)
	return 0
}
