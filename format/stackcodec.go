package format

import "google.golang.org/protobuf/encoding/protowire"

// Stacks and frames are most of what a section defines, so they are encoded and decoded by hand: BenchmarkDefineStack,
// BenchmarkReadStacks and those of frames compare. TestCodecsAgreeWithProtobuf and FuzzDefinitionCodecs hold them
// against what the protobuf package does.

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
	b = append(b, s.unknownFields...)
	return endMember(b, body)
}

// decodeStack reads the message b into s. It counts the ids in d, because one of them takes four times its size.
func (d *definitions) decodeStack(b []byte, s *Stack) error {
	*s = Stack{}
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
			err = d.packedFrames(s, f.bytes)
		case f.number == 2 && f.typ == protowire.VarintType:
			err = d.countFrames(1)
			s.Frames = append(s.Frames, uint32(f.value))
		case f.number == 3 && f.typ == protowire.VarintType:
			s.KernelFrames = uint32(f.value)
		case f.number == 4 && f.typ == protowire.VarintType:
			s.Cut = protowire.DecodeBool(f.value)
		default:
			s.unknownFields = f.appendUnknown(s.unknownFields)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// packedFrames appends the ids of a packed field. Its last bytes of ids are those without the high bit.
func (d *definitions) packedFrames(s *Stack, packed []byte) error {
	n := 0
	for _, c := range packed {
		if c < 0x80 {
			n++
		}
	}
	if err := d.countFrames(n); err != nil {
		return err
	}
	frames := d.ids.take(len(s.Frames) + n)[:0]
	frames = append(frames, s.Frames...)
	for len(packed) > 0 {
		if c := packed[0]; c < 0x80 {
			frames, packed = append(frames, uint32(c)), packed[1:]
			continue
		}
		id, size := protowire.ConsumeVarint(packed)
		if size < 0 {
			return protowire.ParseError(size)
		}
		frames, packed = append(frames, uint32(id)), packed[size:]
	}
	s.Frames = frames
	return nil
}
