package symbol

import (
	"bytes"
	"io"
	"math"
)

// maxNameBytes is the longest name that is read. The longest in rustc has 1,222 bytes.
const maxNameBytes = 64 << 10

// names is one or several tables of zero-terminated strings. A position counts through all of them.
type names struct {
	parts  []namePart
	end    uint64
	memory int64 // bytes of the parts that are in memory
}

type namePart struct {
	base uint64
	size uint64
	r    io.ReaderAt
	elf  bool // names of ELF symbols, which may have versions
}

// add appends a table of strings, and returns the position at which it begins. It fails if 32 bits are too few for that.
func (n *names) add(r io.ReaderAt, size uint64, elf bool) (base uint32, ok bool) {
	if size > math.MaxUint32-n.end {
		return 0, false
	}
	base = uint32(n.end)
	n.parts = append(n.parts, namePart{base: n.end, size: size, r: r, elf: elf})
	n.end += size
	return base, true
}

// addBytes appends a table of strings that is in memory.
func (n *names) addBytes(b []byte) {
	n.memory += int64(len(b))
	n.add(bytes.NewReader(b), uint64(len(b)), false)
}

// read returns the string at a position. It fails if the string is not terminated.
func (n *names) read(position uint32) (string, bool) {
	for _, p := range n.parts {
		if at := uint64(position) - p.base; uint64(position) >= p.base && at < p.size {
			name, ok := readName(p.r, at, p.size)
			if p.elf {
				name = withoutVersion(name)
			}
			return name, ok
		}
	}
	return "", false
}

// readName reads the string at an offset of a table.
func readName(r io.ReaderAt, at, size uint64) (string, bool) {
	var short [256]byte // nine of ten names in rustc, all but a few in C; longer ones are read again
	for buf := short[:]; ; buf = make([]byte, 16*len(buf)) {
		part := buf[:min(uint64(len(buf)), size-at)]
		n, _ := r.ReadAt(part, int64(at))
		if end := bytes.IndexByte(part[:n], 0); end >= 0 {
			return string(part[:end]), true
		}
		if n < len(buf) || n >= maxNameBytes {
			return "", false
		}
	}
}
