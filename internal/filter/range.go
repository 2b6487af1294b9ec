package filter

import (
	"math"

	"wprof/format"
)

// enterRange begins the time range with the state at its start. told says that the input tells it itself.
func (f *Filter) enterRange(told bool) error {
	f.phase = inside
	if !f.begun {
		if err := f.beginSection(); err != nil {
			return err
		}
	}
	if told {
		return nil
	}
	f.stateNext, f.stateAt = true, f.start
	return f.tl.WriteState(f.start, false, f.writeState)
}

// leaveRange ends the time range with what is still open at its end.
func (f *Filter) leaveRange() error {
	f.phase = done
	return f.tl.WriteState(f.end, true, f.writeState)
}

// writeState writes an event of a state that the timeline tells.
func (f *Filter) writeState(e *format.Event) error {
	t := f.tl.Thread(e.Task)
	if t == nil || t.Mark != kept || !f.passes(e) {
		return nil
	}
	return f.write(e)
}

// eventBeyond takes an event after the range. A loss that began inside it ends with it, marked open; it makes what was
// thought of its CPU unsure, so the state at the end is told last.
func (f *Filter) eventBeyond(e *format.Event) error {
	if f.phase == before {
		if err := f.enterRange(false); err != nil {
			return err
		}
	}
	if f.phase == inside {
		f.phase = beyond
		f.r.SkipAfter(f.end)
	}
	if from := int64(e.Args[format.LostFrom]); e.Kind == format.KindLost && from < f.end {
		lost := *e
		lost.Time = f.end
		lost.Flags |= format.FlagOpen
		f.tl.Apply(&lost)
		return f.write(&lost)
	}
	if f.live() && e.Time >= f.end+min(afterEnd, math.MaxInt64-f.end) {
		return f.leaveRange()
	}
	return nil
}
