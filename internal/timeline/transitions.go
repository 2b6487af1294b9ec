package timeline

import "wprof/format"

// The methods in this file are called by the Timeline before it changes a thread's state.

// switched emits the two intervals that a switch ends: prev's on the CPU and next's off it.
func (s *Spans) switched(c *cpu, prev, next *Thread, e *format.Event) {
	if s.interrupts != nil {
		s.interrupts.switched(e.CPU)
	}
	if was := c.Running; was != nil {
		s.leavesCPU(was, prev, next, e)
	}
	switch {
	case prev == nil:
		s.hides(e.Task, e)
	case !prev.idle:
		s.leaves(prev, e)
	}
	switch {
	case next == nil:
		s.hides(format.TaskID(e.Args[format.SwitchNext]), e)
	case next.idle:
		s.idleBegins(e.CPU, next, idling{from: e.Time, Begin: BeginAt(e.Time), prio: int32(e.Args[format.SwitchNextPrio])})
	default:
		s.arrives(next, prev, e)
	}
}

// leavesCPU handles a switch for the thread that the timeline had on this CPU, which may not be prev.
func (s *Spans) leavesCPU(was, prev, next *Thread, e *format.Event) {
	leaves := was == prev || s.tl.Thread(e.Task) == was // it may be hidden from here on
	if !was.idle {
		if was != prev {
			s.becomesUnknown(was, s.certainUntil(was, leaves, e.Time))
		}
		return
	}
	if !leaves {
		s.idleLost(e.CPU, 0)
		return
	}
	var id format.TaskID
	if next != nil {
		id = next.Task
	}
	s.idleEnds(e.CPU, e.Time, id, false)
}

func (s *Spans) certainUntil(t *Thread, certain bool, at int64) int64 {
	if certain {
		return at
	}
	return t.spanState.seen
}

// hides makes the state of a thread unknown at the first event in which a filter hides it.
func (s *Spans) hides(id format.TaskID, e *format.Event) {
	t := s.tl.Thread(id)
	if t == nil || t.idle {
		return
	}
	elsewhere := t.Status == Running && t.CPU != e.CPU
	s.becomesUnknown(t, s.certainUntil(t, !elsewhere, e.Time))
}

// leaves ends a thread's running interval.
func (s *Spans) leaves(t *Thread, e *format.Event) {
	sp := t.spanState
	left := format.State(e.Args[format.SwitchPrevState])
	st, certain := t.lastKnown()
	early := waking{}
	// In the stream, a late event stands before every loss that happened after it.
	if st.Status == Running && st.CPU == e.CPU && (certain || s.late) {
		if !left.IsRunnable() && s.tl.coverage == (Coverage{}) {
			early = sp.early
		}
		end := Span{Left: left}
		end.Counts, _ = e.Switch().Counts()
		if e.Flags&format.FlagObject != 0 {
			end.Next = format.TaskID(e.Args[format.SwitchNext])
		}
		s.endRunning(t, st, e.Time, end)
	} else {
		sp.shown = true
		s.emitCertain(t)
		s.emitUnknown(t, e.Time, false)
		sp.compound, sp.chain = 0, 0
	}
	sp.becomesKnown(e.Time)
	sp.waking, sp.early, sp.stack, sp.wait = waking{}, early, 0, 0
	if Ends(left) {
		sp.end()
	}
}

// arrives ends a thread's off-CPU interval.
func (s *Spans) arrives(t, prev *Thread, e *format.Event) {
	sp := t.spanState
	v := e.Switch()
	if id, has := v.Stack(); has {
		sp.stack = id
	}
	if id, has := v.Wait(); has {
		sp.wait = id
	}
	st, certain := t.lastKnown()
	var other threadState
	if since := switchBegin(v, e); st.Status != Off || !st.endsHere(certain, since) {
		other = s.startsOver(t, v, since)
		st = &other
	} else if w := s.early(sp); w.at != 0 && st.Woken == 0 && !st.New && !st.preempted() {
		other = *st
		st = &other
		sp.waking, st.Woken = w, w.at
	}
	off := &OffCPU{}
	if st.Status == Off {
		off = s.endOff(t, st, e.Time, prevTask(prev, e), false)
	} else {
		s.emitUnknown(t, e.Time, false)
	}
	sp.becomesKnown(e.Time)
	sp.early = waking{}
	sp.resume(off, st.State, prev, prevTask(prev, e))
}

// prevTask is the task of the thread that leaves; 0: a filter hides it.
func prevTask(prev *Thread, e *format.Event) format.TaskID {
	if prev == nil {
		return 0
	}
	return e.Task
}

// switchBegin returns when next left its CPU, as the switch reports it.
func switchBegin(v format.SwitchEvent, e *format.Event) Begin {
	since, known := v.Since()
	return Begin{Since: since, SinceKnown: known, Approx: e.Flags&format.SwitchApprox != 0}
}

// endsHere reports whether the off-CPU interval that a switch ends is the last known one. The switch of a thread that has not run
// before reports no begin.
func (st *ThreadState[W]) endsHere(certain bool, since Begin) bool {
	if st.New {
		return certain && !since.SinceKnown
	}
	return st.lasts(certain, since) || certain && since.Since < st.Since
}

