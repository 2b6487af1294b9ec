package timeline

import "wprof/format"

// put emits the current span up to a time and moves the cursor, so that the next one begins where this one ends.
func (s *Spans) put(t *Thread, to int64) {
	sp := t.spanState
	to = min(to, s.now)
	if to <= sp.cursor {
		return
	}
	if s.open {
		s.span.Thread, s.span.Task, s.span.From, s.span.To = t, t.Task, sp.cursor, to
		if s.interrupts != nil && s.span.Kind == SpanRunning {
			s.span.Interrupts = s.interrupts.take(s.span.CPU, sp.cursor, to)
		}
		s.span.Since = min(s.span.Since, sp.cursor) // two events may contradict each other
		s.emit(&s.span)
	}
	sp.cursor = to
}

// emitUnknown emits an unknown span of a live thread.
func (s *Spans) emitUnknown(t *Thread, to int64, open bool) {
	if s.runningOnly {
		t.spanState.cursor = max(t.spanState.cursor, min(to, s.now))
		return
	}
	s.span = Span{Kind: SpanUnknown, CPU: t.CPU, Prio: t.Prio, Open: open}
	if t.spanState.creating && s.tl.coverage == (Coverage{}) { // else it may have run without an event
		s.span.Kind, s.span.Since, s.span.SinceKnown = SpanNew, t.Start, true
	}
	s.put(t, to)
}

// endRunning emits a running interval, or a part of it; end has how it ended.
func (s *Spans) endRunning(t *Thread, st *threadState, to int64, end Span) {
	if s.runningOnly {
		s.span.Kind = SpanRunning
		s.put(t, to)
		return
	}
	sp, span := t.spanState, &s.span
	span.begins(SpanRunning, st)
	span.Open, span.Next, span.Left, span.Counts = end.Open, end.Next, end.Left, end.Counts
	span.State, span.Stack, span.Wait, span.Off = sp.offState, sp.offStack, sp.offWait, sp.off
	sp.setIDs(&span.Off)
	s.put(t, to)
}

// begins sets the fields of a span that are taken from a state for every kind.
func (p *Span) begins(kind SpanKind, st *threadState) {
	*p = Span{}
	p.Kind, p.CPU, p.Prio = kind, st.CPU, st.Prio
	p.Since, p.SinceKnown, p.Approx = st.Since, st.SinceKnown, st.Approx
}

// endOff emits an off-CPU interval: the blocked part and the runnable part. prev ran before on the CPU. It returns what is known of the interval, valid
// until the next span.
func (s *Spans) endOff(t *Thread, st *threadState, to int64, prev format.TaskID, open bool) *OffCPU {
	span := &s.span
	if s.runningOnly {
		t.spanState.cursor = max(t.spanState.cursor, min(to, s.now))
		return &span.Off
	}
	span.begins(SpanBlocked, st)
	ready := t.describeOff(&span.Off, st, to)
	span.Off.Prev = prev
	span.State, span.Stack, span.Wait, span.Open = st.State, t.spanState.stack, t.spanState.wait, open && ready >= to
	s.put(t, min(ready, to))
	span.Kind, span.Open = SpanRunnable, open
	if span.Off.Woken != 0 && !span.Off.Preempted {
		span.Since, span.SinceKnown, span.Approx = ready, true, false
	}
	s.put(t, to)
	return &span.Off
}

// describeOff sets off, which is empty, to what is known of an off-CPU interval up to a time. It returns from when on the thread
// was runnable.
func (t *Thread) describeOff(off *OffCPU, st *threadState, to int64) (ready int64) {
	sp := t.spanState
	w := &sp.waking
	off.Known, off.Since, off.Preempted, off.New = st.SinceKnown, st.Since, st.preempted(), st.New
	off.Throttled = off.Preempted && st.State&format.StateThrottled != 0
	if st.Woken != 0 {
		off.Woken, off.Waker, off.WakerCPU, off.WakerStack = st.Woken, w.task(), w.cpu, w.stack
		off.WokenIRQ, off.WokenBy = w.irq, w.interrupt
	}
	switch {
	case off.Preempted:
		if st.SinceKnown {
			off.Delay = max(0, to-st.Since)
		}
		off.Compound, off.Chain = format.Sum(sp.compound, off.Delay), sp.chain
		return sp.cursor
	case st.Woken != 0:
		ready = off.Ready()
		off.Delay = max(0, to-ready)
		off.Compound, off.Chain = format.Sum(w.compound, off.Delay), w.chain+1
		return ready
	case st.New:
		return sp.cursor
	}
	return to
}

// resume keeps the off-CPU interval that the next running span follows.
func (sp *spanState) resume(off *OffCPU, state format.State, prev *Thread, id format.TaskID) {
	sp.off, sp.offState, sp.offStack, sp.offWait, sp.prev = *off, state, sp.stack, sp.wait, prev
	sp.off.Prev = id
	sp.compound, sp.chain = off.Compound, off.Chain
}

// LastOffCPU returns the last off-CPU interval of a running thread, with ids of this section. The switch that ended it must have
// been applied.
func (t *Thread) LastOffCPU() OffCPU {
	sp := t.spanState
	if sp == nil {
		return OffCPU{}
	}
	off := sp.off
	sp.setIDs(&off)
	return off
}

// setIDs sets the ids that the waker and Prev of an off-CPU interval have in this section.
func (sp *spanState) setIDs(off *OffCPU) {
	if off.Woken != 0 {
		off.Waker = taskOf(off.Waker, sp.waking.by)
	}
	off.Prev = taskOf(off.Prev, sp.prev)
}
