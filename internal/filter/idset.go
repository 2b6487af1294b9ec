package filter

import "wprof/format"

// idSet is a set of ids. Ids far beyond the number of entries go to a map, so that naming a large one costs nothing.
type idSet struct {
	dense  []bool
	sparse map[format.TaskID]bool
	count  int
}

func (s *idSet) has(id format.TaskID) bool {
	return int64(id) < int64(len(s.dense)) && s.dense[id] || s.sparse[id]
}

func (s *idSet) add(id format.TaskID) {
	s.count++
	if int64(id) > 4*int64(s.count)+1<<16 {
		if s.sparse == nil {
			s.sparse = make(map[format.TaskID]bool)
		}
		s.sparse[id] = true
		return
	}
	if n := int(id) + 1 - len(s.dense); n > 0 {
		s.dense = append(s.dense, make([]bool, n)...)
	}
	s.dense[id] = true
}

func (s *idSet) clear() {
	clear(s.dense)
	s.sparse, s.count = nil, 0
}
