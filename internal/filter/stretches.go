package filter

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/around"
	"wprof/internal/timeline"
)

// surroundings are the stretches that are kept. Each is a window of the session in the output, with sections of its own.
type surroundings struct {
	plan      *around.Plan
	left      []around.Stretch // the current one first
	file      io.ReaderAt
	sections  []format.SectionSummary
	isWithin  bool         // a section of the current stretch has begun
	later     laterSection // the one that was used last
	isForeign bool         // what is written has ids of a later section
	foreign   int          // numbers such sections
	// CPUs whose state is not known at the end of the stretch, because losses cross it. The timeline goes on: they count there in their place.
	lossy []uint32
}

func newSurroundings(in io.Reader, plan *around.Plan) (*surroundings, error) {
	file, ok := in.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, errors.New("read what surrounds slow things: the input is no file")
	}
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, fmt.Errorf("find the position in the input: %w", err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(at, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("find the size of the input: %w", err)
	}
	sections, err := format.ReadSummary(file, size)
	if err != nil {
		return nil, err
	}
	return &surroundings{plan: plan, left: plan.Stretches, file: file, sections: sections}, nil
}

// laterSection is one in which spans end that began in stretches of others: a span that lasts may cross many stretches.
type laterSection struct {
	which   around.Section
	session *format.Session // nil: none
	defs    *format.AllDefinitions
}

// find returns the session of a section and all its definitions; nil: it is not found, because the input is damaged.
func (a *surroundings) find(which around.Section) (*format.Session, *format.AllDefinitions) {
	for i := range a.sections {
		if s := &a.sections[i]; s.Session != nil && around.SectionOf(s.Session) == which {
			return s.Session, format.ReadDefinitions(a.file, s)
		}
	}
	return nil, nil
}

// findLater is find for a section after the current one.
func (a *surroundings) findLater(which around.Section) (*format.Session, *format.AllDefinitions) {
	if l := &a.later; l.session == nil || l.which != which {
		*l = laterSection{which: which}
		l.session, l.defs = a.find(which)
	}
	return a.later.session, a.later.defs
}

// loadDefinitions makes the definitions of the whole section known: events behind a stretch show what is open at its end.
func (f *Filter) loadDefinitions() {
	f.defs = f.r
	if f.r.HeaderLost() {
		return
	}
	if _, all := f.around.find(around.SectionOf(f.session)); all != nil {
		f.defs = all
	}
}

// typesOf numbers the section of the ids of event types.
func (f *Filter) typesOf() int {
	if f.around != nil && f.around.isForeign {
		return -f.around.foreign
	}
	return f.r.Sections()
}

// enterStretch makes the first of the stretches that are left the range. opened is when its window did, which begins with a state.
func (f *Filter) enterStretch(opened int64) {
	f.endWritten, f.waits, f.around.isWithin, f.around.lossy = false, nil, false, nil
	if len(f.around.left) == 0 {
		f.phase = done
		return
	}
	f.start, f.end, f.phase = f.around.left[0].From, f.around.left[0].To, before
	if f.start <= opened && f.session == nil {
		f.phase = inside
	}
}

func (f *Filter) nextStretch() {
	f.around.left = f.around.left[1:]
	f.enterStretch(f.session.WindowStart())
}

// endStretches ends the stretches that have passed.
func (f *Filter) endStretches(hasPassed func() bool) error {
	for f.phase != done && hasPassed() {
		if f.end > f.session.WindowStart() {
			if err := f.endStretch(); err != nil {
				return err
			}
		} // else its section is lost
		f.nextStretch()
	}
	return nil
}

