package timeline

import "wprof/format"

// Apply takes the next event. Events come in the order of the stream. Nothing is derived from a side of an event that a
// filter hides, and the state of that side's thread is unknown from then on.
//
// Nearly all events are switches and wakings: see BenchmarkApply.
func (tl *Timeline) Apply(e *format.Event) {
	tl.bound()
	if e.Flags&format.FlagLate != 0 {
		tl.applyLate(e)
		return
	}
	switch e.Kind {
	case format.KindSwitch:
		tl.switched(e)
	case format.KindWaking:
		tl.waking(e, e.Time)
	default:
		tl.applyRare(e)
	}
}

func (tl *Timeline) applyRare(e *format.Event) {
	switch e.Kind {
	case format.KindLost:
		if LosesState(e) {
			tl.Lost(e.CPU, int64(e.Args[format.LostFrom]), e.Time)
		}
	case format.KindWakeupNew:
		tl.wakeupNew(e, tl.subject(e))
	case format.KindFork:
		tl.subject(e)
		tl.object(e, e.Args[format.ForkChild])
	case format.KindExec:
		tl.exec(e)
	case format.KindRename, format.KindExit, format.KindSample:
		tl.subject(e)
	case format.KindFree:
		if t := tl.refer(e.Task); t != nil {
			if tl.spans != nil {
				tl.spans.ends(t, e.Time)
			}
			tl.end(t)
		}
	case format.KindStateCPU:
		tl.stateCPU(e)
	case format.KindStateThread:
		tl.stateThread(e)
	case format.KindCPULeft:
		tl.left(e)
	default: // typed events and plain kinds
		if e.Task != 0 {
			tl.subject(e)
		}
	}
}

// subject returns the event's own thread; nil if it is hidden.
func (tl *Timeline) subject(e *format.Event) *Thread {
	if e.Flags&format.FlagSubject == 0 {
		return nil
	}
	return tl.refer(e.Task)
}

// object returns the thread on the event's other side; nil if it is hidden.
func (tl *Timeline) object(e *format.Event, id uint64) *Thread {
	if e.Flags&format.FlagObject == 0 {
		return nil
	}
	return tl.refer(format.TaskID(id))
}

// hide makes the state of a thread that a filter hides from here on unknown.
func (tl *Timeline) hide(id format.TaskID, at int64) {
	if t := tl.Thread(id); t != nil && t.slot >= 0 && t.slot < tl.knownLive {
		tl.lose(t, at)
	}
}

// lose makes the state of a thread unknown and, if it was running, what runs on its CPU.
func (tl *Timeline) lose(t *Thread, at int64) {
	tl.vacate(t)
	tl.unknown(t, at)
}

func (tl *Timeline) switched(e *format.Event) {
	prev, next := tl.subject(e), tl.object(e, e.Args[format.SwitchNext])
	c := tl.cpu(e.CPU)
	if c == nil {
		return
	}
	if tl.spans != nil {
		tl.spans.switched(c, prev, next, e)
	}
	if was := c.Running; was != nil && was != prev {
		c.Running = nil
		tl.unknown(was, e.Time)
	}
	if prev == nil {
		tl.hide(e.Task, e.Time)
	} else if !prev.idle {
		tl.leave(prev, e)
	}
	tl.run(c, next, e.CPU, e.Time, int32(e.Args[format.SwitchNextPrio]), BeginAt(e.Time))
	if next == nil {
		tl.hide(format.TaskID(e.Args[format.SwitchNext]), e.Time)
	}
}

// leave takes a thread off its CPU.
func (tl *Timeline) leave(t *Thread, e *format.Event) {
	state := format.State(e.Args[format.SwitchPrevState])
	tl.vacate(t)
	if Ends(state) {
		tl.end(t)
		return
	}
	if tl.coverage.SomeCPUs {
		tl.unknown(t, e.Time)
		return
	}
	tl.known(t)
	t.Leave(e.CPU, e.Time, state, int32(e.Args[format.SwitchPrevPrio]))
}

// run puts a thread on a CPU; nil: the thread is not known.
func (tl *Timeline) run(c *cpu, t *Thread, n uint32, at int64, prio int32, since Begin) {
	switch {
	case t == nil:
	case t.idle:
		t.Status, t.Prio = Running, prio
	default:
		tl.vacate(t)
		tl.known(t)
		t.Arrive(n, at, prio, since)
	}
	c.SetRunning(t, at, prio, since)
}

func (tl *Timeline) waking(e *format.Event, at int64) {
	waker := tl.subject(e)
	t := tl.object(e, e.Args[format.WakingWakee])
	if tl.spans != nil && t != nil {
		stack, _ := e.Waking().Stack()
		tl.spans.woken(t, waker, e, at, stack)
	}
	if t != nil && t.TakesWaking(at) {
		t.Waking = Waking[format.TaskID]{at, e.Task, e.CPU, e.Flags&format.WakingInIRQ != 0}
	}
}

