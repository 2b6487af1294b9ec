package usercode

import "encoding/binary"

// bytesReader reads what expressions and lists are made of. Beyond the end it returns zeroes, and failed is true from then on.
type bytesReader struct {
	b      []byte
	order  binary.ByteOrder
	failed bool
}

func (r *bytesReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.failed, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *bytesReader) u8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *bytesReader) u16() uint16 {
	if b := r.take(2); b != nil {
		return r.order.Uint16(b)
	}
	return 0
}

func (r *bytesReader) u32() uint32 {
	if b := r.take(4); b != nil {
		return r.order.Uint32(b)
	}
	return 0
}

func (r *bytesReader) u64() uint64 {
	if b := r.take(8); b != nil {
		return r.order.Uint64(b)
	}
	return 0
}

func (r *bytesReader) uleb() (n uint64) {
	for shift := uint(0); ; shift += 7 {
		b := r.u8()
		if shift < 64 {
			n |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return n
		}
	}
}

func (r *bytesReader) sleb() (n int64) {
	for shift := uint(0); ; {
		b := r.u8()
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

// constant reads the number of DW_OP_const1u to DW_OP_consts.
func (r *bytesReader) constant(op byte) int64 {
	switch op {
	case 0x08:
		return int64(r.u8())
	case 0x09:
		return int64(int8(r.u8()))
	case 0x0a:
		return int64(r.u16())
	case 0x0b:
		return int64(int16(r.u16()))
	case 0x0c:
		return int64(r.u32())
	case 0x0d:
		return int64(int32(r.u32()))
	case 0x0e, 0x0f:
		return int64(r.u64())
	case 0x10:
		return int64(r.uleb())
	}
	return r.sleb()
}
