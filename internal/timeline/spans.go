package timeline

import (
	"math"

	"wprof/format"
)

// Spans emits the activity of each thread, span by span. A span is emitted when it ends, those of one thread in order of time. Its
// memory is that of a [Timeline].
type Spans struct {
	tl          *Timeline
	emit        func(*Span)
	span        Span // the argument of emit, reused
	idle        []idling
	now         int64 // of the latest event
	opened      int64
	dropped     int64 // when threads were last dropped
	closed      int64 // when the last window closed
	open        bool
	before      bool        // a window has closed before
	late        bool        // the current event is late
	runningOnly bool        // emits only spans of running threads, not of idle ones, and only with Thread, Kind, From and To
	losses      uint32      // number of losses after which a waking may be missing
	interrupts  *interrupts // nil: they are not of interest
}

// NewSpans returns a Spans that calls emit with every span. The span is valid until emit returns.
func NewSpans(defs Definitions, emit func(*Span)) *Spans {
	s := &Spans{tl: New(defs), emit: emit, dropped: math.MinInt64}
	s.tl.spans = s
	return s
}

// LimitThreads lowers the number of threads that are kept: more memory is needed for each of them elsewhere.
func (s *Spans) LimitThreads(most int) { s.tl.most = min(s.tl.most, most) }

// Timeline returns the state after the applied events, for reading only.
func (s *Spans) Timeline() *Timeline { return s.tl }

// NewSection is called when the ids of events change their meaning. A section that is no epoch also opens a window.
func (s *Spans) NewSection(session *format.Session) {
	s.tl.NewSection()
	s.tl.SetCoverage(CoverageOf(session))
	if s.interrupts != nil {
		s.interrupts.newSection()
	}
	for _, t := range s.tl.live {
		t.spanState.newSection()
	}
}

// EmitThread emits the span of a thread that certainly runs, up to a time. The rest of its running interval follows as another
// span. No later event may be before that time. For other threads it does nothing.
func (s *Spans) EmitThread(t *Thread, to int64) {
	if st, certain := t.lastKnown(); certain && st.Status == Running && !t.idle {
		s.endRunning(t, st, to, Span{})
	}
}

// EmitRunning emits the spans of all running threads up to a time, or to where they are last certain. No later event may be
// before that time.
func (s *Spans) EmitRunning(to int64) {
	s.now = max(s.now, to)
	for _, t := range s.tl.live {
		st, certain := t.lastKnown()
		if st.Status != Running {
			continue
		}
		if certain {
			s.endRunning(t, st, s.now, Span{})
		} else {
			s.emitCertain(t)
		}
	}
}

// Open opens a window: spans begin here.
func (s *Spans) Open(at int64) {
	if s.before {
		s.tl.Lost(format.AllCPUs, s.closed, max(s.closed, at))
	}
	s.losses++
	s.opened, s.now, s.open = at, max(s.now, at), true
	for _, t := range s.tl.live {
		t.spanState.cursor, t.spanState.shown = max(at, min(t.Start, s.now)), false
	}
	clear(s.idle)
	if s.interrupts != nil {
		s.interrupts.open(at)
	}
}

// Apply takes the next event.
func (s *Spans) Apply(e *format.Event) {
	s.now = max(s.now, e.Time)
	s.late = e.Flags&format.FlagLate != 0
	if e.Kind == format.KindLost && (LosesState(e) || e.Lost().What() == format.KindWaking) {
		s.losses++
	}
	s.tl.Apply(e)
	if s.interrupts != nil && e.Kind == format.KindTyped {
		s.interrupted(e)
	}
	if !s.late {
		s.noteSeen(e)
	}
}

// Close closes the window: it ends all spans and marks them open. Events that were applied are within the window, even
// if they are later.
func (s *Spans) Close(at int64) {
	s.now = max(s.now, at)
	s.tl.sorted = sortThreads(append(s.tl.sorted[:0], s.tl.live...))
	for _, t := range s.tl.sorted {
		s.closeThread(t)
	}
	for n := range s.idle {
		s.idleEnds(uint32(n), s.now, 0, true)
	}
	s.open, s.before, s.closed = false, true, s.now
}

func (s *Spans) closeThread(t *Thread) {
	sp := t.spanState
	if !sp.shown {
		return
	}
	st, certain := t.lastKnown()
	if !certain {
		s.emitCertain(t)
		s.emitUnknown(t, s.now, true)
		return
	}
	if st.Status == Running {
		s.endRunning(t, st, s.now, Span{Open: true})
	} else {
		s.endOff(t, st, s.now, 0, true)
	}
}

// noteSeen records whether an event shows its thread on the CPU where the timeline has it.
func (s *Spans) noteSeen(e *format.Event) {
	switch e.Kind {
	case format.KindWaking, format.KindWakeupNew, format.KindExit, format.KindSample:
	case format.KindFork:
		s.forked(e)
	default:
		return
	}
	if e.Flags&format.FlagSubject == 0 {
		return
	}
	s.shows(s.tl.Thread(e.Task), e)
}

// shows notes that an event shows a thread on its CPU.
func (s *Spans) shows(t *Thread, e *format.Event) {
	if t == nil || t.Status == Dead {
		return
	}
	if t.idle {
		s.idleSeen(e.CPU, e.Time)
		return
	}
	sp := t.spanState
	sp.shown = true
	switch {
	case t.Status == Running && t.CPU == e.CPU:
		if !sp.uncertain {
			sp.seen = max(sp.seen, e.Time)
		}
	case t.Status != Unknown && e.Kind != format.KindSample:
		// A sample may be taken between the event of a switch and the switch.
		sp.uncertain = true
	}
}

// forked records that the new thread of a fork is being created.
func (s *Spans) forked(e *format.Event) {
	if e.Flags&format.FlagObject == 0 {
		return
	}
	t := s.tl.Thread(format.TaskID(e.Args[format.ForkChild]))
	if t == nil || t.idle || t.Status != Unknown {
		return
	}
	t.spanState.shown = true
	t.spanState.creating = !t.spanState.known
}
