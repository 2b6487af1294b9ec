package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNoSpool is wrapped by errors about files that are no spool.
var ErrNoSpool = errors.New("not a spool of wprof-record")

// errUnopened is about a spool that a recorder has left behind before it had recorded anything.
var errUnopened = errors.New("the recording was cut off before its window opened: there is nothing to recover, remove the file")

// Damage says what a spool lacks.
type Damage struct {
	Cut     bool  // it has no end: the recorder was killed, or the file was cut
	Dropped int64 // bytes after the last whole round
	Bad     int64 // bytes in chunks that do not match their checksums
	Holes   int   // places at which bytes of a ring are missing
}

// String is the sentence for the user.
func (d *Damage) String() string {
	text := ""
	if d.Cut {
		text = "the recording was cut off: everything up to the last whole round is there"
		if d.Dropped > 0 {
			text += fmt.Sprintf(", %d bytes after it are not", d.Dropped)
		}
	}
	if d.Bad > 0 || d.Holes > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%d bytes of the spool are damaged, events are missing in %d places", d.Bad, d.Holes)
	}
	return text
}

// Spool is a spool file to be read.
type Spool struct {
	r      io.ReaderAt
	file   *os.File // nil in tests of what no file can be
	own    bool     // Close closes it
	limit  int64    // end of what is whole
	first  *generation
	tail   *Tail // nil: it has no end, or not yet
	open   int64 // with tail: when the window opened
	close  int64 // time of the last whole round
	listed bool  // a list of tasks is complete before the second generation, the last whole round or the end
	damage Damage
	copies copies  // complete when nobody writes any more
	live   *shared // nil: nobody writes
	punch  bool
}

// BeginningBytes is how much of a file's beginning [IsSpool] wants.
const BeginningBytes = chunkHeaderSize

// IsSpool tells whether a file begins as a spool does.
func IsSpool(beginning []byte) bool {
	h, err := parseChunkHeader(beginning)
	return err == nil && h.typ == chunkGeneration
}

// Open opens the spool that a recorder has left behind. It finds the last whole round; the payloads of ring records
// are only looked at by Finalise.
func Open(path string) (*Spool, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := OpenFile(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.own = true
	return s, nil
}

// OpenFile does the same with a file that the caller has opened and closes.
func OpenFile(file *os.File) (*Spool, error) {
	stat, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a regular file", ErrNoSpool)
	}
	if stat.Size() == 0 {
		return nil, errUnopened
	}
	s, err := read(file, stat.Size())
	if err != nil {
		return nil, err
	}
	s.file = file
	return s, nil
}

// read looks at all chunk headers of a spool.
func read(r io.ReaderAt, size int64) (*Spool, error) {
	s := &Spool{r: r}
	var list listing
	generations := 0
	scan := scanner{r: r, limit: size, damage: &s.damage}
	for {
		c, err := scan.chunk()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch c.typ {
		case chunkTasks:
			list.add(&c)
		case chunkGeneration:
			generations++
		}
		if err := s.visit(&scan, &c); err != nil {
			return nil, err
		}
		s.listed = s.listed || generations < 2 && list.complete && s.limit == c.end()
		if s.tail != nil {
			break
		}
	}
	if s.first == nil {
		return nil, ErrNoSpool
	}
	s.damage.Cut = s.tail == nil
	s.damage.Dropped = size - s.limit
	return s, nil
}

// visit notes what matters for the whole file.
func (s *Spool) visit(scan *scanner, c *chunk) error {
	if c.typ == chunkCopyPiece || c.typ == chunkCopyFile {
		return s.copies.visit(scan, c)
	}
	if c.typ != chunkGeneration && c.typ != chunkRound && c.typ != chunkEnd || c.typ == chunkGeneration && s.first != nil {
		return nil
	}
	b, err := scan.read(c)
	if err != nil || b == nil {
		return err
	}
	switch c.typ {
	case chunkGeneration:
		s.first, err = parseGeneration(b)
	case chunkRound:
		s.limit, s.close = c.end(), max(s.close, int64(c.position))
	case chunkEnd:
		s.open, s.tail, err = parseTail(b)
		s.limit = c.end()
	}
	return err
}

// Spool is the same file for reading. It may be called from another goroutine after Begin.
func (w *Writer) Spool() (*Spool, error) {
	if w.header == nil {
		return nil, errors.New("read a spool: it has not begun")
	}
	if w.shared.ended.Load() {
		return w.reread()
	}
	return &Spool{r: w.file, file: w.file, first: w.header, live: &w.shared, punch: w.path == ""}, nil
}

// BootID names the boot of the machine that was recorded.
func (s *Spool) BootID() string { return s.first.session.GetBootId() }

// Damage says what the spool lacks; nil: nothing. It is complete after Finalise.
func (s *Spool) Damage() *Damage {
	if s.damage == (Damage{}) {
		return nil
	}
	d := s.damage
	return &d
}

// Changed reports whether the file of a spool that was finalised does not hold what its writer wrote.
func (s *Spool) Changed() bool { return s.damage.Bad > 0 || !s.first.first }

// Close closes the file of a spool that Open has opened.
func (s *Spool) Close() error {
	if s.own {
		return s.file.Close()
	}
	return nil
}
