package records

import "wprof/format"

// KindOf returns the kind of the events of a type.
func KindOf(t *format.EventType) Kind {
	if _, ok := t.Sampled(); ok {
		return PMUEvent
	}
	if t.IsLost() || len(t.Probe) == 0 {
		return Typed
	}
	switch format.TypeShape(t.Shape) {
	case format.TypeShape_SHAPE_SPAN:
		return ProbeExit
	case format.TypeShape_SHAPE_INSTANT:
		if t.Entry {
			return ProbeEntry
		}
		return ProbeInstant
	}
	return Typed
}

// stackField returns the index of the field that is the stack of an event of a probe, and so none of its arguments; -1: there is none.
func stackField(t *format.EventType) int {
	if KindOf(t) == Typed {
		return -1
	}
	for i, f := range t.Fields {
		if f.Is(format.ValueType_VALUE_STACK) && !f.List {
			return i
		}
	}
	return -1
}

// ArgFields returns the fields of a type of which records have arguments, in their order.
func ArgFields(t *format.EventType) (fields []*format.TypeField) {
	stack := stackField(t)
	for i, f := range t.Fields {
		if f.IsShown() && i != stack {
			fields = append(fields, f)
		}
	}
	return fields
}

// fillProbe makes the record of an event of a user-defined probe.
func (m *Maker) fillProbe(r *Record, e *format.Event) {
	t := m.r.EventType(e.TypeID())
	args := ProbeArgs
	if r.Kind == ProbeExit {
		args = ProbeExitArgs
		m.setSpan(r, e, ProbeDuration, ProbeStart, ProbeOpen)
	}
	r.Has |= 1<<ProbeID | 1<<ProbeName | 1<<args
	r.Type, r.Labels = t, m.labelsOf(t)
	if e.Task != 0 {
		r.Tasks[0] = m.subject(e)
		r.Has |= 1 << ProbeTask
	}
	if !m.readValues(t, e) {
		r.Text = m.texts.Clean(t.Name)
		return
	}
	m.name = m.names.Append(m.name[:0], t, e, m.values)
	r.Text = m.texts.Clean(m.name)
	if stack := stackField(t); stack >= 0 && !m.values[stack].IsUnknown() {
		m.stack(r, ProbeStack, 0, format.StackID(m.values[stack].ID()))
	}
	m.fillArgs(r, e)
}
