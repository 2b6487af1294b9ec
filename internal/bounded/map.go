// Package bounded has a map with a limited number of entries.
package bounded

import "iter"

// Map is a map that drops entries. It has at least the size entries that were used last, and at most twice as many.
type Map[K comparable, V any] struct {
	size       int
	young, old map[K]V
	dropped    int64
	OnDrop     func(V) // called with each value that is dropped; may be nil
}

// NewMap returns an empty map.
func NewMap[K comparable, V any](size int) *Map[K, V] {
	return &Map[K, V]{size: size, young: make(map[K]V)}
}

// Get returns the value of a key; false: it has none, or it was dropped.
func (m *Map[K, V]) Get(key K) (V, bool) {
	if v, found := m.young[key]; found {
		return v, true
	}
	v, found := m.old[key]
	if found {
		delete(m.old, key)
		m.Put(key, v)
	}
	return v, found
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(key K, v V) {
	if len(m.young) >= m.size {
		m.dropped += int64(len(m.old))
		if m.OnDrop != nil {
			for _, v := range m.old {
				m.OnDrop(v)
			}
		}
		m.young, m.old = make(map[K]V, m.size/2), m.young
	}
	delete(m.old, key)
	m.young[key] = v
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	delete(m.young, key)
	delete(m.old, key)
}

// Values yields all values, in any order.
func (m *Map[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, half := range []map[K]V{m.young, m.old} {
			for _, v := range half {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// Clear empties the map.
func (m *Map[K, V]) Clear() {
	clear(m.young)
	m.old = nil
}

// Age drops the entries that were not used since the call before.
func (m *Map[K, V]) Age() { m.young, m.old = make(map[K]V, len(m.young)), m.young }

// Dropped counts the entries that were dropped.
func (m *Map[K, V]) Dropped() int64 { return m.dropped }
