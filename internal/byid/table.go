// Package byid keeps what the ids of a section stand for.
package byid

// Table leads from ids to values. Writers number definitions from 1 without wide gaps, so a slice does; an id far beyond the
// number of those that are used goes to a map, so that nobody can make a reader allocate by naming a large one. The zero
// value of a table is empty, that of T means that nothing is known.
type Table[T any] struct {
	dense  []T
	sparse map[uint32]T
	count  int
}

// Get is the value of an id.
func (t *Table[T]) Get(id uint32) T {
	if uint64(id) < uint64(len(t.dense)) {
		return t.dense[id]
	}
	return t.sparse[id]
}

// Put sets the value of an id that has none yet.
func (t *Table[T]) Put(id uint32, v T) {
	t.count++
	if int64(id) >= int64(len(t.dense)) && int64(id) > 4*int64(t.count)+1<<16 {
		if t.sparse == nil {
			t.sparse = make(map[uint32]T)
		}
		t.sparse[id] = v
		return
	}
	t.grow(id)
	t.dense[id] = v
}

// grow makes room for an id, and as much again, so that it is seldom called: those in the map that come to lie in the room
// move there, or Get would not find them.
func (t *Table[T]) grow(id uint32) {
	was := len(t.dense)
	if int(id) < was {
		return
	}
	t.dense = append(t.dense, make([]T, max(int(id)+1, 2*was)-was)...)
	for other, v := range t.sparse {
		if int(other) < len(t.dense) {
			t.dense[other] = v
			delete(t.sparse, other)
		}
	}
}

// Clear empties the table and keeps its room.
func (t *Table[T]) Clear() {
	clear(t.dense)
	t.dense, t.sparse, t.count = t.dense[:0], nil, 0
}
