package merge

// merger takes records from all sources in the order of time.
type merger struct {
	sources []*source
	heap    []*source // by the time of their first records; all of them are ready
	limit   int64     // only older records are taken
	certain int64     // everything before it has been drained
}

// until takes every record before limit that can be taken, and returns before which time they have been: a switch that
// waits for its stack holds everything back that comes after it.
func (m *merger) until(limit, certain int64) (int64, error) {
	m.limit, m.certain = limit, certain
	m.heap = m.heap[:0]
	for _, s := range m.sources {
		ok, err := m.ready(s)
		if err != nil {
			return 0, err
		}
		if ok {
			m.heap = append(m.heap, s)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	for len(m.heap) > 0 {
		if err := m.run(); err != nil {
			return 0, err
		}
	}
	return m.limit, nil
}

// ready reports whether a source has a record that can be taken.
func (m *merger) ready(s *source) (bool, error) {
	ok, err := s.ready(m.limit)
	if len(s.announced)+len(s.resolved) > 0 {
		m.limit = min(m.limit, s.held(m.certain))
	}
	return ok && s.entries[s.at].time < m.limit, err
}

// run takes records from the first source as long as no other one has an older one.
func (m *merger) run() error {
	s := m.heap[0]
	take := s.take
	other := m.second()
	to := min(s.bound, m.limit)
	if other != nil {
		t := other.entries[other.at].time
		if s.index < other.index {
			t++
		}
		to = min(to, t)
	}
	entries := s.entries
	i := s.at
	for i < len(entries) && entries[i].time < to {
		if err := take(s.record(&entries[i]), entries[i].time); err != nil {
			return err
		}
		i++
	}
	s.at = i
	ok, err := m.ready(s)
	if err != nil {
		return err
	}
	if !ok {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.down(0)
	return nil
}

// second is the source that comes after the first one; nil: there is none.
func (m *merger) second() *source {
	switch {
	case len(m.heap) < 2:
		return nil
	case len(m.heap) == 2 || before(m.heap[1], m.heap[2]):
		return m.heap[1]
	}
	return m.heap[2]
}

func before(a, b *source) bool {
	s, t := a.entries[a.at].time, b.entries[b.at].time
	return s < t || s == t && a.index < b.index
}

func (m *merger) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(m.heap); c++ {
			if before(m.heap[c], m.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}
