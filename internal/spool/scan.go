package spool

import (
	"errors"
	"fmt"
	"io"
)

// Scanner goes through the chunks of a spool from header to header. It reads payloads only on request, and over
// damage it goes on at the next header.
type Scanner struct {
	r     io.ReaderAt
	next  int64 // where the next chunk begins
	Limit int64 // nothing is read beyond

	recording uint32
	known     bool // recording is known: a first generation was found

	buf    []byte // bytes of the file from bufAt on
	bufAt  int64
	Damage *Damage
}

// NewScanner returns a Scanner of a file up to a limit. It counts damage in damage.
func NewScanner(r io.ReaderAt, limit int64, damage *Damage) Scanner {
	return Scanner{r: r, Limit: limit, Damage: damage}
}

// Chunk is one chunk: its header, which matches its checksum, and where its payload stands.
type Chunk struct {
	ChunkHeader
	Payload int64
}

func (c *Chunk) End() int64 { return c.Payload + int64(padded(int(c.Length))) }

// Next returns the next whole chunk, or io.EOF. Chunks of another recording are none.
func (s *Scanner) Next() (Chunk, error) {
	for s.next+chunkHeaderSize <= s.Limit {
		b, err := s.view(s.next, chunkHeaderSize)
		if err != nil {
			return Chunk{}, err
		}
		h, err := parseChunkHeader(b)
		if err == nil {
			c := Chunk{h, s.next + chunkHeaderSize}
			if s.accepts(&c) {
				s.next = c.End()
				if c.Length > c.Type.maxPayload() {
					continue
				}
				return c, nil
			}
		}
		if err := s.resync(); err != nil {
			return Chunk{}, err
		}
	}
	if s.next < s.Limit {
		s.Damage.Bad += s.Limit - s.next
		s.next = s.Limit
	}
	return Chunk{}, io.EOF
}

// accepts reports whether a chunk belongs to this file. The bytes of a ring can hold what looks like a header, so after
// damage only the recording's random number decides.
func (s *Scanner) accepts(c *Chunk) bool {
	if c.End() > s.Limit || c.Length > maxSmallChunk {
		return false
	}
	if !s.known {
		if c.Type != ChunkGeneration {
			return false
		}
		s.known, s.recording = true, c.recording
	}
	return c.recording == s.recording
}

// resync goes to the next place where a header may begin: they stand at multiples of 8.
func (s *Scanner) resync() error {
	for at := s.next + 8; at < s.Limit; {
		b, err := s.view(at, int(min(resyncBytes, s.Limit-at)))
		if err != nil {
			return err
		}
		for i := 0; i+len(chunkMagic) <= len(b); i += 8 {
			if string(b[i:i+len(chunkMagic)]) == chunkMagic {
				s.Damage.Bad += at + int64(i) - s.next
				s.next = at + int64(i)
				return nil
			}
		}
		at += int64(max(8, len(b)&^7))
	}
	s.Damage.Bad += s.Limit - s.next
	s.next = s.Limit
	return nil
}

const (
	resyncBytes = 64 << 10
	// viewBytes is read at once: headers of small chunks stand close together, those of full ones do not.
	viewBytes = 4 << 10
)

// view returns n bytes of the file, valid until the next call.
func (s *Scanner) view(at int64, n int) ([]byte, error) {
	if i := at - s.bufAt; i >= 0 && i+int64(n) <= int64(len(s.buf)) {
		return s.buf[i : i+int64(n)], nil
	}
	size := int(min(int64(max(n, viewBytes)), s.Limit-at))
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

// Read returns the payload of a small chunk, valid until the next call of any method; nil if it is damaged.
func (s *Scanner) Read(c *Chunk) ([]byte, error) {
	b, err := s.view(c.Payload, int(c.Length))
	if err != nil {
		return nil, err
	}
	if checksum(b) != c.CRC {
		s.Reject(c)
		return nil, nil
	}
	return b, nil
}

// ReadAt reads a part of the file at an offset; ok is false when it does not match its checksum.
func (s *Scanner) ReadAt(to []byte, offset int64, crc uint32) (ok bool, err error) {
	if _, err := s.r.ReadAt(to, offset); err != nil {
		return false, fmt.Errorf("read the spool: %w", err)
	}
	if checksum(to) != crc {
		s.Damage.Bad += chunkHeaderSize + int64(len(to))
		return false, nil
	}
	return true, nil
}

// Offset is up to where chunks were found.
func (s *Scanner) Offset() int64 { return s.next }

// Reject counts a chunk as damaged.
func (s *Scanner) Reject(c *Chunk) { s.Damage.Bad += chunkHeaderSize + int64(c.Length) }
