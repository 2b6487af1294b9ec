package format

import "google.golang.org/protobuf/encoding/protowire"

// appendFrame appends f as a member of a Definitions message.
func appendFrame(b []byte, f *Frame) []byte {
	b, body := beginMember(b, 3)
	b = appendNumber(b, 1, uint64(f.Id))
	b = appendNumber(b, 2, uint64(f.Module))
	b = appendNumber(b, 3, f.Offset)
	b = appendNumber(b, 4, f.FunctionOffset)
	for _, l := range f.Lines {
		var line int
		b, line = beginMember(b, 5)
		b = appendText(b, 1, l.GetFunction())
		b = appendText(b, 2, l.GetFile())
		b = appendNumber(b, 3, uint64(l.GetLine()))
		if l != nil {
			b = append(b, l.unknownFields...)
		}
		b = endMember(b, line)
	}
	b = appendNumber(b, 6, protowire.EncodeBool(f.Caller))
	b = append(b, f.unknownFields...)
	return endMember(b, body)
}

// decodeFrame reads the message b into f. It counts the lines in d, because an empty one takes fifty times its size.
func (d *definitions) decodeFrame(b []byte, frame *Frame) error {
	*frame = Frame{}
	for len(b) > 0 {
		f, err := nextField(b)
		if err != nil {
			return err
		}
		switch {
		case f.number == 1 && f.typ == protowire.VarintType:
			frame.Id = uint32(f.value)
		case f.number == 2 && f.typ == protowire.VarintType:
			frame.Module = uint32(f.value)
		case f.number == 3 && f.typ == protowire.VarintType:
			frame.Offset = f.value
		case f.number == 4 && f.typ == protowire.VarintType:
			frame.FunctionOffset = f.value
		case f.number == 5 && f.typ == protowire.BytesType:
			if frame.Lines == nil {
				frame.Lines = d.pointers.take(countFields(b, 5))[:0]
			}
			var line *Line
			line, err = d.decodeLine(f.bytes)
			frame.Lines = append(frame.Lines, line)
		case f.number == 6 && f.typ == protowire.VarintType:
			frame.Caller = protowire.DecodeBool(f.value)
		default:
			frame.unknownFields = f.appendUnknown(frame.unknownFields)
		}
		if err != nil {
			return err
		}
		b = b[len(f.raw):]
	}
	return nil
}

func (d *definitions) decodeLine(b []byte) (*Line, error) {
	if err := d.countOne(); err != nil {
		return nil, err
	}
	line := &d.lines.take(1)[0]
	for len(b) > 0 {
		f, err := nextField(b)
		if err != nil {
			return nil, err
		}
		b = b[len(f.raw):]
		switch {
		case f.number == 1 && f.typ == protowire.BytesType:
			line.Function = d.keep(f.bytes)
		case f.number == 2 && f.typ == protowire.BytesType:
			line.File = d.keep(f.bytes)
		case f.number == 3 && f.typ == protowire.VarintType:
			line.Line = uint32(f.value)
		default:
			line.unknownFields = f.appendUnknown(line.unknownFields)
		}
	}
	return line, nil
}

// keep copies what belongs to a block that will be read over.
func (d *definitions) keep(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	kept := d.texts.take(len(b))
	copy(kept, b)
	return kept
}

// countFields is how often a field stands in a message; up to where the message is broken, if it is.
func countFields(b []byte, number protowire.Number) int {
	n := 0
	for len(b) > 0 {
		f, err := nextField(b)
		if err != nil {
			return n
		}
		if f.number == number {
			n++
		}
		b = b[len(f.raw):]
	}
	return n
}
