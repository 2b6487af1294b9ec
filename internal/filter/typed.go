package filter

import (
	"fmt"

	"wprof/format"
)

// readTyped reads the values of a typed event for defineTyped; false: they do not match the type, or there is none, and the event
// is dropped. If the type is lost, it removes the values and the start.
func (f *Filter) readTyped(e *format.Event) bool {
	if e.TypeID() == 0 { // no definition can be written for it
		f.impossible("a typed event has no type")
		return false
	}
	t := f.defs.EventType(e.TypeID())
	if t.IsLost() {
		e.Data = nil
		e.Typed().ClearStart()
		return true
	}
	var ok bool
	if f.values, ok = t.AppendValues(f.values[:0], e); !ok {
		f.impossible(fmt.Sprintf("a typed event does not have the values of its type, %d", t.Id))
		return false
	}
	f.cutCounts(t, e)
	return true
}

// cutCounts removes what counters have counted in a span that is cut at an end of the range, or since a switch before it: how much of it was within
// is not known.
func (f *Filter) cutCounts(t *format.EventType, e *format.Event) {
	at := t.CountersField()
	if at < 0 || len(f.values[at].Bytes) == 0 || e.Flags&format.FlagOpen == 0 && f.counting.sees(e) {
		return
	}
	f.values[at].Bytes = nil
	e.Data, _ = t.AppendTyped(nil, f.values, e.TimeBase()) // the values are those of the type
}

// defineTyped writes the type of an event, and what its values refer to.
func (f *Filter) defineTyped(e *format.Event) error {
	if err := f.defineType(e.TypeID()); err != nil {
		return err
	}
	if len(e.Data) == 0 {
		return nil
	}
	var failed error
	format.EachID(f.values, e.TimeBase(), func(t format.ValueType, id uint32) {
		if failed != nil || id == 0 {
			return
		}
		switch t {
		case format.ValueType_VALUE_TASK:
			if !f.defined.tasks.has(format.TaskID(id)) {
				failed = f.defineTask(format.TaskID(id))
			}
		case format.ValueType_VALUE_STACK:
			failed = f.defineStack(format.StackID(id))
		case format.ValueType_VALUE_TEXT:
			failed = f.defineText(id)
		}
	})
	return failed
}
