package symbol

import "io"

// window is a buffer for reading small parts of a file that lie near one another.
type window struct {
	r    io.ReaderAt
	size uint64
	from uint64
	buf  []byte
}

const windowBytes = 64 << 10

// at returns n bytes of the file, valid until the next call.
func (w *window) at(from uint64, n int) ([]byte, bool) {
	if from > w.size || uint64(n) > w.size-from {
		return nil, false
	}
	if from < w.from || from+uint64(n) > w.from+uint64(len(w.buf)) {
		if w.buf == nil {
			w.buf = make([]byte, windowBytes)
		}
		w.buf = w.buf[:cap(w.buf)]
		got, _ := w.r.ReadAt(w.buf[:min(uint64(len(w.buf)), w.size-from)], int64(from))
		w.buf, w.from = w.buf[:got], from
		if got < n {
			return nil, false
		}
	}
	return w.buf[from-w.from:][:n], true
}
