package sideband

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// mapMemory is a memfd with pieces of map files. The lock of the mapStore guards its fields.
type mapMemory struct {
	*os.File
	readers int
	retired bool // its pieces were moved to another one; the last reader closes it
}

func newMapMemory() (*mapMemory, error) {
	fd, err := unix.MemfdCreate("map files", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("get memory for map files of generated code: %w", err)
	}
	return &mapMemory{File: os.NewFile(uintptr(fd), "map files")}, nil
}

// mapReading reads a copy.
type mapReading struct {
	io.ReadCloser
	store *mapStore
	of    *mapMemory
}

// Close implements io.Closer.
func (r *mapReading) Close() error {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.of.readers--
	if r.of.retired && r.of.readers == 0 {
		r.of.Close()
	}
	return r.ReadCloser.Close()
}

// compactAbove is by how much forgotten copies may take more memory than the others before these are moved to a memfd of their own.
const compactAbove = 8 << 20

// forget drops copies that nobody needs any more, so that there is room for others.
func (s *mapStore) forget(keys []mapKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		c := s.copies[key]
		if c == nil {
			continue
		}
		delete(s.copies, key)
		s.all = s.all.minus(c.used)
		if left := s.users[c.user].minus(c.used); left != (usage{}) {
			s.users[c.user] = left
		} else {
			delete(s.users, c.user)
		}
	}
	if s.end-s.all.stored > s.all.stored+compactAbove {
		s.compact()
	}
}

// compact moves the copies to a new memfd. If that fails, they stay where they are.
func (s *mapStore) compact() {
	to, err := newMapMemory()
	if err != nil {
		return
	}
	moved := make(map[*mapCopy][]mapPiece, len(s.copies))
	end := int64(0)
	for _, c := range s.copies {
		for _, p := range c.pieces {
			s.packed = append(s.packed[:0], make([]byte, p.length)...)
			if _, err = s.file.ReadAt(s.packed, p.at); err == nil {
				_, err = to.WriteAt(s.packed, end)
			}
			if err != nil {
				to.Close()
				return
			}
			p.at = end
			end += p.length
			moved[c] = append(moved[c], p)
		}
	}
	for c, pieces := range moved {
		c.pieces = pieces
	}
	s.file.retired = true
	if s.file.readers == 0 {
		s.file.Close()
	}
	s.file, s.end = to, end
}
