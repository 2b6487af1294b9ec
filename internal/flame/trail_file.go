package flame

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"wprof/format"
	"wprof/internal/newfile"
)

const (
	// trailsInMemory is how many bytes of pieces all threads together keep before they go to a file.
	trailsInMemory = 16 << 20
	// trailChunk is the most that one thread keeps, and so the most that is read back at once.
	trailChunk = 512 << 10
	// A thread that comes and goes leaves a few pieces: its first chunk has room for these.
	trailFirstChunk = 64
	// trailLink stands before each chunk in the file: where the thread's chunk before it is, and how long that one is.
	trailLink = 8 + 4
)

// trails keeps what threads did in order of time: in memory as long as it is little, then in a file without a name, in
// chunks of one thread each. A chunk knows the one before it, so that a thread costs the same memory however much it did.
type trails struct {
	limit   int            // bytes to keep in memory
	held    int            // bytes that are kept there
	holders []*threadTrail // those with a chunk in memory
	file    *os.File       // nil until it is needed
	out     *bufio.Writer  // to the end of file; empty between calls
	size    int64          // of file
	failed  error          // of a write: what follows would be at the wrong place
}

// threadTrail is what one thread did. Where its chunks are in the file is told from the last one on.
type threadTrail struct {
	of     *trails
	open   *Piece // the last one, which may go on; nil if there is none
	chunk  []byte
	until  int64 // where the last piece in chunk, or before it, ends
	begin  int64 // the same, where chunk begins
	last   int64 // where the last chunk in the file begins, its link included
	length int32 // of that chunk, without its link; 0: there is none
}

func newTrails() *trails { return &trails{limit: trailsInMemory} }

// thread begins the trail of one more thread. It can be read until the trails are closed.
func (s *trails) thread() *threadTrail { return &threadTrail{of: s} }

// Close forgets all trails.
func (s *trails) Close() {
	if s.file != nil {
		s.file.Close()
		newfile.Discard(s.file)
	}
	*s = trails{limit: s.limit, failed: os.ErrClosed}
}

// add appends a piece, which must not begin before the one added last has ended. One without a length is left out, and one
// that only goes on with what the last one did makes that one longer.
func (t *threadTrail) add(p Piece) error {
	if p.To <= p.From {
		return nil
	}
	if t.open == nil {
		t.open = new(Piece)
	} else if p.continues(t.open) {
		t.open.To = p.To
		return nil
	} else if err := t.store(); err != nil {
		return err
	}
	*t.open = p
	return nil
}

// end says that no more pieces follow: the thread has gone.
func (t *threadTrail) end() error {
	if t.open == nil {
		return nil
	}
	err := t.store()
	t.open = nil
	return err
}

// store puts the open piece into the chunk.
func (t *threadTrail) store() error {
	if t.of.failed != nil {
		return t.of.failed
	}
	if len(t.chunk) == 0 {
		t.begin = t.until
		if cap(t.chunk) == 0 {
			t.chunk = make([]byte, 0, trailFirstChunk)
			t.of.held += trailFirstChunk
			t.of.holders = append(t.of.holders, t)
		}
	}
	before := cap(t.chunk)
	t.chunk = appendPiece(t.chunk, t.open, t.until)
	t.until = t.open.To
	t.of.held += cap(t.chunk) - before
	switch {
	case t.of.held > t.of.limit:
		return t.of.spill()
	case len(t.chunk) > trailChunk:
		return t.of.write(t)
	}
	return nil
}

// appendPiece encodes a piece after one that ended at until.
func appendPiece(b []byte, p *Piece, until int64) []byte {
	b = binary.AppendUvarint(b, uint64(p.Class))
	b = binary.AppendVarint(b, p.From-until)
	b = binary.AppendUvarint(b, uint64(p.To-p.From))
	b = binary.AppendUvarint(b, uint64(p.State))
	b = binary.AppendUvarint(b, uint64(p.CPU+1)) // NoCPU, the largest, becomes the shortest
	b = binary.AppendUvarint(b, uint64(p.Label))
	return binary.AppendUvarint(b, uint64(p.Stack))
}

// spill moves the chunks of all threads to the file.
func (s *trails) spill() error {
	for _, t := range s.holders {
		if err := s.append(t); err != nil {
			return s.fail(err)
		}
		t.chunk = nil
	}
	s.holders, s.held = s.holders[:0], 0
	return s.flush()
}

