// Package byid maps ids of a section to values.
package byid

// Table maps ids to values that can be made again: it has up to 65,536, and drops a value for another one with the same id
// modulo that. Writers number definitions from 1 without wide gaps, so that is rare for fewer ids. The zero value of a Table is
// empty; the zero value of T means that there is none. 0 is not an id.
type Table[T any] struct {
	slots []slot[T] // by id modulo their number, a power of 2
	count int
}

type slot[T any] struct {
	id    uint32
	value T
}

const (
	fewest = 1 << 6
	most   = 1 << 16
	spare  = 16 // slots for each value, up to which a table grows so that values do not share a slot
)

// Get returns the value of an id, if it is still there.
func (t *Table[T]) Get(id uint32) (v T) {
	if n := uint32(len(t.slots)); n > 0 {
		if s := &t.slots[id&(n-1)]; s.id == id {
			return s.value
		}
	}
	return v
}

// Put sets the value of an id. It may drop that of another id.
func (t *Table[T]) Put(id uint32, v T) {
	for len(t.slots) < most && (t.count >= len(t.slots) || t.drops(id) && len(t.slots) < spare*t.count) {
		t.grow()
	}
	t.count++
	t.slots[id&uint32(len(t.slots)-1)] = slot[T]{id, v}
}

// drops reports whether the value of an id would take the place of another one.
func (t *Table[T]) drops(id uint32) bool {
	is := t.slots[id&uint32(len(t.slots)-1)].id
	return is != 0 && is != id
}

func (t *Table[T]) grow() {
	before := t.slots
	t.slots = make([]slot[T], max(fewest, 2*len(before)))
	for _, s := range before {
		if s.id == 0 {
			continue
		}
		t.slots[s.id&uint32(len(t.slots)-1)] = s
	}
}

// Clear empties the table and keeps its memory.
func (t *Table[T]) Clear() {
	clear(t.slots)
	t.count = 0
}
