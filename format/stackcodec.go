package format

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Stacks and frames are most of what a section defines, so they are encoded and decoded by hand: BenchmarkDefineStack,
// BenchmarkReadStacks and those of frames compare. TestCodecsAgreeWithProtobuf and FuzzDefinitionCodecs compare
// the results with those of the protobuf package.

// appendStack appends s as a member of a Definitions message.
func appendStack(b []byte, s *Stack) []byte {
	b, body := beginMember(b, 4)
	b = appendNumber(b, 1, uint64(s.Id))
	if len(s.Frames) > 0 {
		var packed int
		b, packed = beginMember(b, 2)
		for _, id := range s.Frames {
			b = protowire.AppendVarint(b, uint64(id))
		}
		b = endMember(b, packed)
	}
	b = appendNumber(b, 3, uint64(s.KernelFrames))
	b = appendNumber(b, 4, protowire.EncodeBool(s.Cut))
	b = appendNumber(b, 5, uint64(s.UserEnd))
	b = append(b, s.unknownFields...)
	return endMember(b, body)
}

// decodeStack reads the message b into s.
func decodeStack(b []byte, s *Stack) (memory int, err error) {
	err = new(decodeBuffer).decodeStack(b, s)
	return len(b) + 4*len(s.Frames), err
}

func (r *decodeBuffer) decodeStack(b []byte, s *Stack) error {
	*s = Stack{}
	ids := r.ids[:0]
	for len(b) > 0 {
		f, err := nextField(b)
		if err != nil {
			return err
		}
		b = b[len(f.raw):]
		switch {
		case f.number == 1 && f.typ == protowire.VarintType:
			s.Id = uint32(f.value)
		case f.number == 2 && f.typ == protowire.BytesType:
			ids, err = appendPacked(ids, f.bytes)
		case f.number == 2 && f.typ == protowire.VarintType:
			ids = append(ids, uint32(f.value))
		case f.number == 3 && f.typ == protowire.VarintType:
			s.KernelFrames = uint32(f.value)
		case f.number == 4 && f.typ == protowire.VarintType:
			s.Cut = protowire.DecodeBool(f.value)
		case f.number == 5 && f.typ == protowire.VarintType:
			s.UserEnd = uint32(f.value)
		default:
			s.unknownFields = f.appendUnknown(s.unknownFields)
		}
		if err == nil && len(ids) > maxStackFrames {
			err = errDeep
		}
		if err != nil {
			return err
		}
	}
	r.ids = ids
	if len(ids) > 0 {
		s.Frames = ids[:len(ids):len(ids)]
	}
	return nil
}

var errDeep = fmt.Errorf("it has more than the %d frames that are allowed", maxStackFrames)

// appendPacked appends the ids of a packed field. Its last bytes of ids are those without the high bit.
func appendPacked(ids []uint32, packed []byte) ([]uint32, error) {
	n := 0
	for _, c := range packed {
		if c < 0x80 {
			n++
		}
	}
	if n > maxStackFrames {
		return ids, errDeep
	}
	if len(ids)+n > cap(ids) {
		ids = append(make([]uint32, 0, len(ids)+n), ids...)
	}
	for len(packed) > 0 {
		if c := packed[0]; c < 0x80 {
			ids, packed = append(ids, uint32(c)), packed[1:]
			continue
		}
		id, size := protowire.ConsumeVarint(packed)
		if size < 0 {
			return ids, protowire.ParseError(size)
		}
		ids, packed = append(ids, uint32(id)), packed[size:]
	}
	return ids, nil
}
