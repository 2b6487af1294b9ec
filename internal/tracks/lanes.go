package tracks

// MaxLanes bounds how many slices of a track may overlap without one containing the other.
const MaxLanes = 16

// maxBefore bounds the slices that a lane remembers.
const maxBefore = 64

// Lanes distributes the slices of a track over lanes in which they nest or do not overlap: viewers cut slices that do neither.
// Slices must come ordered by their end.
type Lanes struct {
	lanes [MaxLanes]lane
}

// lane holds its outermost slices, the latest last.
type lane struct {
	slices []interval
	sealed int64 // end of the latest slice that was forgotten; 0: none
}

type interval struct{ from, to int64 }

// Place returns the lane of a slice and its start: later than from if all lanes are taken.
func (l *Lanes) Place(from, to int64) (number int, begin int64) {
	for n := range l.lanes {
		if l.lanes[n].takes(from, to) {
			l.lanes[n].put(from, to)
			return n, from
		}
	}
	last := &l.lanes[MaxLanes-1]
	from = min(to, last.end())
	last.put(from, to)
	return MaxLanes - 1, from
}

// PlaceApart is Place for slices that must not nest either.
func (l *Lanes) PlaceApart(from, to int64) (number int, begin int64) {
	for n := range l.lanes {
		if l.lanes[n].end() <= from {
			number = n
			break
		}
		if l.lanes[n].end() < l.lanes[number].end() {
			number = n
		}
	}
	begin = min(to, max(from, l.lanes[number].end()))
	l.lanes[number].put(begin, to)
	return number, begin
}

// takes reports whether a slice fits: it may contain others, but neither overlap one nor begin at the same time.
func (l *lane) takes(from, to int64) bool {
	for i := len(l.slices) - 1; i >= 0; i-- {
		s := l.slices[i]
		if s.from <= from {
			return s.to <= from
		}
		if s.to > to {
			return false
		}
	}
	return l.sealed <= from
}

func (l *lane) put(from, to int64) {
	n := len(l.slices)
	for n > 0 && l.slices[n-1].from > from {
		n--
	}
	l.slices = append(l.slices[:n], interval{from, to})
	if len(l.slices) > maxBefore {
		l.sealed = l.slices[0].to
		l.slices = append(l.slices[:0], l.slices[1:]...)
	}
}

func (l *lane) end() int64 {
	if n := len(l.slices); n > 0 {
		return l.slices[n-1].to
	}
	return l.sealed
}
