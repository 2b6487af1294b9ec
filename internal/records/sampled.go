package records

import "wprof/format"

// fillSampled makes the record of a sample of a performance counter.
func (m *Maker) fillSampled(r *Record, e *format.Event) {
	t := m.r.EventType(e.TypeID())
	r.Has |= 1<<PMUTask | 1<<PMUName
	r.Tasks[0], r.Text = m.subject(e), m.texts.Clean(t.Name)
	if !m.readValues(t, e) {
		return
	}
	if period, ok := t.Sampled(); ok && !m.values[period].IsUnknown() {
		r.Values[0] = int64(min(m.values[period].Number, maxInt))
		r.Has |= 1 << PMUPeriod
	}
	if stack := stackField(t); stack >= 0 && !m.values[stack].IsUnknown() {
		m.stack(r, PMUStack, 1, format.StackID(m.values[stack].ID()))
	}
	m.setTypedCounts(r, PMUCounters, t)
}

const maxInt = 1<<63 - 1