// startsOver handles a thread whose last known state ended without an event: its state is unknown until the off-CPU interval
// that the switch reports.
func (s *Spans) startsOver(t *Thread, v format.SwitchEvent, since Begin) (st threadState) {
	sp := t.spanState
	stack, wait := sp.stack, sp.wait
	sp.stack, sp.wait, sp.shown = 0, 0, true
	s.emitCertain(t)
	sp.compound, sp.chain, sp.stack, sp.wait, sp.waking = 0, 0, stack, wait, waking{}
	if !since.SinceKnown {
		return s.wokenUnseen(t, v)
	}
	s.emitUnknown(t, since.Since, false)
	state, _ := v.NextState()
	st = threadState{Status: Off, CPU: t.CPU, State: state, Prio: v.NextPrio(), Begin: since}
	if w := sp.early; w.at >= since.Since && w.at != 0 {
		sp.waking, st.Woken = w, w.at
	}
	return st
}

// wokenUnseen returns the state of a thread that was woken while its state was unknown: runnable since then. If it
// had been running, there would be a switch in between with which it left its CPU.
func (s *Spans) wokenUnseen(t *Thread, v format.SwitchEvent) threadState {
	w := s.early(t.spanState)
	if w.at == 0 || t.Status != Unknown || s.tl.coverage != (Coverage{}) {
		return threadState{}
	}
	s.emitUnknown(t, w.at, false)
	t.spanState.waking = w
	st := threadState{Status: Off, noState: true, CPU: t.CPU, Prio: v.NextPrio(), Begin: Begin{Since: w.at}}
	st.Woken = w.at
	return st
}

// early returns the latest waking of a thread while it ran, or while its state was unknown, unless another one may have been
// lost since.
//
// A thread can be woken before it has left its CPU: from when it sets its state until the switch is recorded. Then it does
// not sleep, though it leaves in a sleep state. More often it checks its condition again and runs on, so that its next sleep ends
// with another waking. So the early one counts only if the thread comes back without another one.
func (s *Spans) early(sp *spanState) waking {
	if sp.early.losses != s.losses {
		return waking{}
	}
	return sp.early
}

// woken handles a waking. The waker's compound delay at this time passes to the wakee.
func (s *Spans) woken(t, waker *Thread, e *format.Event, at int64, stack format.StackID) {
	if t.idle || t.Status == Dead {
		return
	}
	sp := t.spanState
	sp.shown = true
	w := waking{at: at, by: waker, cpu: e.CPU, stack: stack, losses: s.losses}
	w.irq = e.Kind == format.KindWaking && e.Flags&format.WakingInIRQ != 0
	if waker != nil {
		w.id = e.Task
		if !w.irq && !waker.idle && waker.Status == Running && waker.CPU == e.CPU && !waker.spanState.uncertain {
			w.compound, w.chain = waker.spanState.compound, waker.spanState.chain
		}
	}
	st, certain := t.lastKnown()
	// A thread that wakes itself was about to sleep, and runs on.
	if waker != t && (!certain || st.Status == Running && at >= st.Since) {
		sp.early = w
	}
	if w.irq && s.interrupts != nil {
		s.interrupts.wokenIn(t, e.CPU, at)
	}
	if st.Status != Off {
		return
	}
	if certain {
		sp.seen = max(sp.seen, at)
	}
	if st.Woken == 0 && !st.New && at >= st.Since {
		sp.waking = w
		sp.was.Woken = at
	}
}

// wokenNew ends the creation of a thread.
func (s *Spans) wokenNew(t, waker *Thread, e *format.Event) {
	sp := t.spanState
	sp.shown, sp.creating = true, !sp.known
	s.emitCertain(t)
	s.emitUnknown(t, e.Time, false)
	stack, _ := e.WakeupNew().Stack()
	s.woken(t, waker, e, e.Time, stack)
	sp.waking = sp.early
	sp.becomesKnown(e.Time)
	sp.early, sp.stack, sp.wait = waking{}, 0, 0
}

// execs passes the running interval of the thread that called exec to t, the leader whose tid it takes over.
func (s *Spans) execs(caller, t *Thread, e *format.Event) {
	if caller.Status != Running {
		s.ends(caller, e.Time)
		return
	}
	from, to := caller.spanState, t.spanState
	st, certain := caller.lastKnown()
	if certain {
		s.endRunning(caller, st, e.Time, Span{})
	}
	if !to.known {
		// The leader has ended before, without an event.
		to.cursor = max(to.cursor, e.Time)
	}
	s.emitCertain(t)
	s.emitUnknown(t, e.Time, false)
	to.becomesKnown(e.Time)
	to.off, to.offState, to.offStack, to.offWait, to.prev = from.off, from.offState, from.offStack, from.offWait, from.prev
	to.waking, to.early, to.compound, to.chain = from.waking, from.early, from.compound, from.chain
	s.ends(caller, e.Time)
}
