package filter

import (
	"math"

	"wprof/format"
	"wprof/internal/timeline"
)

// narrow writes the range into a session. One that misses the window is empty, at the edge of the window.
func (f *Filter) narrow(s *format.Session) {
	closes := s.WindowEnd()
	if f.phase == beyond { // this section takes the spans that end in it and began within the range
		s.RangeStart = max(s.RangeStart, f.end)
	}
	if f.start > s.Open {
		s.RangeStart = max(s.RangeStart, f.start)
		if closes != 0 {
			s.RangeStart = min(s.RangeStart, max(closes, s.Open))
		}
	}
	if (f.o.End.set || f.around != nil) && (closes == 0 || f.end < closes) {
		s.RangeEnd = max(f.end, s.Open, s.RangeStart)
	}
}

// missed reports how the range misses the window. It is called when the input has ended.
func (f *Filter) missed() Miss {
	switch {
	case f.around != nil:
		return MissNone
	case f.phase == before:
		return MissLate
	case f.o.End.set && f.end <= max(f.first.Open, f.first.RangeStart):
		return MissEarly
	}
	return MissNone
}

// enterRange writes the state at the start of the time range, unless the input has one there.
func (f *Filter) enterRange(hasState bool) error {
	f.phase = inside
	f.counting.cut(f.start)
	if !f.begun {
		if err := f.beginSection(); err != nil {
			return err
		}
	}
	if hasState {
		return nil
	}
	f.stateNext, f.stateAt = true, f.start
	return f.tl.WriteState(f.start, false, f.writeState)
}

// enterBeyond begins the part after the range, of which only spans that began before are written.
func (f *Filter) enterBeyond() {
	f.phase = beyond
	f.r.SkipAfter(f.end)
}

// leaveRange ends the output.
func (f *Filter) leaveRange() error {
	f.phase = done
	return f.writeEnd()
}

// writeEnd writes what is still open at the end of the range, once, in the section that has the ids for it.
func (f *Filter) writeEnd() error {
	if f.endWritten {
		return nil
	}
	f.endWritten = true
	return f.tl.WriteState(f.end, true, f.writeState)
}

// noteWait keeps, from an event after the range, the stack that a thread had at the range's end, and what it waited for.
func (f *Filter) noteWait(e *format.Event) {
	id, since, isKnown := timeline.OffSince(e)
	open := openWait{e.Stack(), e.Wait()}
	if id == 0 || open == (openWait{}) || !isKnown || since >= f.end {
		return
	}
	if t := f.tl.Enter(id); t != nil {
		f.noteOpen(t, since, open)
	}
}

// noteOpen keeps where a thread is at the end of the range, if it is off the CPU since that time.
func (f *Filter) noteOpen(t *timeline.Thread, since int64, open openWait) {
	if t.Status != timeline.Off || t.SinceKnown && t.Since != since {
		return
	}
	if f.waits == nil {
		f.waits = make(map[timeline.Key]openWait)
	}
	if _, have := f.waits[t.Key]; !have {
		f.waits[t.Key] = open
	}
}

// openWait is where a thread is at the end of the range, and what it waits for; 0 of what is not known.
type openWait struct {
	stack format.StackID
	wait  format.WaitID
}

func (o openWait) set(e format.StateThreadEvent) {
	if o.stack != 0 {
		e.SetStack(o.stack)
	}
	if o.wait != 0 {
		e.SetWait(o.wait)
	}
}

// writeState writes an event of the timeline's state.
func (f *Filter) writeState(e *format.Event) error {
	t := f.tl.Thread(e.Task)
	if t == nil || t.Mark != kept || !f.passes(e) {
		return nil
	}
	if f.around != nil && f.endWritten && f.around.isLost(e) {
		return nil
	}
	if e.Kind == format.KindStateThread && f.endWritten {
		f.waits[t.Key].set(e.StateThread())
	}
	return f.write(e)
}

// eventBeyond handles an event after the range. A span that began inside it, or before, ends with it, marked open. A loss makes
// what was known of its CPU uncertain, so the state at the end is written last in a section.
func (f *Filter) eventBeyond(e *format.Event) error {
	if f.phase == before {
		if err := f.enterRange(false); err != nil {
			return err
		}
	}
	if f.phase == inside {
		f.enterBeyond()
	}
	if !f.endWritten {
		f.noteWait(e)
	}
	if start, isSpan := e.Start(); isSpan && start < f.end {
		return f.spanBeyond(e)
	}
	if f.live() && e.Time >= f.end+min(afterEnd, math.MaxInt64-f.end) {
		return f.leaveRange()
	}
	return nil
}

// spanBeyond writes a span that began before the end of the range at that end, open unless it had ended: a late one may have.
func (f *Filter) spanBeyond(e *format.Event) error {
	span := *e
	f.cutSpan(&span)
	if span.Kind == format.KindLost {
		f.tl.Apply(&span)
		return f.write(&span)
	}
	if !f.passes(&span) || !f.keepsBeyond(&span) {
		return nil
	}
	return f.write(&span)
}

// cutSpan ends a span at the end of the range.
func (f *Filter) cutSpan(e *format.Event) {
	e.Time = f.end
	if e.Flags&format.FlagLate == 0 || e.Own >= f.end {
		e.Flags = e.Flags&^format.FlagLate | format.FlagOpen
		e.Own = 0
	}
}

// keepsBeyond reports whether the thread of an event after the range is kept. It is selected by its name within the range.
func (f *Filter) keepsBeyond(e *format.Event) bool {
	if e.Flags&format.FlagSubject == 0 {
		return false
	}
	t := f.tl.Enter(e.Task)
	switch {
	case t == nil:
		return f.unknownAll
	case t.Mark == 0:
		return f.keeps(e.Task, e)
	}
	return t.Mark == kept
}
