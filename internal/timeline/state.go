package timeline

import "wprof/format"

// WriteState emits the state as events at one time: the thread that runs on each CPU if known, then every live thread
// that is off the CPU, by tid and start. open marks them as the state at the close of a window.
func (tl *Timeline) WriteState(at int64, open bool, emit func(*format.Event) error) error {
	var e format.Event
	for i := range tl.cpus {
		t := tl.cpus[i].Running
		if t == nil || t.Task == 0 {
			continue
		}
		tl.cpus[i].SetEvent(&e, uint32(i), t.Task, at)
		markOpen(&e, open)
		if err := emit(&e); err != nil {
			return err
		}
	}
	tl.sorted = sortThreads(append(tl.sorted[:0], tl.live[:tl.knownLive]...))
	for _, t := range tl.sorted {
		if t.Status != Off || t.Task == 0 {
			continue
		}
		t.SetEvent(&e, t.Task, t.Waker, at)
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

// StateOf sets e to the state of one thread, with the given id. It returns false if nothing is known.
func (tl *Timeline) StateOf(t *Thread, id format.TaskID, at int64, e *format.Event) bool {
	switch {
	case t.idle:
		return false
	case t.Status == Running:
		tl.cpus[t.CPU].SetEvent(e, t.CPU, id, at)
	case t.Status == Off:
		t.SetEvent(e, id, t.Waker, at)
	default:
		return false
	}
	return true
}
