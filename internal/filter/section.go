package filter

import (
	"errors"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/timeline"
)

// nextSection handles a new section of the input.
func (f *Filter) nextSection() error {
	if f.begun { // its end block is lost
		if err := f.leaveSection(&format.End{Close: f.last, Losses: f.losses.List()}); err != nil {
			return err
		}
	}
	if f.phase == done {
		return nil
	}
	return f.enterSection()
}

// enterSection reads the input's current section. The output's section begins with its first event, so
// that sections before the time range are left out; only the first one is always written, because all times
// count from its opening.
func (f *Filter) enterSection() error {
	s := f.r.Session()
	isFirst := f.session == nil
	f.section = f.r.Sections()
	if f.family != nil {
		f.family.scanned = 0
	}
	if !isFirst {
		f.tl.NewSection()
		if !s.Continues || f.session.Id != s.Id {
			if f.around != nil && f.phase == inside { // it ended with its window
				f.nextStretch()
			}
			if f.phase == beyond || f.around == nil && s.WindowStart() >= f.end { // it may have ended between two windows
				f.phase = done
				return nil
			}
			f.tl.Lost(format.AllCPUs, f.last, max(f.last, s.Open))
		}
	}
	f.tl.SetCoverage(timeline.CoverageOf(s))
	f.session = s
	if f.around != nil {
		f.loadDefinitions()
	}
	if isFirst && f.around == nil || f.phase == inside {
		return f.beginSection()
	}
	return nil
}

// beginSection writes the header block of the output's section.
func (f *Filter) beginSection() error {
	s, before := proto.Clone(f.session).(*format.Session), f.written
	if f.around != nil {
		if err := f.beginFirst(); err != nil {
			return err
		}
	}
	f.repair(s)
	f.o.note(s)
	if f.around != nil {
		f.placeStretch(s, before)
	}
	f.narrow(s)
	if f.around != nil && before != nil && !s.Continues {
		f.orderStretch(s, before)
	}
	f.defined.clear()
	f.named = 0
	f.opens, f.closes = s.WindowStart(), s.WindowEnd()
	f.usage.NewSection(s)
	f.begun, f.clocks, f.losses = true, len(f.session.Clocks), nil
	f.sources = make(map[uint64]bool, len(s.Sources))
	s.Sources = slices.DeleteFunc(s.Sources, func(source *format.Source) bool {
		invalid := source.Id == 0 || f.sources[uint64(source.Id)]
		f.sources[uint64(source.Id)] = true
		return invalid
	})
	delete(f.sources, 0)
	if err := f.writeEndBlock(s); err != nil {
		return err
	}
	return f.w.Begin(s)
}

// writeEndBlock writes the pending end block when the next section is known; nil: the output ends. If the input lacks its
// last epoch, the output must still be complete.
func (f *Filter) writeEndBlock(next *format.Session) error {
	end := f.ending
	if end == nil {
		return nil
	}
	f.ending = nil
	end.Last = next == nil || !next.Continues || next.Id != f.endingID
	return f.w.EndSection(end)
}

// repair adapts a section of a damaged input to the output: sections must not contradict each other because of lost
// ones between them.
func (f *Filter) repair(s *format.Session) {
	before, isReal := f.written, !f.r.HeaderLost()
	headerLost := f.headerLost
	f.written, f.headerLost = s, !isReal
	switch {
	case before == nil || f.r.Damage() == nil:
	case isReal:
		f.fit(s, before, headerLost)
		f.follow(s, before)
	case f.endedLast || isAfter(s.Open, before):
		f.makeSession(s, before)
	default:
		f.continueSession(s, before)
	}
}

// fit makes a section follow the output's section before it, without missing epoch numbers for lost epochs. If headerLost, the
// header of the section before was lost, which may be of the same session; the session then begins here under its own id.
func (f *Filter) fit(s, before *format.Session, headerLost bool) {
	if s.Continues && s.Id == before.Id {
		s.Continues, s.Epoch = !f.endedLast, before.Epoch+1
	}
	if !headerLost {
		return
	}
	if f.ending != nil {
		f.ending.Close = min(f.ending.Close, max(f.last, f.wrote, s.WindowStart()))
		f.closed = f.ending.Close
	}
	if f.last > s.WindowStart() {
		s.RangeStart = f.last // within the window: the reader drops other sections
	}
}

