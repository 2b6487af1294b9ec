package perfetto

import (
	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/timeline"
)

// view draws what each thread does: slices and instants on a track of its own, and on one a CPU what is idle. All of it
// is told by timeline's spans, which come when they end.
type view struct {
	e     *Encoder
	on    Options
	spans *timeline.Spans
	seq   sequence
	// uuids counts the tracks that were given numbers: small ones, because each event has one.
	uuids  uint64
	arrows uint64 // counts the numbers of arrows
	idle   idleTracks
	frames frameNames
	items  items
}

// drawn is what the view keeps of a thread.
type drawn struct {
	track, stackTrack uint64 // 0: not numbered
	told, stacksTold  uint32 // the generation of the sequence that knows them
	pid               int32  // when it was numbered
	name              []byte // the latest one
	// The arrows to the slice with which it comes back on a CPU; rewoken is of a waking that may count instead of the
	// first, early of one while it ran, which may count for the slice after this one.
	woken, rewoken, early, preempted arrow
	preempts                         preemption
	own                              threadSequence
	until                            int64 // end of the last slice, ns of CLOCK_MONOTONIC
	embedded                         *embedded
}

// taskNames are numbers of names that a task is in, as of a generation of the sequence.
type taskNames struct {
	generation             uint32
	label, wakes, preempts uint64
}

func newView(e *Encoder, on Options) *view {
	on.Arrows = on.Arrows || !on.Sched
	w := &view{e: e, on: on, frames: bounded.NewMap[uint32, []string](maxFrameNames), items: newItems(e.defs)}
	w.spans = timeline.NewSpans(e.defs, w.span)
	return w
}

// newSection is called when ids change their meaning.
func (w *view) newSection(s *format.Session) {
	w.endStacks()
	w.spans.NewSection(s)
	w.frames.Clear()
	w.items.made.NewSection()
	w.seq.stale = true
}

// event takes the next event, after the threads that it names were introduced.
func (w *view) event(v *format.Event) {
	at := v.Time
	if v.Flags&format.FlagLate != 0 {
		at = v.Own
	}
	w.resetIfDue(v.Time)
	switch v.Kind {
	case format.KindSwitch:
		w.spans.Apply(v)
		w.switched(v, at)
	case format.KindWaking:
		w.waking(v, format.TaskID(v.Args[format.WakingWakee]), at)
	case format.KindWakeupNew:
		w.waking(v, format.TaskID(v.Args[format.WakeupNewWakee]), at)
	case format.KindSample:
		w.spans.Apply(v)
		w.sampled(v, at)
	default:
		w.rare(v, at)
	}
}

func (w *view) resetIfDue(t int64) {
	if written := w.e.written + int64(len(w.e.out)); w.seq.due(t, written) {
		w.e.out = w.seq.reset(w.e.out, t, w.e.clock.boottime(w.e.now), written)
	}
}

func (w *view) switched(v *format.Event, at int64) {
	if k := w.known(v.Task); k != nil && w.on.EmbedStacks {
		w.endStack(k.thread, at) // also of a thread that was not known to run
	}
	if w.on.Threads && w.on.Arrows && v.Flags&format.FlagsVisible == format.FlagsVisible && format.State(v.Args[format.SwitchPrevState])&format.StatePreempted != 0 {
		w.preempted(v, at)
	}
}

// close ends the window: all spans end, and what waits for one is written.
func (w *view) close(at int64) {
	w.resetIfDue(at)
	w.spans.Close(at)
	w.endStacks()
	w.drawAll(w.items.made.Close(at))
	for _, t := range w.e.threads.sorted() {
		w.flushPreemption(t)
	}
}

// threadOf is the thread of a span; nil if it was not introduced.
func (w *view) threadOf(s *timeline.Span) *thread {
	if s.Task != 0 {
		if k := w.e.threads.get(s.Task); k != nil {
			return k.thread
		}
	}
	if t := w.e.threads.byTID[s.Thread.TID]; t != nil && t.start == s.Thread.Start {
		return t
	}
	return nil
}

// span draws a span that has ended.
func (w *view) span(s *timeline.Span) {
	if s.Thread.Idle() {
		if w.on.Threads {
			w.idle.draw(w, s)
		}
		return
	}
	t := w.threadOf(s)
	if t == nil || !t.isReal() {
		return
	}
	if s.Kind == timeline.SpanRunning {
		w.endStack(t, s.To)
	}
	// Of a thread that a damaged stream has under two starts, Perfetto has one track: there the first one is drawn.
	if w.on.Threads && s.From >= t.drawn.until {
		w.draw(t, s)
	}
	w.flushPreemption(t)
}

func (w *view) draw(t *thread, s *timeline.Span) {
	switch s.Kind {
	case timeline.SpanRunning:
		t.drawn.until = s.To
		w.ran(t, s)
	case timeline.SpanBlocked:
		t.drawn.until = s.To
		w.blocked(t, s)
	}
}

// known is the task that an id names, if it was introduced and is a thread or idle.
func (w *view) known(id format.TaskID) *task {
	k := w.e.threads.get(id)
	if id == 0 || k == nil || k.tid >= filteredTID {
		return nil
	}
	return k
}
