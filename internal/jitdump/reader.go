package jitdump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"wprof/format"
)

const (
	magic   = 0x4A695444 // "JiTD" in the byte order of the machine that wrote it
	version = 1
	// archTime is the flag of a file whose times are of a clock of the processor.
	archTime = 1

	headerSize = 40
	beganAt    = 24
	prefixSize = 16
	loadSize   = prefixSize + 40
	moveSize   = prefixSize + 48
	linesSize  = prefixSize + 16

	// maxName is the longest name of a function or file that is read.
	maxName = 4096
	// maxCodeSize bounds one function. Larger ones are skipped.
	maxCodeSize = 16 << 20
)

// Kinds of records, enum jit_record_type.
const (
	recordLoad  = 0
	recordMove  = 1
	recordLines = 2
)

// ErrOther is the error of a file that is no dump, or one of another version or byte order.
var ErrOther = errors.New("it is no jitdump of this version and byte order")

// IsPath reports whether a path has the name that perf expects of a dump: jit-PID.dump.
func IsPath(name string) bool {
	pid, isDump := strings.CutPrefix(path.Base(name), "jit-")
	pid, isDump2 := strings.CutSuffix(pid, ".dump")
	_, err := strconv.ParseUint(pid, 10, 32)
	return isDump && isDump2 && err == nil
}

// IsModule reports whether a module is a dump.
func IsModule(m *format.Module) bool {
	return format.ModuleKind(m.Kind) == format.ModuleKind_MODULE_FILE && len(m.BuildId) == 0 && IsPath(string(m.Path))
}

// Code is one function, or one that was moved.
type Code struct {
	Time    int64  // when it was written, CLOCK_MONOTONIC ns unless the Reader's ArchTime is set
	Address uint64 // where the process has it
	Size    uint64
	Offset  uint64 // of its bytes in the dump
	Index   uint64 // number of the function
	Moved   bool   // Offset is unknown: it is that of the code with the same index before
	Name    []byte // valid until the next call; empty if Moved is set
	// Lines is the offset of the record with the code's lines, 0 if it has none, and LoadedAt the address that they are for.
	Lines    int64
	LoadedAt uint64
}

// Reader reads the records of a dump in their order, also while the dump is being written.
type Reader struct {
	// ArchTime: the times of records are not CLOCK_MONOTONIC.
	ArchTime bool
	// Began is the time in the header, of a clock of the writer: another one means that the file was written anew.
	Began uint64

	r      io.ReaderAt
	at     int64
	size   int64
	buf    []byte
	from   int64 // of buf in the file
	lines  int64 // offset of the last record of lines, which belongs to the next function
	lineOf uint64
}

// NewReader reads the header of a dump.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	d := &Reader{r: r, size: size}
	header, ok := d.bytes(0, headerSize)
	if !ok {
		return nil, ErrOther
	}
	le := binary.LittleEndian
	length := int64(le.Uint32(header[8:]))
	if le.Uint32(header) != magic || le.Uint32(header[4:]) != version || length < headerSize {
		return nil, ErrOther
	}
	d.Began = le.Uint64(header[beganAt:])
	d.ArchTime = le.Uint64(header[32:])&archTime != 0
	d.at = length
	return d, nil
}

// Position returns how far the file was read.
func (d *Reader) Position() int64 { return d.at }

// WasRewritten reports whether the file has another header now.
func (d *Reader) WasRewritten() bool {
	var began [8]byte
	_, err := d.r.ReadAt(began[:], beganAt)
	return err != nil || binary.LittleEndian.Uint64(began[:]) != d.Began
}

// Extend sets the size of a file that has grown.
func (d *Reader) Extend(size int64) {
	if size > d.size {
		d.size, d.buf = size, d.buf[:0]
	}
}

// Next reads the next record; found: it is a function. The error is io.EOF if the file has no further complete record.
func (d *Reader) Next(c *Code) (found bool, err error) {
	le := binary.LittleEndian
	prefix, ok := d.bytes(d.at, prefixSize)
	if !ok {
		return false, io.EOF
	}
	kind, length := le.Uint32(prefix), int64(le.Uint32(prefix[4:]))
	if length < prefixSize {
		return false, ErrOther
	}
	if length > d.size-d.at {
		return false, io.EOF
	}
	at := d.at
	*c = Code{Time: int64(le.Uint64(prefix[8:]))}
	d.at += length
	switch kind {
	case recordLoad:
		return d.load(at, length, c), nil
	case recordMove:
		return d.move(at, length, c), nil
	case recordLines:
		if fixed, ok := d.bytes(at, linesSize); ok && length >= linesSize {
			d.lines, d.lineOf = at, le.Uint64(fixed[prefixSize:])
		}
	}
	return false, nil
}

// load reads struct jr_code_load: pid, tid, vma, address, size, index, the name, and the bytes of the code.
func (d *Reader) load(at, length int64, c *Code) bool {
	if length < loadSize {
		return false
	}
	b, ok := d.bytes(at, int(min(length, loadSize+maxName)))
	if !ok {
		return false
	}
	le := binary.LittleEndian
	c.Address, c.Size, c.Index = le.Uint64(b[32:]), le.Uint64(b[40:]), le.Uint64(b[48:])
	end := bytes.IndexByte(b[loadSize:], 0)
	if end < 0 || !isSane(c) || int64(c.Size) > length-loadSize-int64(end)-1 {
		return false
	}
	c.Name, c.Offset, c.LoadedAt = b[loadSize:loadSize+end], uint64(at+length)-c.Size, c.Address
	if d.lines != 0 && d.lineOf == c.Address {
		c.Lines = d.lines
	}
	d.lines = 0
	return true
}

// move reads struct jr_code_move: pid, tid, vma, old address, new address, size, index.
func (d *Reader) move(at, length int64, c *Code) bool {
	if length < moveSize {
		return false
	}
	b, ok := d.bytes(at, moveSize)
	if !ok {
		return false
	}
	le := binary.LittleEndian
	c.Address, c.Size, c.Index, c.Moved = le.Uint64(b[40:]), le.Uint64(b[48:]), le.Uint64(b[56:]), true
	return isSane(c)
}

func isSane(c *Code) bool {
	return c.Size > 0 && c.Size <= maxCodeSize && c.Address+c.Size > c.Address
}

// windowBytes is how much is read at once.
const windowBytes = 64 << 10

// bytes returns n bytes at an offset, valid until the next call.
func (d *Reader) bytes(at int64, n int) ([]byte, bool) {
	if at < 0 || at > d.size || int64(n) > d.size-at {
		return nil, false
	}
	if at < d.from || at+int64(n) > d.from+int64(len(d.buf)) {
		if d.buf == nil {
			d.buf = make([]byte, windowBytes)
		}
		d.buf = d.buf[:cap(d.buf)]
		got, _ := d.r.ReadAt(d.buf[:min(int64(len(d.buf)), d.size-at)], at)
		d.buf, d.from = d.buf[:got], at
		if got < n {
			return nil, false
		}
	}
	return d.buf[at-d.from:][:n], true
}
