package spool

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"time"
)

// readKept finds where what a flight recorder has kept begins.
func (s *Spool) readKept(size int64) error {
	for scan := NewScanner(s.r, size, new(Damage)); ; {
		c, err := scan.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch c.Type {
		case ChunkRing, ChunkTasks, ChunkRound, ChunkEnd:
			return nil // all of it is there
		case chunkKept:
			b, err := scan.Read(&c)
			if err == nil && len(b) >= 8 {
				s.keep(&c, b, size)
			}
			return err
		}
	}
}

func (s *Spool) keep(c *Chunk, b []byte, size int64) {
	s.window = time.Duration(min(binary.LittleEndian.Uint64(b), math.MaxInt64))
	if from := c.Position; from > uint64(c.End()) && from < uint64(size) && from%8 == 0 {
		s.from = int64(from)
	}
}

// addBase notes a part of the base of the first generation.
func (s *Spool) addBase(c *Chunk) {
	if s.first == nil || s.from == 0 || c.Position != uint64(s.first.number) || s.whole {
		return
	}
	if c.Flags&ChunkWhole != 0 {
		s.base = s.base[:0]
	} else if len(s.base) == 0 {
		return // its beginning is missing
	}
	s.base = append(s.base, *c)
	s.whole = c.Flags&ChunkLast != 0
}

// Base returns the chunks of what the side-band had reported before the first generation that is kept, as far as it held then.
func (s *Spool) Base() []Chunk {
	if !s.whole {
		return nil
	}
	return slices.Clone(s.base)
}

// Window returns when the window of a flight recorder may have opened at the earliest; [math.MinInt64]: it is no flight recorder, or there
// is no limit.
func (s *Spool) Window() int64 {
	if s.window <= 0 {
		return math.MinInt64
	}
	return s.Closed() - s.window.Nanoseconds()
}
