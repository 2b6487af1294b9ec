package symbol

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// note appends an ELF note whose description is padded to align bytes.
func note(to []byte, order binary.ByteOrder, kind uint32, name, desc string, align int) []byte {
	for _, n := range []uint32{uint32(len(name)), uint32(len(desc)), kind} {
		to = append(to, make([]byte, 4)...)
		order.PutUint32(to[len(to)-4:], n)
	}
	for _, text := range []string{name, desc} {
		to = append(to, text...)
		to = append(to, make([]byte, -len(to)&(align-1))...)
	}
	return to
}

func TestBuildIDStandsBehindOtherNotes(t *testing.T) {
	const id = "0123456789abcdefghij"
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, align := range []int{4, 8} {
			notes := note(nil, order, 1, "GNU\x00", "abcd", align)
			notes = note(notes, order, ntBuildID, "stapsdt\x00", "not this one", align)
			notes = note(notes, order, ntBuildID, "GNU\x00", "", align)
			notes = note(notes, order, ntBuildID, "GNU\x00", string(make([]byte, maxBuildID+1)), align)
			before := len(notes)
			notes = note(notes, order, ntBuildID, "GNU\x00", id, align)
			if got := BuildIDIn(notes, order, uint64(align)); string(got) != id {
				t.Errorf("%s, align %d: got %q", order, align, got)
			}
			for n := range notes[:before+noteHeader+4+len(id)] {
				if got := BuildIDIn(bytes.Clone(notes[:n]), order, uint64(align)); got != nil {
					t.Errorf("%s, align %d: got %q of the first %d bytes", order, align, got, n)
				}
			}
		}
	}
}