// write moves one thread's chunk to the file; the thread keeps the memory for the next one.
func (s *trails) write(t *threadTrail) error {
	if err := s.append(t); err != nil {
		return s.fail(err)
	}
	t.chunk = t.chunk[:0]
	return s.flush()
}

// append writes a thread's chunk behind the others.
func (s *trails) append(t *threadTrail) error {
	if len(t.chunk) == 0 {
		return nil
	}
	if s.file == nil {
		file, err := newfile.Temporary("wprof-trail")
		if err != nil {
			return err
		}
		s.file, s.out = file, bufio.NewWriterSize(file, 256<<10)
	}
	var link [trailLink]byte
	binary.LittleEndian.PutUint64(link[:], uint64(t.last))
	binary.LittleEndian.PutUint32(link[8:], uint32(t.length))
	if _, err := s.out.Write(link[:]); err != nil {
		return err
	}
	if _, err := s.out.Write(t.chunk); err != nil {
		return err
	}
	t.last, t.length = s.size, int32(len(t.chunk))
	s.size += int64(trailLink + len(t.chunk))
	t.begin = t.until
	return nil
}

func (s *trails) flush() error {
	if s.out == nil {
		return nil
	}
	return s.fail(s.out.Flush())
}

func (s *trails) fail(err error) error {
	if err != nil {
		s.failed = fmt.Errorf("keep what threads did in order of time: %w; free some room, or set TMPDIR to a folder that has it", err)
	}
	return s.failed
}

// Each visits the pieces, also while more are being added.
func (t *threadTrail) Each(visit func(*Piece) error) error {
	if t.of.failed != nil {
		return t.of.failed
	}
	at, err := t.stored()
	if err != nil {
		return err
	}
	var until int64
	var chunk []byte
	for i := len(at) - 1; i >= 0; i-- {
		chunk = append(chunk[:0], make([]byte, at[i].length)...)
		if err := t.of.read(chunk, at[i].offset+trailLink); err != nil {
			return err
		}
		if until, err = eachPiece(chunk, until, visit); err != nil {
			return err
		}
	}
	if _, err := eachPiece(t.chunk, t.begin, visit); err != nil {
		return err
	}
	if t.open == nil {
		return nil
	}
	open := *t.open
	return visit(&open)
}

// storedChunk is where a chunk is in the file, its link included, and how long it is without that.
type storedChunk struct {
	offset int64
	length int32
}

// stored finds the thread's chunks in the file, the last one first.
func (t *threadTrail) stored() (all []storedChunk, err error) {
	var link [trailLink]byte
	for c := (storedChunk{t.last, t.length}); c.length > 0; {
		all = append(all, c)
		if err := t.of.read(link[:], c.offset); err != nil {
			return nil, err
		}
		c.offset = int64(binary.LittleEndian.Uint64(link[:]))
		c.length = int32(binary.LittleEndian.Uint32(link[8:]))
	}
	return all, nil
}

func (s *trails) read(b []byte, offset int64) error {
	if _, err := s.file.ReadAt(b, offset); err != nil {
		return fmt.Errorf("read back what threads did in order of time: %w", err)
	}
	return nil
}

// eachPiece decodes a chunk after a piece that ended at until, and returns where its own last one ends.
func eachPiece(chunk []byte, until int64, visit func(*Piece) error) (int64, error) {
	d := pieceDecoder{rest: chunk}
	for len(d.rest) > 0 && !d.failed {
		var p Piece
		p.Class = Class(d.uvarint())
		p.From = until + d.varint()
		p.To = p.From + int64(d.uvarint())
		p.State = format.State(d.uvarint())
		p.CPU = uint32(d.uvarint()) - 1
		p.Label = LabelID(d.uvarint())
		p.Stack = NodeID(d.uvarint())
		if d.failed {
			break
		}
		until = p.To
		if err := visit(&p); err != nil {
			return 0, err
		}
	}
	if d.failed {
		return 0, errors.New("read back what threads did in order of time: the temporary file was changed by others")
	}
	return until, nil
}

// pieceDecoder takes numbers from the front of a chunk until one is not whole.
type pieceDecoder struct {
	rest   []byte
	failed bool
}

func (d *pieceDecoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	d.skip(n)
	return v
}

func (d *pieceDecoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	d.skip(n)
	return v
}

func (d *pieceDecoder) skip(n int) {
	if n <= 0 {
		d.failed = true
		return
	}
	d.rest = d.rest[n:]
}
