package dwarfline

import (
	"bytes"
	"encoding/binary"
)

// cursor reads values one after the other. Beyond the end it returns zeroes, and bad is true from then on.
type cursor struct {
	b     []byte
	at    int
	order binary.ByteOrder
	wide  bool // the 64-bit format, in which offsets have 8 bytes
	bad   bool
}

// left is the number of bytes that follow.
func (c *cursor) left() int { return len(c.b) - c.at }

// take returns the next n bytes; nil: there are fewer.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(c.left()) {
		c.at, c.bad = len(c.b), true
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) skip(n uint64) { c.take(n) }

func (c *cursor) u8() uint8 {
	if c.at >= len(c.b) {
		c.bad = true
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

func (c *cursor) u16() uint16 {
	if b := c.take(2); b != nil {
		return c.order.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return c.order.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return c.order.Uint64(b)
	}
	return 0
}

// uint reads a number of size bytes.
func (c *cursor) uint(size uint8) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 3:
		b := c.take(3)
		if b == nil {
			return 0
		}
		if c.order.Uint16([]byte{1, 0}) == 1 {
			return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16
		}
		return uint64(b[2]) | uint64(b[1])<<8 | uint64(b[0])<<16
	case 4:
		return uint64(c.u32())
	case 8:
		return c.u64()
	}
	c.bad = true
	return 0
}

// offset reads a place in a section.
func (c *cursor) offset() uint64 {
	if c.wide {
		return c.u64()
	}
	return uint64(c.u32())
}

// length reads the length of a unit, and from it the format that follows.
func (c *cursor) length() uint64 {
	n := uint64(c.u32())
	c.wide = n == 0xffffffff
	switch {
	case c.wide:
		return c.u64()
	case n >= 0xfffffff0:
		c.bad = true
		return 0
	}
	return n
}

func (c *cursor) uleb() (n uint64) {
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		if shift < 64 {
			n |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return n
		}
	}
}

func (c *cursor) sleb() (n int64) {
	for shift := uint(0); ; {
		b := c.u8()
		if shift < 64 {
			n |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				n |= -1 << shift
			}
			return n
		}
	}
}

// text reads a string that ends with a zero byte, without it.
func (c *cursor) text() []byte {
	n := bytes.IndexByte(c.b[c.at:], 0)
	if n < 0 {
		c.at, c.bad = len(c.b), true
		return nil
	}
	s := c.b[c.at : c.at+n]
	c.at += n + 1
	return s
}
