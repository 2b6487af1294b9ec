package timeline

import "wprof/format"

// WriteState tells the state as events at one time: who runs on each CPU where that is known, then every live thread
// that is off the CPU, by tid and start. open marks them as what is still open at the end of a window.
func (tl *Timeline) WriteState(at int64, open bool, emit func(*format.Event) error) error {
	var e format.Event
	for i := range tl.cpus {
		t := tl.cpus[i].running
		if t == nil || t.Task == 0 {
			continue
		}
		tl.stateOfCPU(&e, uint32(i), t.Task, at)
		markOpen(&e, open)
		if err := emit(&e); err != nil {
			return err
		}
	}
	tl.sorted = sortThreads(append(tl.sorted[:0], tl.live[:tl.sure]...))
	for _, t := range tl.sorted {
		if t.Status != Off || t.Task == 0 {
			continue
		}
		t.offState(&e, t.Task, at)
		markOpen(&e, open)
		if err := emit(&e); err != nil {
			return err
		}
	}
	return nil
}

func markOpen(e *format.Event, open bool) {
	if open {
		e.Flags |= format.FlagOpen
	}
}

// StateOf tells the state of one thread as an event that names it by the given id. It returns false when nothing is
// known.
func (tl *Timeline) StateOf(t *Thread, id format.TaskID, at int64, e *format.Event) bool {
	switch {
	case t.idle:
		return false
	case t.Status == Running:
		tl.stateOfCPU(e, t.CPU, id, at)
	case t.Status == Off:
		t.offState(e, id, at)
	default:
		return false
	}
	return true
}

func (tl *Timeline) stateOfCPU(e *format.Event, n uint32, id format.TaskID, at int64) {
	c := &tl.cpus[n]
	*e = format.Event{Time: at, Kind: format.KindStateCPU, Flags: format.FlagSubject, CPU: n, Task: id}
	v := e.StateCPU()
	v.SetPrio(c.prio)
	if c.sinceKnown {
		v.SetSince(c.since)
	}
	if c.approx {
		e.Flags |= format.StateApprox
	}
}

func (t *Thread) offState(e *format.Event, id format.TaskID, at int64) {
	*e = format.Event{Time: at, Kind: format.KindStateThread, Flags: format.FlagSubject, CPU: t.CPU, Task: id}
	v := e.StateThread()
	v.SetState(t.State)
	v.SetPrio(t.Prio)
	if t.SinceKnown {
		v.SetSince(t.Since)
	}
	if t.Approx {
		e.Flags |= format.StateApprox
	}
	if t.New {
		e.Flags |= format.StateNew
	}
	if t.Woken != 0 {
		v.SetWoken(t.Woken)
		v.SetWaker(t.Waker)
		v.SetWakerCPU(uint64(t.WakerCPU))
		if t.WokenIRQ {
			e.Flags |= format.StateWokenIRQ
		}
	}
}
