package timeline

import "wprof/format"

// track is the time up to which a thread's spans were emitted, and the state that the next ones need.
type track struct {
	cursor    int64 // spans are reported up to here
	seen      int64 // the last moment at which the thread was surely in its state
	shown     bool  // something in this window has shown it alive
	known     bool  // it was in a known state once
	making    bool  // its fork was seen, and nothing else yet
	uncertain bool  // it was seen elsewhere: its state holds up to seen and no longer
	// was is the state that it had when it became unknown. It is valid up to seen, and later if the next event shows that
	// it lasts since the same time.
	was threadState

	waking waking         // of this time off, or the one before
	early  waking         // the latest one while it ran, or while its state was not sure: see [Spans.early]
	stack  format.StackID // of this time off

	// The time off before this time on a CPU.
	off      OffCPU
	offState format.State
	offStack format.StackID
	prev     *Thread

	compound int64
	chain    uint32
}

// waking is who woke a thread, and what delay came with it.
type waking struct {
	at       int64
	by       *Thread // nil: not known, or hidden
	id       format.TaskID
	cpu      uint32
	stack    format.StackID
	compound int64
	chain    uint32
	losses   uint32 // Spans.losses at that time
	irq      bool   // an interrupt woke it; by is the interrupted thread
}

// newTrack begins the spans of a thread with its start, if that is in the window.
func (s *Spans) newTrack(t *Thread) *track {
	at := max(s.opened, s.forgot, min(t.Start, s.now))
	return &track{cursor: at, seen: at}
}

// newSection drops ids of the section before.
func (tr *track) newSection() {
	for _, w := range [...]*waking{&tr.waking, &tr.early} {
		w.id, w.stack = 0, 0
	}
	tr.dropDead()
	tr.stack, tr.offStack, tr.off.WakerStack, tr.off.Waker, tr.off.Prev = 0, 0, 0, 0, 0
}

// task is the id of the thread in this section.
func (w *waking) task() format.TaskID { return taskOf(w.id, w.by) }

func taskOf(id format.TaskID, t *Thread) format.TaskID {
	if id == 0 && t != nil {
		return t.Task
	}
	return id
}

// lastKnown returns the current state of a thread if it is certain, else the last known one.
func (t *Thread) lastKnown() (st *threadState, sure bool) {
	if t.Status == Running || t.Status == Off {
		return &t.ThreadState, !t.track.uncertain
	}
	return &t.track.was, false
}

// preempted reports whether a thread that is off the CPU could have run on.
func (st *ThreadState[W]) preempted() bool {
	return st.State&^format.StatePreempted == 0 && !st.New && !st.vague
}

// lasts reports whether a state that began at a time is the last known one, still going on.
func (st *ThreadState[W]) lasts(sure bool, since Begin) bool {
	if !since.SinceKnown || !st.SinceKnown || since.Approx || st.Approx {
		return sure
	}
	return since.Since == st.Since
}

// becomes is called when a thread's state is known from a time on.
func (tr *track) becomes(at int64) {
	tr.seen = max(tr.seen, at)
	tr.shown, tr.known, tr.making, tr.uncertain = true, true, false, false
	tr.was.Status = Unknown
}

// loses is called when a thread's state becomes unknown; it is certain up to a time.
func (s *Spans) loses(t *Thread, until int64) {
	if t.idle || t.Status != Running && t.Status != Off {
		return
	}
	tr := t.track
	tr.was = t.ThreadState
	if !tr.uncertain {
		tr.seen = max(tr.seen, min(until, s.now))
		tr.early = waking{}
	}
	tr.uncertain = false
}

// settle emits the state that a thread had, up to where it is certain.
func (s *Spans) settle(t *Thread) {
	st, _ := t.lastKnown()
	switch st.Status {
	case Running:
		s.endRunning(t, st, t.track.seen, Span{})
	case Off:
		s.endOff(t, st, t.track.seen, false)
	}
}

// dies ends a thread of which no last switch was seen.
func (s *Spans) dies(t *Thread, at int64) {
	if t.idle || t.Status == Dead {
		return
	}
	if t.track.shown {
		s.settle(t)
		s.gap(t, at, false)
	}
	t.track.end()
}

// end reduces the track of a dead thread to what is still needed.
func (tr *track) end() { *tr = track{cursor: tr.cursor, seen: tr.cursor, known: true} }
