package filter

import (
	"errors"

	"wprof/format"
)

// write writes an event, after the definitions that it needs.
func (f *Filter) write(e *format.Event) error {
	if f.phase == before {
		return nil
	}
	if !f.begun {
		if err := f.beginSection(); err != nil {
			return err
		}
	}
	if !f.isPlaced(e) || e.Kind == format.KindTyped && !f.readTyped(e) {
		return nil
	}
	if f.stateNext {
		if err := f.placeState(e); err != nil {
			return err
		}
	}
	if len(f.r.Clocks()) > f.clocks {
		if err := f.defineClocks(); err != nil {
			return err
		}
	}
	if err := f.defineFor(e); errors.Is(err, format.ErrFull) {
		f.impossible("events name more than a section can define")
		return nil
	} else if err != nil {
		return err
	}
	f.hideCounts(e)
	if e.Kind == format.KindSample && !f.sources[e.Sample().Source()] {
		e.Sample().SetSource(0) // it was lost with the header, and the damage is reported there
	}
	if f.around == nil || !f.around.isForeign {
		f.usage.Apply(e)
	}
	if e.Kind == format.KindLost {
		f.result.Lost = f.result.Lost || e.Lost().IsFault()
		f.addLoss(e)
	} else {
		f.result.Kept++
	}
	return f.w.Write(e)
}

// isPlaced reports whether an event is within the window of the output's section and not before the last event; in
// damaged inputs it may be neither. A loss is moved to the start of the window.
func (f *Filter) isPlaced(e *format.Event) bool {
	if e.Kind == format.KindLost {
		e.Time = max(e.Time, f.opens)
	}
	if e.Time < max(f.opens, f.wrote) || f.closes != 0 && e.Time > f.closes {
		f.impossible("an event is outside the window of its section")
		return false
	}
	f.wrote = e.Time
	return true
}

// placeState begins a block at the first kept event of a state.
func (f *Filter) placeState(e *format.Event) error {
	f.stateNext = false
	if !isState(e) || e.Time != f.stateAt || e.Flags&format.FlagOpen != 0 {
		return nil
	}
	return f.w.BeginState()
}

// defineClocks writes the clock snapshots that came with definitions.
func (f *Filter) defineClocks() error {
	clocks := f.r.Clocks()
	if len(clocks) <= f.clocks {
		return nil
	}
	more := &format.Definitions{Clocks: clocks[f.clocks:]}
	f.clocks = len(clocks)
	if err := f.w.Define(more); !errors.Is(err, format.ErrFull) {
		return err
	}
	f.impossible("there are more clock snapshots than a section can have")
	return nil
}
