package timeline

import "wprof/format"

// spanState is the time up to which a thread's spans were emitted, and the state that the next ones need.
type spanState struct {
	cursor    int64 // spans are reported up to here
	seen      int64 // the last time at which the thread was certainly in its state
	shown     bool  // an event in this window has shown it
	known     bool  // it was in a known state once
	creating  bool  // its fork was seen, and nothing else yet
	uncertain bool  // an event showed it elsewhere: its state is certain up to seen only
	// was is the state that it had when it became unknown. It is valid up to seen, and later if the next event shows that
	// it lasts since the same time.
	was threadState

	waking waking         // of this off-CPU interval, or the last one
	early  waking         // the latest one while it ran, or while its state was not certain: see [Spans.early]
	stack  format.StackID // of this off-CPU interval
	wait   format.WaitID

	// The off-CPU interval before this running interval.
	off      OffCPU
	offState format.State
	offStack format.StackID
	offWait  format.WaitID
	prev     *Thread

	compound int64
	chain    uint32
}

// waking is who woke a thread, and the compound delay that passed to it.
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
	// interrupt is the one that woke; 0: not known.
	interrupt InterruptID
}

// newSpanState returns the state of a new thread. Its spans begin with its start, if that is in the window.
func (s *Spans) newSpanState(t *Thread) *spanState {
	at := max(s.opened, s.dropped, min(t.Start, s.now))
	return &spanState{cursor: at, seen: at}
}

// newSection drops ids of the section before.
func (sp *spanState) newSection() {
	for _, w := range [...]*waking{&sp.waking, &sp.early} {
		w.id, w.stack = 0, 0
	}
	sp.dropDead()
	sp.stack, sp.offStack, sp.off.WakerStack, sp.off.Waker, sp.off.Prev = 0, 0, 0, 0, 0
	sp.wait, sp.offWait = 0, 0
}

// task returns the waker's id in this section.
func (w *waking) task() format.TaskID { return taskOf(w.id, w.by) }

func taskOf(id format.TaskID, t *Thread) format.TaskID {
	if id == 0 && t != nil {
		return t.Task
	}
	return id
}

// lastKnown returns the current state of a thread if it is certain, else the last known one.
func (t *Thread) lastKnown() (st *threadState, certain bool) {
	if t.Status == Running || t.Status == Off {
		return &t.ThreadState, !t.spanState.uncertain
	}
	return &t.spanState.was, false
}

// preempted reports whether an off-CPU thread lost its CPU without wanting to wait.
func (st *ThreadState[W]) preempted() bool {
	return st.State.IsRunnable() && !st.New && !st.noState
}

// lasts reports whether a state that began at a time is the last known one.
func (st *ThreadState[W]) lasts(certain bool, since Begin) bool {
	if !since.SinceKnown || !st.SinceKnown || since.Approx || st.Approx {
		return certain
	}
	return since.Since == st.Since
}

// becomesKnown is called when a thread's state is known from a time on.
func (sp *spanState) becomesKnown(at int64) {
	sp.seen = max(sp.seen, at)
	sp.shown, sp.known, sp.creating, sp.uncertain = true, true, false, false
	sp.was.Status = Unknown
}

// becomesUnknown is called when a thread's state becomes unknown. It is certain up to a time.
func (s *Spans) becomesUnknown(t *Thread, until int64) {
	if t.idle || t.Status != Running && t.Status != Off {
		return
	}
	sp := t.spanState
	sp.was = t.ThreadState
	if !sp.uncertain {
		sp.seen = max(sp.seen, min(until, s.now))
		sp.early = waking{}
	}
	sp.uncertain = false
}

// emitCertain emits the state that a thread had, up to where it is certain.
func (s *Spans) emitCertain(t *Thread) {
	st, _ := t.lastKnown()
	switch st.Status {
	case Running:
		s.endRunning(t, st, t.spanState.seen, Span{})
	case Off:
		s.endOff(t, st, t.spanState.seen, 0, false)
	}
}

// ends emits the last spans of a thread whose last switch was not seen.
func (s *Spans) ends(t *Thread, at int64) {
	if t.idle || t.Status == Dead {
		return
	}
	if t.spanState.shown {
		s.emitCertain(t)
		s.emitUnknown(t, at, false)
	}
	t.spanState.end()
}

// end reduces the state of a thread that has ended to what is still needed.
func (sp *spanState) end() { *sp = spanState{cursor: sp.cursor, seen: sp.cursor, known: true} }
