package timeline

import "wprof/format"

// put emits the span at hand up to a time and moves the cursor, so that the next one begins where this one ends.
func (s *Spans) put(t *Thread, to int64) {
	tr := t.track
	to = min(to, s.now)
	if to <= tr.cursor {
		return
	}
	if s.open {
		s.span.Thread, s.span.Task, s.span.From, s.span.To = t, t.Task, tr.cursor, to
		s.span.Since = min(s.span.Since, tr.cursor) // two events may contradict each other
		s.emit(&s.span)
	}
	tr.cursor = to
}

// gap emits a part of which nothing is known but that the thread was there.
func (s *Spans) gap(t *Thread, to int64, open bool) {
	if s.runningOnly {
		t.track.cursor = max(t.track.cursor, min(to, s.now))
		return
	}
	s.span = Span{Kind: SpanUnknown, CPU: t.CPU, Prio: t.Prio, Open: open}
	if t.track.making && s.tl.coverage == (Coverage{}) { // else it may have run without an event
		s.span.Kind, s.span.Since, s.span.SinceKnown = SpanNew, t.Start, true
	}
	s.put(t, to)
}

// endRunning emits a time on a CPU, or a part of it; end says how it ended.
func (s *Spans) endRunning(t *Thread, st *threadState, to int64, end Span) {
	if s.runningOnly {
		s.span.Kind = SpanRunning
		s.put(t, to)
		return
	}
	tr := t.track
	s.span = Span{
		Kind: SpanRunning, Since: st.Since, SinceKnown: st.SinceKnown, Approx: st.Approx, Open: end.Open, CPU: st.CPU,
		State: tr.offState, Prio: st.Prio, Stack: tr.offStack, Off: tr.off, Next: end.Next, Left: end.Left,
	}
	tr.nameIn(&s.span.Off)
	s.put(t, to)
}

// endOff emits a time off the CPU: what of it the thread was blocked, and what it waited for a CPU.
func (s *Spans) endOff(t *Thread, st *threadState, to int64, open bool) OffCPU {
	if s.runningOnly {
		t.track.cursor = max(t.track.cursor, min(to, s.now))
		return OffCPU{}
	}
	off, ready := t.timeOff(st, to)
	s.span = Span{
		Kind: SpanBlocked, Since: st.Since, SinceKnown: st.SinceKnown, Approx: st.Approx, CPU: st.CPU, State: st.State,
		Prio: st.Prio, Stack: t.track.stack, Off: off, Open: open && ready >= to,
	}
	s.put(t, min(ready, to))
	s.span.Kind, s.span.Open = SpanRunnable, open
	if off.Woken != 0 && !off.Preempted {
		s.span.Since, s.span.SinceKnown, s.span.Approx = ready, true, false
	}
	s.put(t, to)
	return off
}

// timeOff says what is known of a time off the CPU up to a time, and from when on the thread could run.
func (t *Thread) timeOff(st *threadState, to int64) (off OffCPU, ready int64) {
	tr := t.track
	w := &tr.waking
	off = OffCPU{Known: st.SinceKnown, Since: st.Since, Preempted: st.preempted(), New: st.New}
	if st.Woken != 0 {
		off.Woken, off.Waker, off.WakerCPU, off.WakerStack = st.Woken, w.task(), w.cpu, w.stack
		off.WokenIRQ = w.irq
	}
	switch {
	case off.Preempted:
		if st.SinceKnown {
			off.Delay = max(0, to-st.Since)
		}
		off.Compound, off.Chain = format.Sum(tr.compound, off.Delay), tr.chain
		return off, tr.cursor
	case st.Woken != 0:
		ready = off.Ready()
		off.Delay = max(0, to-ready)
		off.Compound, off.Chain = format.Sum(w.compound, off.Delay), w.chain+1
		return off, ready
	case st.New:
		return off, tr.cursor
	}
	return off, to
}

// comesBack notes the time off that a time on a CPU follows.
func (tr *track) comesBack(off OffCPU, state format.State, prev *Thread, id format.TaskID) {
	tr.off, tr.offState, tr.offStack, tr.prev = off, state, tr.stack, prev
	tr.off.Prev = id
	tr.compound, tr.chain = off.Compound, off.Chain
}

// Back is the time off the CPU that a thread's time on it follows, by the ids of this section. It is called of a thread that
// runs, after the switch that brought it back was applied.
func (t *Thread) Back() OffCPU {
	tr := t.track
	if tr == nil {
		return OffCPU{}
	}
	off := tr.off
	tr.nameIn(&off)
	return off
}

// nameIn gives the threads that a time off the CPU names their ids of this section.
func (tr *track) nameIn(off *OffCPU) {
	if off.Woken != 0 {
		off.Waker = taskOf(off.Waker, tr.waking.by)
	}
	off.Prev = taskOf(off.Prev, tr.prev)
}
