package sideband

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

const (
	maxHeaders = 64       // program headers that are read
	maxNotes   = 64 << 10 // bytes of one segment of notes

	ptNote     = 4 // PT_NOTE in include/uapi/linux/elf.h
	ntBuildID  = 3 // NT_GNU_BUILD_ID
	gnu        = "GNU\x00"
	noteHeader = 12
)

var errNoELF = errors.New("not an ELF file")

// readBuildID finds the build-id of an ELF file; nil: it has none.
func readBuildID(r io.ReaderAt) ([]byte, error) {
	var head [64]byte
	if n, err := r.ReadAt(head[:], 0); n < len(head) && err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(head[:4]) != "\x7fELF" {
		return nil, errNoELF
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	wide := head[4] == 2
	var offset int64
	var size, count int
	if wide {
		offset, size, count = int64(order.Uint64(head[32:])), int(order.Uint16(head[54:])), int(order.Uint16(head[56:]))
	} else {
		offset, size, count = int64(order.Uint32(head[28:])), int(order.Uint16(head[42:])), int(order.Uint16(head[44:]))
	}
	least := 32
	if wide {
		least = 56
	}
	if size < least || size > 256 || offset < 0 {
		return nil, errNoELF
	}
	headers := make([]byte, min(count, maxHeaders)*size)
	if _, err := r.ReadAt(headers, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for ; len(headers) >= size; headers = headers[size:] {
		if order.Uint32(headers) != ptNote {
			continue
		}
		var at, length int64
		if wide {
			at, length = int64(order.Uint64(headers[8:])), int64(order.Uint64(headers[32:]))
		} else {
			at, length = int64(order.Uint32(headers[4:])), int64(order.Uint32(headers[16:]))
		}
		if at < 0 || length <= 0 || length > maxNotes {
			continue
		}
		notes := make([]byte, length)
		n, _ := r.ReadAt(notes, at)
		if id := buildIDIn(notes[:n], order); id != nil {
			return id, nil
		}
	}
	return nil, nil
}

// buildIDIn searches notes: lengths of name and description, type, then both, padded to 4 bytes.
func buildIDIn(notes []byte, order binary.ByteOrder) []byte {
	for len(notes) >= noteHeader {
		name, desc := uint64(order.Uint32(notes)), uint64(order.Uint32(notes[4:]))
		from := noteHeader + (name+3)&^3
		end := from + (desc+3)&^3
		if from+desc > uint64(len(notes)) {
			return nil
		}
		if order.Uint32(notes[8:]) == ntBuildID && name == uint64(len(gnu)) && string(notes[noteHeader:noteHeader+len(gnu)]) == gnu && desc > 0 && desc <= maxBuild {
			return bytes.Clone(notes[from : from+desc])
		}
		if end > uint64(len(notes)) {
			return nil
		}
		notes = notes[end:]
	}
	return nil
}
