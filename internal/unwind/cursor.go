package unwind

import "encoding/binary"

// cursor reads little-endian values. Beyond the end it reads zeros and sets failed.
type cursor struct {
	b      []byte
	at     int
	failed bool
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)-c.at) {
		c.failed, c.at = true, len(c.b)
		return nil
	}
	part := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return part
}

func (c *cursor) done() bool { return c.at >= len(c.b) }

func (c *cursor) u8() uint8 {
	if p := c.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if p := c.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if p := c.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if p := c.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// uleb reads an unsigned LEB128 number (DWARF 5, 7.6); bits beyond 64 are dropped.
func (c *cursor) uleb() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			return v
		}
	}
}

// sleb reads a signed one.
func (c *cursor) sleb() (v int64) {
	for shift := 0; ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// text reads at most limit bytes up to a zero byte, which it skips.
func (c *cursor) text(limit int) string {
	for i := c.at; i < len(c.b) && i <= c.at+limit; i++ {
		if c.b[i] == 0 {
			s := string(c.b[c.at:i])
			c.at = i + 1
			return s
		}
	}
	c.failed, c.at = true, len(c.b)
	return ""
}
