package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// errNoSpool is wrapped by errors about files that are no spool.
var errNoSpool = errors.New("not a spool of wprof-record")

// ErrUnopened is the error for a spool whose recorder ended before it had recorded anything.
var ErrUnopened = errors.New("the recording was cut off before its window opened: there is nothing to recover, remove the file")

// Damage is what a spool lacks.
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
	r        io.ReaderAt
	file     *os.File // nil in some tests
	ownsFile bool     // Close closes it
	limit    int64    // end of what is whole
	first    *generation
	tail     *Tail // nil: it has no end, or not yet
	open     int64 // with tail: when the window opened
	close    int64 // time of the last whole round
	listed   bool
	damage   Damage
	copies   copies  // complete when the writer has ended
	live     *shared // nil: there is no writer
	punch    bool

	// Of a flight recorder.
	from   int64         // where what is kept begins; 0: at the beginning
	window time.Duration // 0: no limit
	base   []Chunk       // of the first generation, complete with whole
	whole  bool
}

// BeginningBytes is how much of a file's beginning [IsSpool] needs.
const BeginningBytes = chunkHeaderSize

// IsSpool reports whether a file begins as a spool does.
func IsSpool(beginning []byte) bool {
	h, err := parseChunkHeader(beginning)
	return err == nil && h.Type == ChunkGeneration
}

// Open opens the spool that a recorder has left behind. It finds the last whole round; the payloads of ring records
// are read by Finalise only.
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
	s.ownsFile = true
	return s, nil
}

// OpenFile does the same with a file that the caller has opened and closes.
func OpenFile(file *os.File) (*Spool, error) {
	stat, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a regular file", errNoSpool)
	}
	if stat.Size() == 0 {
		return nil, ErrUnopened
	}
	s, err := Read(file, stat.Size())
	if err != nil {
		return nil, err
	}
	s.file = file
	return s, nil
}

// Read reads all chunk headers of a spool.
func Read(r io.ReaderAt, size int64) (*Spool, error) {
	s := &Spool{r: r}
	if err := s.readKept(size); err != nil {
		return nil, err
	}
	return s, s.read(size)
}

// read reads all chunk headers of what was kept.
func (s *Spool) read(size int64) error {
	s.limit = size
	scan := s.Scanner(&s.damage)
	s.limit = 0
	var list Listing
	generations := 0
	for {
		c, err := scan.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch c.Type {
		case ChunkTasks:
			list.Add(&c)
		case ChunkGeneration:
			generations++
		}
		if err := s.visit(&scan, &c); err != nil {
			return err
		}
		s.listed = s.listed || (generations < 2 || s.from > 0) && list.Complete && s.limit == c.End()
		if s.tail != nil {
			break
		}
	}
	if s.first == nil {
		return errNoSpool
	}
	s.damage.Cut = s.tail == nil
	s.damage.Dropped = size - s.limit
	return nil
}

// visit notes what matters for the whole file.
func (s *Spool) visit(scan *Scanner, c *Chunk) error {
	if c.Type == chunkCopyPiece || c.Type == chunkCopyFile {
		return s.copies.visit(scan, c)
	}
	if c.Type == ChunkBase {
		s.addBase(c)
		return nil
	}
	if c.Type != ChunkGeneration && c.Type != ChunkRound && c.Type != ChunkEnd || c.Type == ChunkGeneration && s.first != nil {
		return nil
	}
	b, err := scan.Read(c)
	if err != nil || b == nil {
		return err
	}
	switch c.Type {
	case ChunkGeneration:
		s.first, err = parseGeneration(b)
	case ChunkRound:
		s.limit, s.close = c.End(), max(s.close, int64(c.Position))
	case ChunkEnd:
		s.open, s.tail, err = ParseTail(b)
		s.limit = c.End()
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

// Header returns the description of the recording from its first generation.
func (s *Spool) Header() *Header { return &s.first.Header }

// HasBeginning reports whether the file begins with the first generation of the recording.
func (s *Spool) HasBeginning() bool { return s.first.newRings }

// Tail returns what was recorded at the end, and when the window opened; nil: the spool has no end, or not yet.
func (s *Spool) Tail() (opened int64, t *Tail) { return s.open, s.tail }

// Closed returns when the window closed, if the file has it, or an estimate.
func (s *Spool) Closed() int64 {
	if s.tail != nil {
		return s.tail.Close
	}
	return s.close
}

// Scanner goes through the chunks of the spool. It counts damage in damage.
func (s *Spool) Scanner(damage *Damage) Scanner {
	scan := NewScanner(s.r, s.limit, damage)
	scan.next = s.from
	return scan
}

// RecountDamage returns the spool's damage for a scanner that reads the spool once more; its bytes count from 0 again.
func (s *Spool) RecountDamage() *Damage {
	s.damage.Bad = 0
	return &s.damage
}

// HasList reports whether a list of tasks is complete before the second generation, the last whole round or the end; in what a flight
// recorder has kept, anywhere.
func (s *Spool) HasList() bool { return s.listed }

// BootID names the boot of the machine that was recorded.
func (s *Spool) BootID() string { return s.first.Session.GetBootId() }

// Damage returns what the spool lacks; nil: nothing. It is complete after Finalise.
func (s *Spool) Damage() *Damage {
	if s.damage == (Damage{}) {
		return nil
	}
	d := s.damage
	return &d
}

// Changed reports whether the file of a spool that was finalised does not hold what its writer wrote.
func (s *Spool) Changed() bool { return s.damage.Bad > 0 || !s.HasBeginning() && s.from == 0 }

// Close closes the file of a spool that Open has opened.
func (s *Spool) Close() error {
	if s.ownsFile {
		return s.file.Close()
	}
	return nil
}
