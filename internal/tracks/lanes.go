package tracks

// MaxLanes bounds how many slices of a track may overlap without one containing the other.
const MaxLanes = 16

const (
	maxSlices = 64 // that a lane keeps
	maxEarly  = 64 // ns by which a slice is drawn too early to nest
)

// Lanes distributes the slices of a track over lanes in which they nest or do not overlap: viewers cut slices that do neither.
// Slices must come ordered by their end. Viewers nest slices that begin together in the order in which they come, so that an
// outer one, which comes later, begins a nanosecond before those that it contains.
type Lanes struct {
	// Nested: of slices that are no longer known it is taken for granted that others contain them or do not overlap them. An outer one may
	// come after millions of those that it contains.
	Nested bool
	lanes  [MaxLanes]lane
}

// lane holds its outermost slices, the latest last.
type lane struct {
	slices  []drawnSlice
	dropped int64 // end of the latest slice that was dropped; 0: none
}

// drawnSlice is a slice as it is drawn: early ns too early.
type drawnSlice struct{ from, to, early int64 }

// Place returns the lane of a slice and its start: up to maxEarly ns earlier than from, to nest, or later if all lanes are taken.
func (l *Lanes) Place(from, to int64) (number int, begin int64) {
	for n := range l.lanes {
		if early, ok := l.lanes[n].takes(from, to, l.Nested); ok {
			l.lanes[n].put(drawnSlice{from - early, to, early})
			return n, from - early
		}
	}
	last := &l.lanes[MaxLanes-1]
	from = min(to, max(from, last.end()))
	last.put(drawnSlice{from, to, 0})
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
	l.lanes[number].put(drawnSlice{begin, to, 0})
	return number, begin
}

// takes reports whether a slice fits, which may contain others but not overlap one, and by how much it is drawn too early.
func (l *lane) takes(from, to int64, nested bool) (early int64, ok bool) {
	begin := from
	for i := len(l.slices) - 1; i >= 0; i-- {
		s := l.slices[i]
		if s.to > to {
			return 0, false
		}
		if s.to <= begin {
			return from - begin, true
		}
		if s.from+s.early < from {
			return 0, false
		}
		if begin = min(begin, s.from-1); from-begin > maxEarly {
			return 0, false
		}
	}
	return from - begin, nested || l.dropped <= begin
}

func (l *lane) put(s drawnSlice) {
	n := len(l.slices)
	for n > 0 && l.slices[n-1].from >= s.from {
		n--
	}
	l.slices = append(l.slices[:n], s)
	if len(l.slices) > maxSlices {
		l.dropped = l.slices[0].to
		l.slices = append(l.slices[:0], l.slices[1:]...)
	}
}

func (l *lane) end() int64 {
	if n := len(l.slices); n > 0 {
		return l.slices[n-1].to
	}
	return l.dropped
}
