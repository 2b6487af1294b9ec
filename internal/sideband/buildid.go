package sideband

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"wprof/internal/symbol"
)

const (
	maxEntries = 64       // segments, and sections, that are read
	maxEntry   = 256      // bytes of one in the table
	maxNotes   = 64 << 10 // bytes of notes

	ptNote  = 4 // PT_NOTE in include/uapi/linux/elf.h
	shtNote = 7 // SHT_NOTE
)

var errNoELF = errors.New("not an ELF file")

// elfTable is where an ELF file has the table of its segments or sections: numbers are offsets in the header and in an entry.
type elfTable struct {
	at, entry, count          int    // in the header
	notes                     uint32 // the type of notes
	kind, offset, size, align int    // in an entry
	least                     int    // bytes of an entry
}

// elfTables are those of segments, which is where the kernel looks (lib/buildid.c), and of sections: Go's linker, since 1.24, has the build-id in a
// section, but in no segment of notes.
func elfTables(wide bool) []elfTable {
	if wide {
		return []elfTable{{32, 54, 56, ptNote, 0, 8, 32, 48, 56}, {40, 58, 60, shtNote, 4, 24, 32, 48, 64}}
	}
	return []elfTable{{28, 42, 44, ptNote, 0, 4, 16, 28, 32}, {32, 46, 48, shtNote, 4, 16, 20, 32, 40}}
}

// readBuildID finds the build-id of an ELF file; nil: it has none.
func readBuildID(r io.ReaderAt) ([]byte, error) {
	var head [64]byte
	if n, err := r.ReadAt(head[:], 0); n < len(head) && err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(head[:4]) != "\x7fELF" {
		return nil, errNoELF
	}
	f := elfFile{r: r, order: binary.LittleEndian, wide: head[4] == 2}
	if head[5] == 2 {
		f.order = binary.BigEndian
	}
	tables := elfTables(f.wide)
	if size := int(f.order.Uint16(head[tables[0].entry:])); size < tables[0].least || size > maxEntry {
		return nil, errNoELF
	}
	for i := range tables {
		if id, err := f.buildIDIn(&tables[i], head[:]); id != nil || err != nil {
			return id, err
		}
	}
	return nil, nil
}

type elfFile struct {
	r     io.ReaderAt
	order binary.ByteOrder
	wide  bool
}

// word reads an offset or a size.
func (f *elfFile) word(b []byte) uint64 {
	if f.wide {
		return f.order.Uint64(b)
	}
	return uint64(f.order.Uint32(b))
}

// buildIDIn looks for a build-id in the notes that a table lists.
func (f *elfFile) buildIDIn(t *elfTable, head []byte) ([]byte, error) {
	offset, size, count := int64(f.word(head[t.at:])), int(f.order.Uint16(head[t.entry:])), int(f.order.Uint16(head[t.count:]))
	if size < t.least || size > maxEntry || offset < 0 {
		return nil, nil
	}
	entries := make([]byte, min(count, maxEntries)*size)
	n, err := f.r.ReadAt(entries, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for entries = entries[:n]; len(entries) >= size; entries = entries[size:] {
		if f.order.Uint32(entries[t.kind:]) != t.notes {
			continue
		}
		at, length := int64(f.word(entries[t.offset:])), int64(f.word(entries[t.size:]))
		if at < 0 || length <= 0 || length > maxNotes {
			continue
		}
		notes := make([]byte, length)
		n, _ := f.r.ReadAt(notes, at)
		if id := symbol.BuildIDIn(notes[:n], f.order, f.word(entries[t.align:])); id != nil {
			return bytes.Clone(id), nil
		}
	}
	return nil, nil
}
