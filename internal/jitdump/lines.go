package jitdump

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Line is where the code from an address on comes from, up to the next line's address.
type Line struct {
	Address uint64
	Line    uint32
	File    string
}

const (
	lineSize = 16 // of struct debug_entry without the file's name
	// maxLines bounds the lines of one function.
	maxLines = 1 << 16
	// elfHeader is what V8 adds to the addresses of lines, because perf once put the code behind an ELF header.
	elfHeader = 0x40
)

// same stands for the file of the line before.
const same = "\xff"

// Lines reads a record of lines, struct jr_code_debug_info: address of the code, number of entries, and for each its address, line,
// column and file.
func Lines(r io.ReaderAt, size, at int64) (lines []Line) {
	d := &Reader{r: r, size: size, buf: make([]byte, 0, 2*maxName)}
	fixed, ok := d.bytes(at, linesSize)
	if !ok {
		return nil
	}
	le := binary.LittleEndian
	end, count := at+int64(le.Uint32(fixed[4:])), le.Uint64(fixed[prefixSize+8:])
	d.size = min(size, end)
	at += linesSize
	file := ""
	for range min(count, maxLines) {
		b, ok := d.bytes(at, int(min(lineSize+maxName, d.size-at)))
		if !ok || len(b) <= lineSize {
			return lines
		}
		length := bytes.IndexByte(b[lineSize:], 0)
		if length < 0 {
			return lines
		}
		if name := b[lineSize : lineSize+length]; string(name) != same {
			file = string(name)
		}
		lines = append(lines, Line{le.Uint64(b), le.Uint32(b[8:]), file})
		at += int64(lineSize + length + 1)
	}
	return lines
}
