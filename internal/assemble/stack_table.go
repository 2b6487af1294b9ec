package assemble

import (
	"bytes"
	"encoding/binary"

	"wprof/format"

	"wprof/internal/ringdata"
)

// stackDef is the addresses of a rec_stack, kept as long as a record can name them.
type stackDef struct {
	pid     uint32 // 0: a kernel stack
	count   uint32
	cut     bool
	end     format.StackEnd
	called  bool   // the innermost address is a return address too
	owned   bool   // packed shares no memory with other stacks
	tracer  bool   // the innermost frames are the recorder's own
	packed  []byte // the addresses, each as the difference to the one before
	python  []byte // words of Python's frames, as the record has them
	whole   bool   // these reach the thread's first one
	section uint32 // number of the section in which part is valid
	version uint64 // of the process's mappings, for which part is valid
	part    *part
}

// stackTable keeps stacks of two generations: a record names a stack that was defined in its own generation, and the
// rounds in which the number changes are in both.
type stackTable struct {
	current, previous map[uint64]*stackDef
	// Stacks of earlier generations, which spans of user-defined probes name that began then; nil: there are none. Ids are made of addresses,
	// so that they mean the same in all generations.
	earlier       map[uint64]*stackDef
	earlierBytes  int
	arena         arena
	bytes, before int     // held by current and by what is only in previous
	rotated       func()  // called when a generation has begun; may be nil
	cuts          []int64 // times at which generations begin that the records have not reached yet
	refused       uint64
}

const (
	// maxStackDefs bounds the stacks of both generations, in bytes. When it is reached the older one is dropped; further stacks
	// are refused, and samples with such a stack have none.
	maxStackDefs = 32 << 20
	// stackDefCost is what a stack takes beside its addresses.
	stackDefCost = 160
	maxCuts      = 1 << 10
	maxEarlier   = 16 << 20 // bytes of stacks of earlier generations
)

func newStackTable() *stackTable {
	return &stackTable{current: make(map[uint64]*stackDef)}
}

// cut notes that a generation begins with records of a time.
func (s *stackTable) cut(at int64) {
	if len(s.cuts) < maxCuts {
		s.cuts = append(s.cuts, at)
	}
}

// reach begins the generations that have begun at a time.
func (s *stackTable) reach(at int64) {
	for len(s.cuts) > 0 && s.cuts[0] <= at {
		s.cuts = s.cuts[1:]
		s.rotate()
	}
}

func (s *stackTable) rotate() {
	s.keepEarlier()
	s.previous, s.before = s.current, s.bytes
	s.current, s.bytes = make(map[uint64]*stackDef, len(s.previous)), 0
	s.arena = nil
	if s.rotated != nil {
		s.rotated()
	}
}

// keepEarlier keeps what the previous generation had, unless it takes more than maxEarlier: then those before are dropped.
func (s *stackTable) keepEarlier() {
	if s.earlier == nil {
		return
	}
	for id, t := range s.previous {
		if s.earlier[id] != nil || s.current[id] != nil {
			continue
		}
		cost := t.cost()
		if s.earlierBytes += cost; s.earlierBytes > maxEarlier {
			clear(s.earlier)
			s.earlierBytes = cost
		}
		s.earlier[id] = t.own()
	}
}

// define keeps the content of a rec_stack; nil: there is no room for it.
func (s *stackTable) define(b []byte, at int64) *stackDef {
	s.reach(at)
	return s.keep(b)
}

// keep is define for a record whose turn has not come yet.
func (s *stackTable) keep(b []byte) *stackDef {
	le := binary.LittleEndian
	id := le.Uint64(b[ringdata.StackID:])
	if t := s.current[id]; t != nil {
		return t // the kernel programs write a stack again if another one has replaced it in their hash array
	}
	count := min(uint32(le.Uint16(b[ringdata.StackCount:])), uint32(len(b)-ringdata.StackAddrs)/8)
	if s.bytes+s.before > maxStackDefs {
		s.previous, s.before = nil, 0
		if s.bytes > maxStackDefs {
			s.refused++
			return nil
		}
	}
	t := s.previous[id]
	if t == nil {
		t = new(stackDef)
	} else {
		s.before -= t.cost()
	}
	t.pid, t.count, t.cut = le.Uint32(b[ringdata.StackPID:]), count, b[ringdata.HdrFlags]&ringdata.FlagCut != 0
	t.end = format.StackEnd(b[ringdata.StackEnded])
	t.tracer = b[ringdata.HdrFlags]&ringdata.FlagTracer != 0
	t.packed = s.arena.keep(b[ringdata.StackAddrs:][:8*count])
	t.python, t.whole = nil, b[ringdata.StackPython] == ringdata.PythonEndWhole
	if b[ringdata.StackPython] != ringdata.PythonEndNone {
		t.python = bytes.Clone(b[ringdata.StackAddrs+8*count:])
	}
	s.current[id] = t
	s.bytes += t.cost()
	return t
}

// find is the stack of an id; nil: its definition was lost, or refused.
func (s *stackTable) find(id uint64, at int64) *stackDef {
	s.reach(at)
	if t := s.current[id]; t != nil {
		return t
	}
	if t := s.previous[id]; t != nil {
		return t
	}
	return s.earlier[id]
}

// addresses appends the addresses, innermost first.
func (t *stackDef) addresses(to []uint64) []uint64 {
	b, last := t.packed, uint64(0)
	for len(b) > 0 {
		d, n := binary.Varint(b)
		if n <= 0 {
			break
		}
		last += uint64(d)
		to = append(to, last)
		b = b[n:]
	}
	return to
}

// cost is the memory that a stack takes, bytes.
func (t *stackDef) cost() int { return len(t.packed) + len(t.python) + stackDefCost }

// own is a copy that holds no memory but its own.
func (t *stackDef) own() *stackDef {
	if t == nil || cap(t.packed) == 0 || t.owned {
		return t
	}
	c := *t
	c.packed, c.owned = bytes.Clone(t.packed), true
	return &c
}

// arena packs addresses into large pieces of memory.
type arena []byte

const arenaBytes = 256 << 10

// keep packs addresses as in a rec_stack: 3 bytes each as a rule instead of 8.
func (a *arena) keep(raw []byte) []byte {
	most := len(raw) / 8 * binary.MaxVarintLen64
	if cap(*a)-len(*a) < most {
		*a = make([]byte, 0, max(arenaBytes, most))
	}
	start, last := len(*a), uint64(0)
	for ; len(raw) >= 8; raw = raw[8:] {
		address := binary.LittleEndian.Uint64(raw)
		*a = binary.AppendVarint(*a, int64(address-last))
		last = address
	}
	return (*a)[start:len(*a):len(*a)]
}