// endStretch writes what is open at the end of the current stretch: spans that end later, then the state.
func (f *Filter) endStretch() error {
	if f.phase == before {
		if err := f.enterRange(false); err != nil {
			return err
		}
	}
	f.phase = beyond
	section := around.SectionOf(f.session)
	var foreign []around.Later
	err := f.around.plan.Later(&f.around.left[0], func(l *around.Later) error {
		switch {
		case l.IsEvent && l.Section == section:
			return f.spanLater(&l.Event)
		case l.IsEvent:
			foreign = append(foreign, *l)
		case l.Section == section:
			f.noteLater(l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.writeEnd(); err != nil || !f.begun {
		return err
	}
	if err := f.endSection(&format.End{Close: f.end}); err != nil {
		return err
	}
	return f.writeForeign(foreign)
}

// noteLater keeps the stack that a thread has at the end of the stretch, and what it waits for.
func (f *Filter) noteLater(l *around.Later) {
	t := f.tl.Find(l.Thread)
	if t == nil {
		return
	}
	f.noteOpen(t, l.Since, openWait{l.Stack, l.Wait})
}

// spanLater writes a span that began before the end of the stretch at that end.
func (f *Filter) spanLater(e *format.Event) error {
	f.cutSpan(e)
	if e.Kind == format.KindLost {
		if timeline.LosesState(e) {
			f.around.lossy = append(f.around.lossy, e.CPU)
		}
		return f.write(e)
	}
	if !f.passes(e) || !f.keepsLater(e) {
		return nil
	}
	return f.write(e)
}

// isLost reports whether a loss that crosses the end of the stretch makes a part of the state there unknown, as [timeline.Timeline.Lost] does.
func (a *surroundings) isLost(e *format.Event) bool {
	if e.Kind == format.KindStateThread {
		return len(a.lossy) > 0
	}
	return slices.Contains(a.lossy, e.CPU) || slices.Contains(a.lossy, format.AllCPUs)
}

// keepsLater reports whether the thread of an event behind the stretch is kept. It is selected by its name within the stretch.
func (f *Filter) keepsLater(e *format.Event) bool {
	if e.Flags&format.FlagSubject == 0 {
		return false
	}
	d := f.defs.Task(e.Task)
	if d.IsLost() {
		return f.unknownAll
	}
	if t := f.tl.Find(timeline.KeyOf(d)); t != nil && t.Mark != 0 {
		return t.Mark == kept
	}
	return f.o.Threads.keeps(d, f.defs, f.family != nil && f.family.has(d))
}

// writeForeign writes spans that cross the end of the stretch and end in a later section, each in a section with the ids of that one.
func (f *Filter) writeForeign(all []around.Later) error {
	session, defs := f.session, f.defs
	defer func() { f.session, f.defs, f.around.isForeign = session, defs, false }()
	for i := range all {
		if l := &all[i]; i == 0 || l.Section != all[i-1].Section {
			if err := f.endForeign(); err != nil {
				return err
			}
			s, found := f.around.findLater(l.Section)
			if found == nil || s.Id != session.Id {
				return nil
			}
			f.session, f.defs, f.around.isForeign = s, found, true
			f.around.foreign++
		}
		if err := f.spanLater(&all[i].Event); err != nil {
			return err
		}
	}
	return f.endForeign()
}

func (f *Filter) endForeign() error {
	if !f.begun {
		return nil
	}
	return f.endSection(&format.End{Close: f.end})
}

// placeStretch makes a section of the output a window of its session or, within a stretch, an epoch of that.
func (f *Filter) placeStretch(s, before *format.Session) {
	s.Continues, s.Epoch = false, 0
	if before != nil && before.Id == s.Id {
		s.Continues, s.Epoch = f.around.isWithin, before.Epoch+1
	}
	if s.Close == 0 {
		s.Close = f.around.plan.Closes[s.Id]
	}
	f.around.isWithin = true
}

// orderStretch makes a stretch begin where the one before it has ended. In damaged inputs sections may contradict each other.
func (f *Filter) orderStretch(s, before *format.Session) {
	reached := max(before.WindowEndOr(f.closed), f.wrote)
	if s.WindowStart() >= reached {
		return
	}
	s.RangeStart = reached
	if s.RangeEnd != 0 {
		s.RangeEnd = max(s.RangeEnd, reached)
	}
	if s.Close != 0 {
		s.Close = max(s.Close, reached)
	}
}

// narrowEnd removes from an end block what it has of the whole recording. The last stretch has the recorder's cost.
func (f *Filter) narrowEnd(end *format.End) {
	end.Losses, end.Cost = f.losses.List(), nil
	if len(f.around.left) == 1 {
		end.Cost = f.around.plan.Cost
	}
}

// beginFirst writes the first section of the input, without events, if no stretch of its session is kept: times count from its opening.
func (f *Filter) beginFirst() error {
	if f.written != nil || f.session.Open == f.first.Open {
		return nil
	}
	return f.writeEmpty()
}

// writeEmpty writes the first section without events.
func (f *Filter) writeEmpty() error {
	s := proto.CloneOf(f.first)
	f.o.note(s)
	s.Continues, s.Epoch = false, 0
	at := s.WindowStart()
	s.RangeStart, s.RangeEnd = at, at
	f.written = s
	if err := f.w.Begin(s); err != nil {
		return err
	}
	return f.w.EndSection(&format.End{Close: at, Last: true})
}