func (tl *Timeline) wakeupNew(e *format.Event, waker *Thread) {
	t := tl.object(e, e.Args[format.WakeupNewWakee])
	if t == nil || t.idle || t.Status != Unknown || tl.coverage != (Coverage{}) {
		return
	}
	if tl.spans != nil {
		tl.spans.wokenNew(t, waker, e)
	}
	tl.known(t)
	t.WakeNew(uint32(e.Args[format.WakeupNewTargetCPU]), int32(e.Args[format.WakeupNewPrio]), Waking[format.TaskID]{e.Time, e.Task, e.CPU, false})
}

// exec handles an exec by a thread other than the leader. The leader has ended, and the thread has its tid and start time from
// then on.
func (tl *Timeline) exec(e *format.Event) {
	caller := tl.Caller(e)
	t := tl.subject(e)
	if caller == nil || t == nil || caller == t || t.idle {
		return
	}
	if tl.spans != nil {
		tl.spans.execs(caller, t, e)
	}
	if caller.Status == Running {
		was := caller.ThreadState
		tl.end(caller)
		tl.vacate(t)
		tl.known(t)
		t.ThreadState, t.ChangedAt = was, e.Time
		tl.cpus[was.CPU].Running = t
		return
	}
	tl.end(caller)
}

// Caller returns the thread that called exec, if its tid changed with the exec; else nil.
func (tl *Timeline) Caller(e *format.Event) *Thread {
	if e.Kind != format.KindExec || e.Flags&format.ExecHasOldTID == 0 {
		return nil
	}
	tid := int32(e.Args[format.ExecOldTID])
	if t := tl.Running(e.CPU); t != nil && t.TID == tid && !t.idle {
		return t
	}
	if t := tl.byTID[tid]; t != nil && !t.idle {
		return t
	}
	return nil
}

// stateCPU sets the thread that runs on a CPU, whatever was known before.
func (tl *Timeline) stateCPU(e *format.Event) {
	t := tl.subject(e)
	c := tl.cpu(e.CPU)
	if c == nil {
		return
	}
	if tl.spans != nil {
		tl.spans.stateCPU(c, t, e)
	}
	if was := c.Running; was != nil && was != t {
		c.Running = nil
		tl.unknown(was, e.Time)
	}
	tl.run(c, t, e.CPU, e.Time, int32(e.Args[format.StateCPUPrio]), stateBegin(e, e.Args[format.StateCPUSince]))
}

// stateThread sets the state of an off-CPU thread, whatever was known before.
func (tl *Timeline) stateThread(e *format.Event) {
	t := tl.subject(e)
	if t == nil || t.idle {
		return
	}
	if tl.spans != nil {
		tl.spans.stateThread(t, e)
	}
	tl.vacate(t)
	state := format.State(e.Args[format.StateThreadState])
	if Ends(state) {
		tl.end(t)
		return
	}
	if tl.coverage.SomeCPUs {
		tl.unknown(t, e.Time)
		return
	}
	tl.known(t)
	t.ThreadState = threadState{
		Status: Off, CPU: e.CPU, State: state, Prio: int32(e.Args[format.StateThreadPrio]), New: e.Flags&format.StateNew != 0,
		Begin: stateBegin(e, e.Args[format.StateThreadSince]), ChangedAt: e.Time,
	}
	if e.Flags&format.StateHasWaking != 0 {
		t.Waking = Waking[format.TaskID]{
			Woken: int64(e.Args[format.StateThreadWoken]), Waker: format.TaskID(e.Args[format.StateThreadWaker]),
			WakerCPU: uint32(e.Args[format.StateThreadWakerCPU]), WokenIRQ: e.Flags&format.StateWokenIRQ != 0,
		}
	}
}

// stateBegin returns when the state that an event reports began.
func stateBegin(e *format.Event, since uint64) Begin {
	return Begin{Since: int64(since), SinceKnown: e.Flags&format.StateHasSince != 0, Approx: e.Flags&format.StateApprox != 0}
}

// left applies a cpu_left event: a filter hides the thread from here on.
func (tl *Timeline) left(e *format.Event) {
	if t := tl.Thread(e.Task); t != nil && !t.idle {
		if tl.spans != nil {
			tl.spans.becomesUnknown(t, e.Time)
		}
		tl.lose(t, e.Time)
		return
	}
	if c := tl.cpu(e.CPU); c != nil {
		if tl.spans != nil {
			tl.spans.idleEnds(e.CPU, e.Time, 0, false)
		}
		c.Running = nil
	}
}
