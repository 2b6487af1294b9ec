package symbol

import "encoding/binary"

const (
	maxBuildID = 64
	ntBuildID  = 3 // NT_GNU_BUILD_ID in include/uapi/linux/elf.h
	noteHeader = 12
)

// BuildIDIn returns the GNU build-id among ELF notes, as a slice of them; nil: there is none. align is that of their segment or
// section: names and descriptions are padded to 8 bytes if it is 8, else to 4.
func BuildIDIn(notes []byte, order binary.ByteOrder, align uint64) []byte {
	if align != 8 {
		align = 4
	}
	up := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for len(notes) >= noteHeader {
		name, size := uint64(order.Uint32(notes)), uint64(order.Uint32(notes[4:]))
		desc := up(noteHeader + name)
		if desc+size > uint64(len(notes)) {
			return nil
		}
		if order.Uint32(notes[8:]) == ntBuildID && string(notes[noteHeader:noteHeader+name]) == "GNU\x00" && size > 0 && size <= maxBuildID {
			return notes[desc : desc+size]
		}
		notes = notes[min(desc+up(size), uint64(len(notes))):]
	}
	return nil
}
