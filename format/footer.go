package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

const (
	// FooterSize is the size of the footer, the last bytes of an end block's payload.
	FooterSize = 40
	// footerMarker begins a footer.
	footerMarker = "\x89WPE\r\n\x1a\n"
)

// Footer locates the parts of a section from its end. Distances count back from the byte after the footer, so
// that they remain valid when streams are concatenated.
type Footer struct {
	Section uint64 // to the section's first byte
	Index   uint64 // to the header of the index block; 0: there is none
	End     uint64 // to the header of the end block
}

// AppendTo appends the footer's 40 bytes with its checksum.
func (f Footer) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, footerMarker...)
	for _, v := range [...]uint64{f.Section, f.Index, f.End} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], crcTable()))
}

// ParseFooter reads a footer that fills b.
func ParseFooter(b []byte) (Footer, error) {
	le := binary.LittleEndian
	const sum = FooterSize - 4
	if len(b) != FooterSize || string(b[:8]) != footerMarker || crc32.Checksum(b[:sum], crcTable()) != le.Uint32(b[sum:]) {
		return Footer{}, errors.New("no footer here")
	}
	f := Footer{Section: le.Uint64(b[8:]), Index: le.Uint64(b[16:]), End: le.Uint64(b[24:])}
	if f.End < BlockHeaderSize+FooterSize || f.Section < f.End || f.Section > 1<<62 || f.Index > f.Section {
		return Footer{}, fmt.Errorf("the footer's distances contradict each other")
	}
	return f, nil
}
