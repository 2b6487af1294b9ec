package format

import (
	"errors"
	"io"
)

// readCache is a part of a file in memory. In a hostile file with many false headers, a read for each would take minutes.
type readCache struct {
	buf  []byte
	from int64 // offset of buf[0] in the file
}

// at returns the cached bytes from an offset on.
func (n *readCache) at(offset int64) []byte {
	if offset < n.from || offset-n.from >= int64(len(n.buf)) {
		return nil
	}
	return n.buf[offset-n.from:]
}

// read replaces the cache by the file's bytes from an offset on.
func (n *readCache) read(r io.ReaderAt, offset int64) ([]byte, error) {
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
