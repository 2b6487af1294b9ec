package filter

import "wprof/format"

// write writes an event, after the definitions that it needs.
func (f *Filter) write(e *format.Event) error {
	if f.phase == before {
		return nil
	}
	if !f.begun {
		if err := f.beginSection(); err != nil {
			return err
		}
	}
	if f.stateNext {
		if err := f.placeState(e); err != nil {
			return err
		}
	}
	if len(f.r.Clocks()) > f.clocks {
		if err := f.defineClocks(); err != nil {
			return err
		}
	}
	if err := f.defineFor(e); err != nil {
		return err
	}
	f.usage.Apply(e)
	if e.Kind == format.KindLost {
		f.result.Lost = true
	} else {
		f.result.Kept++
	}
	return f.w.Write(e)
}

// placeState lets a block begin where what is kept of a whole state begins.
func (f *Filter) placeState(e *format.Event) error {
	f.stateNext = false
	if !isState(e) || e.Time != f.stateAt || e.Flags&format.FlagOpen != 0 {
		return nil
	}
	return f.w.BeginState()
}

// defineFor defines the threads that an event names, hidden ones too: they are named, but not followed.
func (f *Filter) defineFor(e *format.Event) error {
	if e.Task != 0 && !f.defined.has(e.Task) {
		if err := f.define(e.Task); err != nil {
			return err
		}
	}
	var id format.TaskID
	switch e.Kind {
	case format.KindSwitch, format.KindWaking, format.KindWakeupNew, format.KindFork:
		id = format.TaskID(e.Args[objectArg])
	case format.KindExec:
		id = format.TaskID(e.Args[format.ExecPrev])
	case format.KindRename:
		id = format.TaskID(e.Args[format.RenamePrev])
	case format.KindStateThread:
		id = format.TaskID(e.Args[format.StateThreadWaker])
	}
	if id == 0 || f.defined.has(id) {
		return nil
	}
	return f.define(id)
}

// define writes a definition after those that it continues.
func (f *Filter) define(id format.TaskID) error {
	if f.r.Task(id) == nil {
		// Its definition was lost to damage. What comes after this filter must not take that for damage of its own.
		f.defined.add(id)
		return f.w.DefineTask(format.LostTask(id))
	}
	var chain []*format.Task
	for d := f.r.Task(id); d != nil && !f.defined.has(format.TaskID(d.Id)); d = f.r.Task(format.TaskID(d.Continues)) {
		f.defined.add(format.TaskID(d.Id))
		chain = append(chain, d)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if err := f.w.DefineTask(chain[i]); err != nil {
			return err
		}
	}
	return nil
}

// defineClocks passes on the clock snapshots that came with definitions.
func (f *Filter) defineClocks() error {
	clocks := f.r.Clocks()
	if len(clocks) <= f.clocks {
		return nil
	}
	more := &format.Definitions{Clocks: clocks[f.clocks:]}
	f.clocks = len(clocks)
	return f.w.Define(more)
}
