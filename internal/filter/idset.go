package filter

// idSet is a set of ids. Ids far beyond the number of entries go to a map, so that a large one costs no memory.
type idSet[T ~uint32] struct {
	dense  []bool
	sparse map[T]bool
	count  int
}

func (s *idSet[T]) has(id T) bool {
	return int64(id) < int64(len(s.dense)) && s.dense[id] || s.sparse[id]
}

func (s *idSet[T]) add(id T) {
	s.count++
	if int64(id) > 4*int64(s.count)+1<<16 {
		if s.sparse == nil {
			s.sparse = make(map[T]bool)
		}
		s.sparse[id] = true
		return
	}
	if n := int(id) + 1 - len(s.dense); n > 0 {
		s.dense = append(s.dense, make([]bool, n)...)
	}
	s.dense[id] = true
}

// remove takes an id out. It still counts as an entry.
func (s *idSet[T]) remove(id T) {
	if int64(id) < int64(len(s.dense)) {
		s.dense[id] = false
	}
	delete(s.sparse, id)
}

func (s *idSet[T]) clear() {
	clear(s.dense)
	s.sparse, s.count = nil, 0
}
