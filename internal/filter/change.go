package filter

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// change decides again whether a thread is kept, because the event e refers to it by another definition than before: it was
// renamed, called exec, or its process was renamed. What was written about it so far may then be wrong or missing:
//
//   - a thread that is no longer kept leaves its CPU, or the list of those that sleep;
//   - the state of one that is kept from now on is written;
//   - if the definition changes and the event that shows it is dropped, a state shows it instead.
//
// Each of these comes before the event, at its time. Because of them the order of filters does not matter: a filter after
// another one derives the same from its output.
func (f *Filter) change(t *timeline.Thread, id format.TaskID, e *format.Event, pass bool) error {
	was := t
	if caller := f.tl.Caller(e); caller != nil {
		was = caller
	}
	had, wants := was.Mark == kept, f.wants(id, e)
	t.Mark = leftOut
	if wants {
		t.Mark = kept
	}
	switch {
	case was.Idle(), was.Status != timeline.Running && was.Status != timeline.Off:
		return nil
	case had && !wants:
		return f.retract(was, e.Time)
	case wants && !had && !(pass && isState(e)), wants && had && !pass && was.Task != 0:
		return f.writeThread(was, id, e.Time)
	}
	return nil
}

func isState(e *format.Event) bool {
	return e.Kind == format.KindStateCPU || e.Kind == format.KindStateThread
}

// wants reports whether the thread of a definition is wanted.
func (f *Filter) wants(id format.TaskID, e *format.Event) bool {
	d := f.r.Task(id)
	if d == nil {
		return f.unknownAll
	}
	if f.kin == nil {
		return f.o.Threads.wants(d, false)
	}
	f.kin.read(f.r, id)
	if e.Kind == format.KindFork {
		f.kin.fork(f.r.Task(e.Task), f.r.Task(e.Fork().Child()))
	}
	return f.o.Threads.wants(d, f.kin.has(d))
}

// retract writes that a thread is not shown from here on. Without a CPU it is for a thread that is off-CPU.
func (f *Filter) retract(t *timeline.Thread, at int64) error {
	if t.Task == 0 {
		return nil
	}
	cpu := format.AllCPUs
	if t.Status == timeline.Running {
		cpu = t.CPU
	}
	return f.leave(t.Task, cpu, at)
}

// writeThread writes the state of a thread, by its new definition.
func (f *Filter) writeThread(t *timeline.Thread, id format.TaskID, at int64) error {
	var e format.Event
	if !f.tl.StateOf(t, id, at, &e) || !f.passes(&e) {
		return nil
	}
	return f.write(&e)
}
