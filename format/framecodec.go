package format

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

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
	b = appendNumber(b, 7, uint64(f.Loop))
	b = append(b, f.unknownFields...)
	return endMember(b, body)
}

// decodeBuffer is reused for decoding: a decoded frame or stack is valid until the next one.
type decodeBuffer struct {
	lines    []Line
	pointers []*Line
	ids      []uint32
}

// decodeFrame reads the message b into frame.
func decodeFrame(b []byte, frame *Frame) (memory int, err error) {
	err = new(decodeBuffer).decodeFrame(bytes.Clone(b), frame)
	return len(b) + len(frame.Lines)*lineMemory, err
}

const lineMemory = 80 // bytes of an empty line

// decodeFrame reads the message b into frame, which holds parts of b from then on.
func (r *decodeBuffer) decodeFrame(b []byte, frame *Frame) error {
	*frame = Frame{}
	if err := r.makeLines(countFields(b, 5)); err != nil {
		return err
	}
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
			n := len(frame.Lines)
			frame.Lines = r.pointers[: n+1 : n+1]
			err = decodeLine(f.bytes, frame.Lines[n])
		case f.number == 6 && f.typ == protowire.VarintType:
			frame.Caller = protowire.DecodeBool(f.value)
		case f.number == 7 && f.typ == protowire.VarintType:
			frame.Loop = uint32(f.value)
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

// makeLines makes room for n lines.
func (r *decodeBuffer) makeLines(n int) error {
	if n > maxFrameLines {
		return fmt.Errorf("it has %d lines, more than the %d that are allowed", n, maxFrameLines)
	}
	if n > len(r.lines) {
		r.lines, r.pointers = make([]Line, n), make([]*Line, n)
		for i := range r.lines {
			r.pointers[i] = &r.lines[i]
		}
	}
	return nil
}

func decodeLine(b []byte, line *Line) error {
	*line = Line{}
	for len(b) > 0 {
		f, err := nextField(b)
		if err != nil {
			return err
		}
		b = b[len(f.raw):]
		switch {
		case f.number == 1 && f.typ == protowire.BytesType:
			line.Function = f.text()
		case f.number == 2 && f.typ == protowire.BytesType:
			line.File = f.text()
		case f.number == 3 && f.typ == protowire.VarintType:
			line.Line = uint32(f.value)
		default:
			line.unknownFields = f.appendUnknown(line.unknownFields)
		}
	}
	return nil
}

// countFields returns the number of occurrences of a field in a message, up to where it is malformed.
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
