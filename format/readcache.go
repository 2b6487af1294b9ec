package format

import (
	"errors"
	"io"
)

// nearby is a part of a file in memory. Where headers stand close together and lie, a read for each would take minutes.
type nearby struct {
	buf  []byte
	from int64 // offset of buf[0] in the file
}

// at is what is there from an offset on.
func (n *nearby) at(offset int64) []byte {
	if offset < n.from || offset-n.from >= int64(len(n.buf)) {
		return nil
	}
	return n.buf[offset-n.from:]
}

// read replaces it by what stands in the file from an offset on.
func (n *nearby) read(r io.ReaderAt, offset int64) ([]byte, error) {
	const size = 256 << 10
	if cap(n.buf) == 0 {
		n.buf = make([]byte, size)
	}
	got, err := r.ReadAt(n.buf[:cap(n.buf)], offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	n.buf, n.from = n.buf[:got], offset
	return n.buf, err
}
