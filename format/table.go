package format

import (
	"iter"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// table finds definitions of one kind by id. It keeps the places of their messages in the section, which take a fraction of
// the memory of decoded ones; only recently used ones are also kept decoded. Writers number definitions from 1 without wide
// gaps, so a slice does; an id far beyond the number of definitions goes to a map, so that a large id cannot make a reader
// allocate.
type table[T any] struct {
	dense   []place
	sparse  map[uint32]place
	count   int
	decoded []decoded[T] // by id modulo its length, a power of 2
	memory  int          // of what is in decoded
	random  uint32       // the last random number
}

type decoded[T any] struct {
	id     uint32
	memory uint32
	d      *T
}

const (
	maxDecoded = 1 << 14
	// maxDecodedMemory bounds the bytes of decoded definitions, except for the latest one: 16 MiB hold 400 event types with 300
	// names of numbers each.
	maxDecodedMemory = 16 << 20
)

// add enters a definition. It never changes, so the first one of an id stays.
func (t *table[T]) add(id uint32, at place) {
	if id == 0 || t.place(id) != 0 {
		return
	}
	t.count++
	if int64(id) > 4*int64(t.count)+1024 {
		if t.sparse == nil {
			t.sparse = make(map[uint32]place)
		}
		t.sparse[id] = at
		return
	}
	if n := int(id) + 1 - len(t.dense); n > 0 {
		t.dense = append(t.dense, make([]place, n)...)
	}
	t.dense[id] = at
}

// place is 0 for an id that is not defined.
func (t *table[T]) place(id uint32) place {
	if int64(id) < int64(len(t.dense)) && t.dense[id] != 0 {
		return t.dense[id]
	}
	return t.sparse[id]
}

// get returns the definition of an id; nil: there is none. decode must copy what it keeps of the message: the result may
// outlive the section's messages.
func (t *table[T]) get(id uint32, in *messages, decode func([]byte, *T) (memory int, err error)) *T {
	if int64(id) >= int64(len(t.dense)) && t.sparse == nil {
		return nil
	}
	if n := uint32(len(t.decoded)); n > 0 {
		if one := &t.decoded[id&(n-1)]; one.id == id {
			return one.d
		}
	}
	at := t.place(id)
	if at == 0 {
		return nil
	}
	d := new(T)
	memory, err := decode(in.at(at), d)
	if err != nil {
		return nil // impossible: add was called for messages that could be decoded
	}
	t.keep(id, d, memory)
	return d
}

func (t *table[T]) keep(id uint32, d *T, memory int) {
	t.grow()
	one := &t.decoded[id&uint32(len(t.decoded)-1)]
	t.memory += memory - int(one.memory)
	*one = decoded[T]{id, uint32(memory), d}
	for t.memory > max(maxDecodedMemory, memory) {
		t.dropOneBut(id)
	}
}

// grow makes room for as many ids as there are, or as the highest one if they have gaps, as in what a filter writes.
func (t *table[T]) grow() {
	n := max(16, len(t.decoded))
	for n < min(maxDecoded, max(t.count, len(t.dense))) {
		n *= 2
	}
	if n == len(t.decoded) {
		return
	}
	before := t.decoded
	t.decoded = make([]decoded[T], n)
	for _, one := range before {
		if one.d != nil {
			t.decoded[one.id&uint32(n-1)] = one
		}
	}
}

// dropOneBut drops a decoded definition that has another id. It is a random one: if it were the oldest, and a stream used slightly
// more than fit, one after the other, each of them would be decoded each time.
func (t *table[T]) dropOneBut(id uint32) {
	for {
		t.random = t.random*1664525 + 1013904223
		if one := &t.decoded[t.random>>16&uint32(len(t.decoded)-1)]; one.d != nil && one.id != id {
			t.memory -= int(one.memory)
			*one = decoded[T]{}
			return
		}
	}
}

// ids yields the ids that are defined, in order.
func (t *table[T]) ids() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		sparse := slices.Sorted(maps.Keys(t.sparse))
		for id, at := range t.dense {
			for len(sparse) > 0 && sparse[0] < uint32(id) {
				if !yield(sparse[0]) {
					return
				}
				sparse = sparse[1:]
			}
			if at != 0 && !yield(uint32(id)) {
				return
			}
		}
		for _, id := range sparse {
			if !yield(id) {
				return
			}
		}
	}
}

// messages are the payloads of a section's definition blocks, one after the other.
type messages struct {
	chunks []chunk
	size   int
}

type chunk struct {
	from int
	b    []byte
}

// place is the offset of the length of a message in a section's messages, plus 1.
type place uint32

const leastChunk = 64 << 10

// add keeps a payload, and returns the place of its first byte.
func (m *messages) add(payload []byte) place {
	last := len(m.chunks) - 1
	if last < 0 || cap(m.chunks[last].b)-len(m.chunks[last].b) < len(payload) {
		// As small as the first one: a live stream has many sections.
		m.chunks = append(m.chunks, chunk{m.size, make([]byte, 0, max(len(payload), min(leastChunk, m.size)))})
		last++
	}
	from := m.size
	m.chunks[last].b = append(m.chunks[last].b, payload...)
	m.size += len(payload)
	return place(from + 1)
}

// at returns the message at a place.
func (m *messages) at(p place) []byte {
	from := int(p - 1)
	i, found := slices.BinarySearchFunc(m.chunks, from, func(c chunk, from int) int { return c.from - from })
	if !found {
		i--
	}
	c := &m.chunks[i]
	member, _ := protowire.ConsumeBytes(c.b[from-c.from:])
	return member
}
