package merge

import (
	"cmp"
	"slices"
)

// entry is one record: its time and where it stands, in bytes since the beginning of the source.
type entry struct {
	time int64
	at   uint64
}

// insert puts a record into its place, which is nearly always the end.
func (s *source) insert(time int64, at uint64) {
	if s.hole {
		s.hole = false
		if !s.side {
			s.insert(time, s.holeAt)
		} else if len(s.holes) < maxWaits {
			s.holes = append(s.holes, sideHole{s.holeSince, time})
		}
	}
	i := len(s.entries)
	s.entries = append(s.entries, entry{time, at})
	if time >= s.newest {
		s.newest = time
		return
	}
	// Inversions span a few records: what an interrupt's programs write while another program works.
	for steps := 0; i > s.at && s.entries[i-1].time > time; i-- {
		if steps++; steps > 32 {
			s.messy = true
			break
		}
		s.entries[i] = s.entries[i-1]
	}
	s.entries[i] = entry{time, at}
}

func (s *source) sort() {
	if !s.messy {
		return
	}
	s.messy = false
	slices.SortFunc(s.entries[s.at:], func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.at, b.at))
	})
}
