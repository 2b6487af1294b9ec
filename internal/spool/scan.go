package spool

import (
	"errors"
	"fmt"
	"io"
)

// scanner goes through the chunks of a spool from header to header. It reads payloads only when asked, and over
// damage it goes on at the next header.
type scanner struct {
	r     io.ReaderAt
	next  int64 // where the next chunk begins
	limit int64 // nothing is read beyond

	recording uint32
	known     bool // recording is: a first generation was found

	buf    []byte // bytes of the file from bufAt on
	bufAt  int64
	damage *Damage
}

// chunk is one chunk: its header, which matches its checksum, and where its payload stands.
type chunk struct {
	chunkHeader
	payload int64
}

func (c *chunk) end() int64 { return c.payload + int64(padded(int(c.length))) }

// chunk returns the next whole chunk, or io.EOF. Chunks of another recording are none.
func (s *scanner) chunk() (chunk, error) {
	for s.next+chunkHeaderSize <= s.limit {
		b, err := s.view(s.next, chunkHeaderSize)
		if err != nil {
			return chunk{}, err
		}
		h, err := parseChunkHeader(b)
		if err == nil {
			c := chunk{h, s.next + chunkHeaderSize}
			if s.accepts(&c) {
				s.next = c.end()
				return c, nil
			}
		}
		if err := s.resync(); err != nil {
			return chunk{}, err
		}
	}
	if s.next < s.limit {
		s.damage.Bad += s.limit - s.next
		s.next = s.limit
	}
	return chunk{}, io.EOF
}

// accepts tells whether a chunk belongs to this file. The bytes of a ring can hold what looks like a header, so after
// damage only the recording's random number tells.
func (s *scanner) accepts(c *chunk) bool {
	if c.end() > s.limit || c.length > maxSmallChunk {
		return false
	}
	if !s.known {
		if c.typ != chunkGeneration {
			return false
		}
		s.known, s.recording = true, c.recording
	}
	return c.recording == s.recording
}

// resync goes to the next place where a header may begin: they stand at multiples of 8.
func (s *scanner) resync() error {
	for at := s.next + 8; at < s.limit; {
		b, err := s.view(at, int(min(resyncBytes, s.limit-at)))
		if err != nil {
			return err
		}
		for i := 0; i+len(chunkMagic) <= len(b); i += 8 {
			if string(b[i:i+len(chunkMagic)]) == chunkMagic {
				s.damage.Bad += at + int64(i) - s.next
				s.next = at + int64(i)
				return nil
			}
		}
		at += int64(max(8, len(b)&^7))
	}
	s.damage.Bad += s.limit - s.next
	s.next = s.limit
	return nil
}

const (
	resyncBytes = 64 << 10
	// viewBytes is read at once: headers of small chunks stand close together, those of full ones do not.
	viewBytes = 4 << 10
)

// view returns n bytes of the file, valid until the next call.
func (s *scanner) view(at int64, n int) ([]byte, error) {
	if i := at - s.bufAt; i >= 0 && i+int64(n) <= int64(len(s.buf)) {
		return s.buf[i : i+int64(n)], nil
	}
	size := int(min(int64(max(n, viewBytes)), s.limit-at))
	if cap(s.buf) < size {
		s.buf = make([]byte, size)
	}
	s.buf, s.bufAt = s.buf[:size], at
	if _, err := s.r.ReadAt(s.buf, at); err != nil && !errors.Is(err, io.EOF) {
		s.buf = s.buf[:0]
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	return s.buf[:n], nil
}

// read returns the payload of a small chunk, valid until the next call of any method; nil if it is damaged.
func (s *scanner) read(c *chunk) ([]byte, error) {
	b, err := s.view(c.payload, int(c.length))
	if err != nil {
		return nil, err
	}
	if checksum(b) != c.crc {
		s.damage.Bad += chunkHeaderSize + int64(c.length)
		return nil, nil
	}
	return b, nil
}
