// Package byid keeps what the ids of a section stand for.
package byid

// Table leads from ids to values that can be made again: it has the latest 131,072, and more of none. Writers number
// definitions from 1 without wide gaps, so up to that many keep out of each other's way. The zero value of a table is empty,
// that of T means that nothing is known. 0 is no id.
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
	most   = 1 << 17
)

// Get is the value of an id, if it is still there.
func (t *Table[T]) Get(id uint32) (v T) {
	if n := uint32(len(t.slots)); n > 0 {
		if s := &t.slots[id&(n-1)]; s.id == id {
			return s.value
		}
	}
	return v
}

// Put sets the value of an id. Another one may be forgotten for that.
func (t *Table[T]) Put(id uint32, v T) {
	if t.count >= len(t.slots) && len(t.slots) < most {
		t.grow()
	}
	t.count++
	t.slots[id&uint32(len(t.slots)-1)] = slot[T]{id, v}
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

// Clear empties the table and keeps its room.
func (t *Table[T]) Clear() {
	clear(t.slots)
	t.count = 0
}
