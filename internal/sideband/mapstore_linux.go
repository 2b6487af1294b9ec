package sideband

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"wprof/format"
)

const (
	// maxMaps bounds the copies of map files that are not forgotten.
	maxMaps = 4096
	// maxMapBytes bounds the copy of one map file, maxMapsBytes those of all, and maxMapsStored the size of all when they are
	// compressed. Names compress to a fifth.
	maxMapBytes   = 128 << 20
	maxMapsBytes  = 1 << 30
	maxMapsStored = 64 << 20
)

// mapKey identifies the map file of one program: process ids are reused, and exec starts another program.
type mapKey struct {
	pid   uint32
	since int64 // when generated code was mapped first
}

// module is the module of the generated code, as [Tables.jit] makes it.
func (k mapKey) module() *format.Module { return mapModule(k.pid, k.since) }

// mapKeyOf is the reverse of [mapKey.module].
func mapKeyOf(m *format.Module) (k mapKey, ok bool) {
	var pid uint32
	_, err := fmt.Sscanf(string(m.Path), "/tmp/perf-%d.map", &pid)
	return mapKey{pid, int64(m.Generation)}, err == nil
}

// mapStore keeps compressed copies of map files in a memfd: the Go heap is kept small while the window is open. It holds no
// file or mount of the recorded machine.
type mapStore struct {
	mu     sync.Mutex
	file   *mapMemory // nil: nothing is stored yet
	end    int64      // offset in file behind the last piece
	pack   *zstd.Encoder
	packed []byte
	copies map[mapKey]*mapCopy
	users  map[uint32]usage
	all    usage
	others int // map files that were not copied at all, because there are too many or the time was up
	closed bool
}

// usage is the memory of copies: before and after compression.
type usage struct{ bytes, stored int64 }

// mapCopy is the copy of a map file.
type mapCopy struct {
	user   uint32
	bytes  int64
	used   usage // of all that was stored for it, also of what was dropped
	pieces []mapPiece
	cut    bool // there was no room or no time for all of it
}

type mapPiece struct {
	at, length int64 // in mapStore.file
	bytes      int64 // before compression
	read       int64 // when they were read, CLOCK_MONOTONIC ns
}

var errMapRoom = errors.New("there is no room for more of a map file of generated code")

func newMapStore() *mapStore {
	return &mapStore{copies: make(map[mapKey]*mapCopy), users: make(map[uint32]usage)}
}

// add appends text to the copy of a user's map file. A user's files may take half of the room that those of others leave, so
// that no user can take all of it.
func (s *mapStore) add(key mapKey, user uint32, text []byte, read int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errMapRoom
	}
	c := s.copies[key]
	if c == nil {
		if len(s.copies) >= maxMaps {
			s.others++
			return errMapRoom
		}
		c = &mapCopy{user: user}
		s.copies[key] = c
	}
	if err := s.open(); err != nil {
		c.cut = true
		return err
	}
	s.packed = s.pack.EncodeAll(text, s.packed[:0])
	more := usage{int64(len(text)), int64(len(s.packed))}
	if !s.hasRoom(c, more) {
		c.cut = true
		return errMapRoom
	}
	if _, err := s.file.WriteAt(s.packed, s.end); err != nil {
		c.cut = true
		return fmt.Errorf("copy a map file of generated code: %w", err)
	}
	c.bytes += more.bytes
	c.pieces = append(c.pieces, mapPiece{s.end, more.stored, more.bytes, read})
	s.end += more.stored
	c.used = c.used.plus(more)
	s.users[c.user] = s.users[c.user].plus(more)
	s.all = s.all.plus(more)
	return nil
}

func (u usage) plus(v usage) usage { return usage{u.bytes + v.bytes, u.stored + v.stored} }

func (u usage) minus(v usage) usage { return usage{u.bytes - v.bytes, u.stored - v.stored} }

func (s *mapStore) hasRoom(c *mapCopy, more usage) bool {
	user := s.users[c.user]
	fits := func(limit, all, user, more int64) bool { return user+more <= (limit-(all-user))/2 }
	return c.bytes+more.bytes <= maxMapBytes &&
		fits(maxMapsBytes, s.all.bytes, user.bytes, more.bytes) && fits(maxMapsStored, s.all.stored, user.stored, more.stored)
}

func (s *mapStore) open() error {
	if s.file != nil {
		return nil
	}
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxMapRead))
	if err != nil {
		return fmt.Errorf("compress map files of generated code: %w", err)
	}
	file, err := newMapMemory()
	if err != nil {
		return err
	}
	s.pack, s.file = pack, file
	return nil
}

// dropAfter removes what was read after a time at which another program began, which may have written it. The room is not
// reused before the copy is forgotten.
func (s *mapStore) dropAfter(key mapKey, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.copies[key]
	if c == nil {
		return
	}
	c.pieces = slices.DeleteFunc(c.pieces, func(p mapPiece) bool { return p.read > at })
	c.bytes = 0
	for _, p := range c.pieces {
		c.bytes += p.bytes
	}
}

// read returns a copy; false: there is none.
func (s *mapStore) read(key mapKey) (io.ReadCloser, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.copies[key]
	if c == nil || len(c.pieces) == 0 {
		return nil, false
	}
	pieces := make([]io.Reader, len(c.pieces))
	for i, p := range c.pieces {
		pieces[i] = io.NewSectionReader(s.file, p.at, p.length)
	}
	unpack, err := zstd.NewReader(io.MultiReader(pieces...), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, false
	}
	s.file.readers++
	return &mapReading{unpack.IOReadCloser(), s, s.file}, true
}

// cutShort records that a map file, if there is one, was not read to its end.
func (s *mapStore) cutShort(key mapKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.copies[key]; c != nil {
		c.cut = true
	} else {
		s.others++
	}
}

// cut returns how many map files were not copied completely.
func (s *mapStore) cut() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.others
	for _, c := range s.copies {
		if c.cut {
			n++
		}
	}
	return n
}

func (s *mapStore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.file != nil {
		s.file.Close()
	}
	clear(s.copies)
}
