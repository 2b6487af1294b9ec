package filter

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// Marks of threads that are kept and left out under their current definition; 0: not evaluated yet.
const (
	kept = iota + 1
	leftOut
)

// filter hides the sides of an event whose threads are not kept and writes the rest. A thread is looked up once for each
// side; whether it is kept is only evaluated when its definition changes.
//
// Measured: see BenchmarkFilter.
func (f *Filter) filter(e *format.Event) error {
	if e.Kind == format.KindLost {
		f.tl.Apply(e)
		return f.write(e)
	}
	pass := f.passes(e)
	var keep format.Flags
	var subject, object *timeline.Thread
	if e.Flags&format.FlagSubject != 0 {
		var keeps bool
		var err error
		if subject, keeps, err = f.side(e.Task, e, pass); err != nil {
			return err
		}
		if keeps {
			keep = format.FlagSubject
		}
	}
	if at := f.idFields[e.Kind].object; at >= 0 && e.Flags&format.FlagObject != 0 {
		var keeps bool
		var err error
		if object, keeps, err = f.side(format.TaskID(e.Args[at]), e, pass); err != nil {
			return err
		}
		if keeps {
			keep |= format.FlagObject
		}
	}
	if keep == 0 {
		pass = false
	}
	if !pass && (e.Kind == format.KindSwitch || e.Kind == format.KindStateCPU) {
		if err := f.displaced(e, subject, object); err != nil {
			return err
		}
	}
	if !pass && f.o.CPUs != nil && (e.Kind == format.KindSwitch || isState(e)) {
		return f.applyHidden(e, subject, object)
	}
	f.tl.Apply(e)
	if !pass {
		if e.Kind == format.KindFree {
			f.usage.Ended(e.Task)
		}
		return nil
	}
	e.Flags = e.Flags&^format.FlagsVisible | keep
	hideStack(e)
	return f.write(e)
}

// idFields has the indexes of a kind's fields for its other side, another task, a stack and a wait; -1: none. With the methods of
// [format.Event] instead, a filter that keeps everything took 4% longer.
type idFields struct{ object, other, stack, wait int8 }

func idFieldsOfKinds() (all [format.MaxKind + 1]idFields) {
	for _, k := range format.Kinds() {
		n := idFields{-1, -1, -1, -1}
		for i, f := range k.Fields {
			switch f.Type {
			case format.FieldTask:
				n.other = int8(i)
				if f.Side == format.SideObject {
					n.object = int8(i)
				}
			case format.FieldStack:
				n.stack = int8(i)
			case format.FieldWait:
				n.wait = int8(i)
			}
		}
		all[k.Kind] = n
	}
	return all
}

// side looks up the thread of one side of an event, and whether it is kept.
func (f *Filter) side(id format.TaskID, e *format.Event, pass bool) (*timeline.Thread, bool, error) {
	t := f.tl.Enter(id)
	if t == nil {
		return nil, f.unknownAll, nil
	}
	if t.Task != id || e.Kind == format.KindExec && f.tl.Caller(e) != nil {
		if err := f.change(t, id, e, pass); err != nil {
			return nil, false, err
		}
	}
	return t, t.Mark == kept, nil
}

// passes reports whether an event is kept by its kind and CPU.
func (f *Filter) passes(e *format.Event) bool {
	if !f.o.Kinds.Has(e.Kind) || !f.o.CPUs.Has(e.CPU) {
		return false
	}
	switch e.Kind {
	case format.KindTyped:
		return f.o.Kinds.types == nil || f.o.Kinds.types.has(f.defs, f.typesOf(), e.TypeID())
	case format.KindStateThread:
		return f.passesState(e)
	case format.KindCPULeft:
		t := f.tl.Thread(e.Task)
		return t == nil || !t.New || f.o.Kinds.Has(format.KindWakeupNew)
	}
	return true
}

// passesState removes from a thread's state what depends on dropped kinds.
func (f *Filter) passesState(e *format.Event) bool {
	if f.o.CPUs != nil {
		return false // it may be running on a CPU that is left out
	}
	if e.Flags&format.StateNew != 0 {
		return f.o.Kinds.Has(format.KindWakeupNew)
	}
	if e.Flags&format.StateHasWaking != 0 && !f.o.Kinds.Has(format.KindWaking) {
		state := e.StateThread()
		state.ClearWoken()
		state.ClearWaker()
		state.ClearWakerCPU()
		e.Flags &^= format.StateWokenIRQ
	}
	return true
}

// displaced writes that a kept thread has left its CPU when a dropped event shows that another one runs there.
func (f *Filter) displaced(e *format.Event, by, next *timeline.Thread) error {
	t := f.tl.Running(e.CPU)
	if t == nil || t == by || t.Mark != kept || t.Task == 0 {
		return nil
	}
	id := t.Task
	if t == next {
		id = e.Object() // change has written its state under this name
	}
	return f.leave(id, e.CPU, e.Time)
}

// applyHidden applies a dropped event of a CPU that is left out, or of a thread that is off. After a loss it may show that a kept
// thread does not run on the other CPU where it seemed to.
func (f *Filter) applyHidden(e *format.Event, subject, object *timeline.Thread) error {
	a, b := f.placeOf(subject, e.Task), f.placeOf(object, e.Object())
	f.tl.Apply(e)
	if err := f.leftPlace(subject, a, e); err != nil {
		return err
	}
	return f.leftPlace(object, b, e)
}

// place is the CPU on which a kept thread is shown to run, and its definition: the event's if that is new, because
// change has just written its state under it. No task: it is not shown to run.
type place struct {
	task format.TaskID
	cpu  uint32
}

func (f *Filter) placeOf(t *timeline.Thread, id format.TaskID) place {
	if t == nil || t.Mark != kept || t.Status != timeline.Running || t.Idle() {
		return place{}
	}
	return place{id, t.CPU}
}

func (f *Filter) leftPlace(t *timeline.Thread, was place, e *format.Event) error {
	if was.task == 0 || was.cpu == e.CPU || t.Status == timeline.Running && t.CPU == was.cpu {
		return nil
	}
	return f.leave(was.task, was.cpu, e.Time)
}

func (f *Filter) leave(task format.TaskID, cpu uint32, at int64) error {
	left := format.Event{Time: at, Kind: format.KindCPULeft, Flags: format.FlagSubject, CPU: cpu, Task: task}
	if !f.passes(&left) {
		return nil
	}
	return f.write(&left)
}