// follow makes a section begin where the output's previous section ended, or makes its window unknown if it closed before.
func (f *Filter) follow(s, before *format.Session) {
	if s.Continues && s.Id == before.Id {
		return
	}
	reached := max(before.WindowEndOr(f.closed), f.last, f.wrote)
	switch closes := s.WindowEnd(); {
	case s.WindowStart() >= reached:
	case closes == 0 || closes >= reached:
		s.RangeStart = reached
	default:
		f.makeSession(s, before)
	}
}

// isAfter reports whether a time lies after a session's window.
func isAfter(at int64, s *format.Session) bool {
	closes := s.WindowEnd()
	return closes != 0 && at > closes
}

// continueSession makes a section without a header the next epoch of the session before it.
func (f *Filter) continueSession(s, before *format.Session) {
	proto.Reset(s)
	proto.Merge(s, before)
	s.Continues, s.Epoch = true, before.Epoch+1
	s.Close, s.RangeEnd = 0, 0 // only its end block has the close
	s.History, s.Config = f.session.History, nil
}

// makeSession returns a new session after the one before it, on the same machine as far as that is known. Its random
// number differs from those of adjacent sections.
func (f *Filter) makeSession(s, before *format.Session) {
	opens := max(s.Open, f.last, f.wrote, f.closed, before.WindowEnd())
	f.continueSession(s, before)
	s.Continues, s.Epoch, s.Id = false, 0, before.Id+uint64(before.Epoch)+1
	s.Open, s.Close = opens, 0
	s.RangeStart, s.RangeEnd = 0, 0
	s.Sources, s.Clocks = nil, f.session.Clocks
}

// sectionEnd is called with the input's end blocks.
func (f *Filter) sectionEnd(end *format.End) error {
	if f.section != f.r.Sections() { // it had no events
		if err := f.nextSection(); err != nil {
			return err
		}
	}
	if f.phase == done {
		return nil
	}
	return f.leaveSection(end)
}

// leaveSection ends the output's section after the input's. If the range begins or ends between the last event and the
// close of the window, its state is written here. Spans that cross the end of the range may be in later epochs: these begin a
// section of the output only if they have some.
func (f *Filter) leaveSection(end *format.End) error {
	if f.around != nil {
		if err := f.endStretches(func() bool { return f.end < end.Close }); err != nil {
			return err
		}
	}
	if f.phase == before && f.start < end.Close {
		if err := f.enterRange(false); err != nil {
			return err
		}
	}
	if f.around == nil && (f.phase == beyond || f.phase == inside && f.end < end.Close) {
		f.enterBeyond()
		if end.Last {
			f.phase = done
		}
		if err := f.writeEnd(); err != nil {
			return err
		}
	}
	if !f.begun {
		return nil
	}
	return f.endSection(end)
}

// endSection writes the end block: losses and cost are the recorder's, the rest is counted here.
func (f *Filter) endSection(end *format.End) error {
	out := proto.Clone(end).(*format.End)
	out.Close = max(out.Close, f.session.Open)
	if f.last != math.MinInt64 {
		out.Close = max(out.Close, f.last)
	}
	if f.phase >= beyond {
		out.Last, out.Close = f.phase == done, min(out.Close, f.end)
	}
	out.Close = max(out.Close, f.opens, f.wrote)
	// Of a range only its own loss events count: the recorder's sums are those of its whole window.
	isPart := f.around != nil || f.o.Start.set || f.o.End.set || f.session.RangeStart != 0 || f.session.RangeEnd != 0
	f.result.Lost = f.result.Lost || slices.ContainsFunc(out.Losses, (*format.Loss).IsFault) && !isPart
	out.Losses = atLeast(f.losses, out.Losses)
	if f.around != nil {
		f.narrowEnd(out)
	}
	out.Processes = f.usage.Close(out.Close)
	if err := f.defineClocks(); err != nil {
		return err
	}
	f.begun = false
	f.ending, f.endingID = out, f.written.Id
	f.endedLast, f.closed = out.Last, out.Close
	return nil // the next section shows whether it is the last one, and when a section without a header closed
}

// finish ends the output after the end of the input or of the range.
func (f *Filter) finish() error {
	var err error
	if f.begun {
		err = f.leaveSection(&format.End{Close: max(f.last, f.session.Close), Last: true, Losses: f.losses.List()})
	}
	f.result.Missed = f.missed()
	if f.around != nil && f.written == nil {
		err = errors.Join(err, f.writeEmpty())
	}
	return errors.Join(err, f.writeEndBlock(nil))
}
