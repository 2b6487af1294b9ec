package format

import (
	"iter"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
)

// message is a definition: a protobuf message with an id.
type message[T any] interface {
	*T
	proto.Message
	GetId() uint32
}

// table finds definitions of one sort by id. Writers number them from 1 without wide gaps, so a slice does; an id far
// beyond the number of definitions goes to a map, so that nobody can make a reader allocate by naming a large one.
type table[T any, P message[T]] struct {
	dense   []P
	sparse  map[uint32]P
	count   int
	reserve []T // allocated together and handed out one by one
}

// next is room for a definition, to be filled for [table.add]. It stays the same until one is entered.
func (t *table[T, P]) next() P {
	if len(t.reserve) == 0 {
		t.reserve = make([]T, min(64, t.count+4))
	}
	return &t.reserve[0]
}

// add enters the definition that next returned. It never changes, so the first one of an id stays.
func (t *table[T, P]) add() {
	d := P(&t.reserve[0])
	id := d.GetId()
	if id == 0 || t.get(id) != nil {
		return
	}
	t.reserve = t.reserve[1:]
	t.count++
	if int64(id) > 4*int64(t.count)+1024 {
		if t.sparse == nil {
			t.sparse = make(map[uint32]P)
		}
		t.sparse[id] = d
		return
	}
	for int(id) >= len(t.dense) {
		t.dense = append(t.dense, nil)
	}
	t.dense[id] = d
}

// get is nil for an id that is not defined.
func (t *table[T, P]) get(id uint32) P {
	if int64(id) < int64(len(t.dense)) {
		if d := t.dense[id]; d != nil {
			return d
		}
	}
	if t.sparse == nil {
		return nil
	}
	return t.sparse[id]
}

// all yields the definitions by id.
func (t *table[T, P]) all() iter.Seq[P] {
	return func(yield func(P) bool) {
		var sparse []uint32
		if len(t.sparse) > 0 {
			sparse = slices.Sorted(maps.Keys(t.sparse))
		}
		for id, d := range t.dense {
			for len(sparse) > 0 && sparse[0] < uint32(id) {
				if !yield(t.sparse[sparse[0]]) {
					return
				}
				sparse = sparse[1:]
			}
			if d != nil && !yield(d) {
				return
			}
		}
		for _, id := range sparse {
			if !yield(t.sparse[id]) {
				return
			}
		}
	}
}
