package assemble

import (
	"wprof/format"
	"wprof/internal/sources"
)

// Mark is a trigger of a flight recorder's snapshot, as an event of the timeline. The recorder makes it, no kernel program does.
type Mark struct {
	At        int64 // CLOCK_MONOTONIC ns
	Condition string
	Reason    string // the condition, and what met it
	CPU       uint32
	TID       uint32 // 0: it is about no thread
}

// writeMarks writes the marks up to a time that are in the window.
func (f *finaliser) writeMarks(until int64) error {
	for len(f.marks) > 0 && f.marks[0].At <= until {
		m := &f.marks[0]
		f.marks = f.marks[1:]
		if !f.opened || m.At < f.open {
			continue
		}
		if m.At >= f.out.due {
			if err := f.reach(m.At); err != nil {
				return err
			}
		}
		if err := f.apply.writeMark(m); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) writeMark(m *Mark) error {
	types := &a.out.types
	if types.mark.def == nil {
		types.mark.def = sources.Snapshot()
		types.mark.def.Id = markTypeID
	}
	if types.mark.section != a.out.section {
		types.mark.section = a.out.section
		_ = a.out.w.DefineType(types.mark.def) // an error stays with the Writer
		a.out.defined()
	}
	e := &a.rare
	*e = format.Event{Kind: format.KindTyped, Flags: format.FlagSubject, CPU: m.CPU, Time: m.At}
	v := e.Typed()
	v.SetType(markTypeID)
	thread := format.TaskID(0)
	if m.TID != 0 {
		thread = a.out.name(a.thread(m.TID))
	}
	types.values = append(types.values[:0],
		format.Value{Number: a.out.calls.text(a.out, m.Condition)},
		format.Value{Bytes: []byte(m.Reason)},
		format.Value{Number: uint64(thread)})
	var err error
	if types.data, err = types.mark.def.AppendTyped(types.data[:0], types.values, e.TimeBase()); err != nil {
		return err
	}
	v.SetValues(types.data)
	return a.out.write(e, m.At)
}
