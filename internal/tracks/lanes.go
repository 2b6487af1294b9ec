package tracks

// MaxLanes bounds how many slices of a track may overlap without one being inside the other.
const MaxLanes = 16

// maxBefore bounds how many slices of a lane may turn out to be inside a later one.
const maxBefore = 64

// Lanes places slices that come in the order in which they end, so that those of a lane do not overlap, unless one is inside
// another: interfaces show the slices of a track in rows by nesting, and cut those that do not nest.
type Lanes struct {
	lanes [MaxLanes]lane
}

// lane has the slices that are inside no other one so far, the latest at the end.
type lane struct {
	slices []slice
	sealed int64 // end of those that were dropped; 0: none were
}

type slice struct{ from, to int64 }

// Place returns the lane of a slice, and where it has to begin: later than from if all lanes are taken.
func (l *Lanes) Place(from, to int64) (number int, begin int64) {
	for n := range l.lanes {
		if l.lanes[n].takes(from) {
			l.lanes[n].put(from, to)
			return n, from
		}
	}
	last := &l.lanes[MaxLanes-1]
	from = min(to, last.end())
	last.put(from, to)
	return MaxLanes - 1, from
}

// takes reports whether a slice from then on overlaps none that it does not contain.
func (l *lane) takes(from int64) bool {
	for i := len(l.slices) - 1; i >= 0; i-- {
		if s := l.slices[i]; s.from < from {
			return s.to <= from
		}
	}
	return l.sealed <= from
}

func (l *lane) put(from, to int64) {
	n := len(l.slices)
	for n > 0 && l.slices[n-1].from >= from {
		n--
	}
	l.slices = append(l.slices[:n], slice{from, to})
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
