package sideband

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"wprof/internal/symbol"
)

const (
	maxHeaders = 64       // program headers that are read
	maxNotes   = 64 << 10 // bytes of one segment of notes

	ptNote = 4 // PT_NOTE in include/uapi/linux/elf.h
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
		var align uint64
		if wide {
			at, length, align = int64(order.Uint64(headers[8:])), int64(order.Uint64(headers[32:])), order.Uint64(headers[48:])
		} else {
			at, length, align = int64(order.Uint32(headers[4:])), int64(order.Uint32(headers[16:])), uint64(order.Uint32(headers[28:]))
		}
		if at < 0 || length <= 0 || length > maxNotes {
			continue
		}
		notes := make([]byte, length)
		n, _ := r.ReadAt(notes, at)
		if id := symbol.BuildIDIn(notes[:n], order, align); id != nil {
			return bytes.Clone(id), nil
		}
	}
	return nil, nil
}
