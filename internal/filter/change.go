package filter

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// change evaluates again whether a thread is kept, because the event e refers to it by another definition than before: it was
// renamed, called exec, or its process was renamed. What was written about it so far may then be wrong or missing:
//
//   - of a thread that is no longer kept, cpu_left is written;
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
	had, keeps := was.Mark == kept, f.keeps(id, e)
	t.Mark = leftOut
	if keeps {
		t.Mark = kept
	}
	switch {
	case was.Idle(), was.Status != timeline.Running && was.Status != timeline.Off:
		return nil
	case had && !keeps:
		return f.retract(was, e.Time)
	case keeps && !had && !(pass && isState(e)), keeps && had && !pass && was.Task != 0:
		return f.writeThread(was, id, e.Time)
	}
	return nil
}

func isState(e *format.Event) bool {
	return e.Kind == format.KindStateCPU || e.Kind == format.KindStateThread
}

// keeps reports whether the thread of a definition is kept.
func (f *Filter) keeps(id format.TaskID, e *format.Event) bool {
	d := f.r.Task(id)
	if d == nil {
		return f.unknownAll
	}
	if f.family == nil {
		return f.o.Threads.keeps(d, f.r, false)
	}
	f.family.read(f.r, id)
	if e.Kind == format.KindFork {
		f.family.fork(f.r.Task(e.Task), f.r.Task(e.Fork().Child()))
	}
	return f.o.Threads.keeps(d, f.r, f.family.has(d))
}

// retract writes that a thread is not shown from here on, for one that is off-CPU without a CPU.
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
