package filter

import (
	"math"

	"wprof/format"
)

// narrow writes the range into a session. One that misses the window is empty, at the edge of the window.
func (f *Filter) narrow(s *format.Session) {
	closes := s.Close
	if s.RangeEnd != 0 && (closes == 0 || s.RangeEnd < closes) {
		closes = s.RangeEnd
	}
	if f.start > s.Open {
		s.RangeStart = max(s.RangeStart, f.start)
		if closes != 0 {
			s.RangeStart = min(s.RangeStart, max(closes, s.Open))
		}
	}
	if f.o.End.set && (closes == 0 || f.end < closes) {
		s.RangeEnd = max(f.end, s.Open, s.RangeStart)
	}
}

// missed tells whether the range had nothing to do with the window. It is asked when the input has ended.
func (f *Filter) missed() Miss {
	switch {
	case f.phase == before:
		return MissLate
	case f.o.End.set && f.end <= max(f.first.Open, f.first.RangeStart):
		return MissEarly
	}
	return MissNone
}

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
