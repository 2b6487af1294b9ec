// Package spill keeps bytes of very many owners, each in the order in which they were appended: in memory while all of them
// together are few, then in one temporary file without a name.
package spill

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"

	"wprof/internal/newfile"
)

const (
	// InMemory is a good limit for a Store.
	InMemory = 16 << 20
	// MaxChunk is the most that one chain keeps in memory, and so about the most that is read back at once.
	MaxChunk = 512 << 10
	// firstChunk is small, because most owners are threads that come and go.
	firstChunk = 64
	// linkBytes stand before each chunk in the file: the position and length of the chunk before it in its chain.
	linkBytes = 8 + 4
)

// Store holds chains.
type Store struct {
	what    string // what it keeps, for errors
	limit   int    // bytes to keep in memory
	held    int    // bytes that are kept there
	holders []*Chain
	file    *os.File      // nil until it is needed
	out     *bufio.Writer // to the end of file; empty between calls
	size    int64         // of file
	failed  error         // of a write: what follows would be at the wrong place
}

// Chain is the bytes of one owner. In the file a chunk refers to the one before it, so that a chain costs the same memory
// however long it is.
type Chain struct {
	of    *Store
	chunk []byte
	last  Ref
}

// Ref is the position of a chain's last chunk in the file, its link included, and its length without that; 0: there is none.
type Ref struct {
	Offset int64
	Length int32
}

// NewStore returns a Store that keeps limit bytes in memory; what is what it keeps, for errors.
func NewStore(limit int, what string) *Store { return &Store{limit: limit, what: what} }

// At returns the chain that was detached to a Ref. It can only be read.
func (s *Store) At(last Ref) *Chain { return &Chain{of: s, last: last} }

// Chain begins another chain. It can be read until the store is closed.
func (s *Store) Chain() *Chain { return &Chain{of: s} }

// Close drops all chains.
func (s *Store) Close() {
	if s.file != nil {
		s.file.Close()
		newfile.Discard(s.file)
	}
	*s = Store{limit: s.limit, what: s.what, failed: os.ErrClosed}
}

// Buffer returns the bytes to append to. [Chain.Commit] takes them back.
func (c *Chain) Buffer() []byte {
	if cap(c.chunk) == 0 {
		c.chunk = make([]byte, 0, firstChunk)
		c.of.held += firstChunk
		c.of.holders = append(c.of.holders, c)
	}
	return c.chunk
}

// Commit takes what Buffer returned, with more bytes behind it. These are read back in one piece.
func (c *Chain) Commit(b []byte) error {
	s := c.of
	if s.failed != nil {
		return s.failed
	}
	s.held += cap(b) - cap(c.chunk)
	c.chunk = b
	switch {
	case s.held > s.limit:
		return s.spill()
	case len(b) > MaxChunk:
		if err := s.append(c); err != nil {
			return s.fail(err)
		}
		return s.flush()
	}
	return nil
}

// Detach moves what a chain still has in memory to the file, so that [Store.At] needs no more than its Ref.
func (c *Chain) Detach() (Ref, error) {
	s := c.of
	if s.failed == nil && len(c.chunk) > 0 {
		if err := s.append(c); err != nil {
			return Ref{}, s.fail(err)
		}
	}
	return c.last, s.flush()
}

// spill moves the chunks of all chains to the file.
func (s *Store) spill() error {
	for _, c := range s.holders {
		if err := s.append(c); err != nil {
			return s.fail(err)
		}
		c.chunk = nil
	}
	s.holders, s.held = s.holders[:0], 0
	return s.flush()
}

// append writes a chunk behind the others. The chain keeps the memory for the next one.
func (s *Store) append(c *Chain) error {
	if len(c.chunk) == 0 {
		return nil
	}
	if s.file == nil {
		file, err := newfile.Temporary("wprof")
		if err != nil {
			return err
		}
		s.file, s.out = file, bufio.NewWriterSize(file, 256<<10)
	}
	var link [linkBytes]byte
	binary.LittleEndian.PutUint64(link[:], uint64(c.last.Offset))
	binary.LittleEndian.PutUint32(link[8:], uint32(c.last.Length))
	if _, err := s.out.Write(link[:]); err != nil {
		return err
	}
	if _, err := s.out.Write(c.chunk); err != nil {
		return err
	}
	c.last = Ref{s.size, int32(len(c.chunk))}
	s.size += int64(linkBytes + len(c.chunk))
	c.chunk = c.chunk[:0]
	return nil
}

func (s *Store) flush() error {
	if s.out == nil || s.failed != nil {
		return s.failed
	}
	return s.fail(s.out.Flush())
}

func (s *Store) fail(err error) error {
	if err != nil {
		s.failed = fmt.Errorf("keep %s: %w; free some room, or set TMPDIR to a folder that has it", s.what, err)
	}
	return s.failed
}

// Each visits a chain's bytes in their order, cut where a Commit ended. They are valid until visit returns.
func (c *Chain) Each(visit func([]byte) error) error {
	s := c.of
	if s.failed != nil {
		return s.failed
	}
	all, err := s.chunks(c.last)
	if err != nil {
		return err
	}
	var chunk []byte
	for i := len(all) - 1; i >= 0; i-- {
		chunk = append(chunk[:0], make([]byte, all[i].Length)...)
		if err := s.read(chunk, all[i].Offset+linkBytes); err != nil {
			return err
		}
		if err := visit(chunk); err != nil {
			return err
		}
	}
	if len(c.chunk) == 0 {
		return nil
	}
	return visit(c.chunk)
}

// chunks are a chain's in the file, the last one first.
func (s *Store) chunks(last Ref) (all []Ref, err error) {
	var link [linkBytes]byte
	for last.Length > 0 {
		all = append(all, last)
		if err := s.read(link[:], last.Offset); err != nil {
			return nil, err
		}
		last.Offset = int64(binary.LittleEndian.Uint64(link[:]))
		last.Length = int32(binary.LittleEndian.Uint32(link[8:]))
	}
	return all, nil
}

func (s *Store) read(b []byte, offset int64) error {
	if _, err := s.file.ReadAt(b, offset); err != nil {
		return fmt.Errorf("read back %s: %w", s.what, err)
	}
	return nil
}
