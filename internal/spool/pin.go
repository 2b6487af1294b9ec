package spool

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

// Pin is a part of the file that is kept for a reader.
type Pin struct {
	r           io.ReaderAt
	from, limit int64
	open        int64
	window      time.Duration
	recording   uint32
	lost        atomic.Bool
}

// pinShare is how much more than the limit the file may have for readers.
const pinShare = 2

// Pin keeps what the window needs now, up to the last whole round, until [Writer.Unpin] is called. It is for the goroutine that writes.
func (w *Writer) Pin() *Pin {
	r := w.rolling
	p := &Pin{r: w.reader(), from: r.kept[0].at, limit: w.size, open: w.current.open, window: r.window, recording: w.recording}
	r.pins[p] = true
	return p
}

// Unpin ends a Pin. It is for the goroutine that writes.
func (w *Writer) Unpin(p *Pin) { delete(w.rolling.pins, p) }

// IsLost reports whether the part was dropped, because its reader took too long.
func (p *Pin) IsLost() bool { return p.lost.Load() }

// keepPinned returns the first generation to keep with those that are pinned, unless that takes too much.
func (r *rolling) keepPinned(first int, size int64) int {
	for p := range r.pins {
		if r.limit > 0 && size-p.from > pinShare*r.limit {
			p.lost.Store(true)
			continue
		}
		for first > 0 && r.kept[first].at > p.from {
			first--
		}
	}
	return first
}

// Spool is what is pinned as a spool that ends there, with a list of the threads that are blocked then as in [Writer.Blocked]. Any goroutine
// may read it. Spool waits until everything is in the file.
func (p *Pin) Spool(blocked []byte, t Tail) (*Spool, error) {
	end := pinEnd{at: p.limit, file: p.r}
	w := &Writer{begun: true, rounds: -1, recording: p.recording, record: &end.bytes}
	w.current.open = p.open
	if err := w.Blocked(blocked); err != nil {
		return nil, err
	}
	if err := w.end(&t); err != nil {
		return nil, err
	}
	s := &Spool{r: &end, from: p.from, window: p.window}
	return s, s.read(p.limit + int64(end.bytes.Len()))
}

// pinEnd is a file up to a place, with other bytes behind it.
type pinEnd struct {
	at    int64
	file  io.ReaderAt
	bytes bytes.Buffer
}

// ReadAt implements io.ReaderAt.
func (e *pinEnd) ReadAt(b []byte, at int64) (n int, err error) {
	if at < e.at {
		n, err = e.file.ReadAt(b[:min(int64(len(b)), e.at-at)], at)
		if err != nil || n == len(b) {
			return n, err
		}
	}
	rest := e.bytes.Bytes()
	behind := at + int64(n) - e.at
	if behind >= int64(len(rest)) {
		return n, io.EOF
	}
	got := copy(b[n:], rest[behind:])
	if n += got; n < len(b) {
		err = io.EOF
	}
	return n, err
}
