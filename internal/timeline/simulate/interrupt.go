package simulate

import "wprof/format"

// interruptTypes are the definitions of interrupts.
func interruptTypes() []*format.EventType {
	span := uint32(format.TypeShape_SHAPE_SPAN)
	return []*format.EventType{
		{Id: 1, Name: []byte("hardirq"), Shape: span, On: uint32(format.TypeTrack_TRACK_CPU), Interrupts: uint32(format.TypeInterrupts_INTERRUPTS_HARD)},
		{
			Id: 2, Name: []byte("softirq"), Shape: span, On: uint32(format.TypeTrack_TRACK_CPU), Interrupts: uint32(format.TypeInterrupts_INTERRUPTS_SOFT),
			Fields: []*format.TypeField{
				{Name: []byte("vector"), Type: uint32(format.ValueType_VALUE_ENUM), Hint: uint32(format.ValueHint_HINT_NAME)},
				{Name: []byte("own"), Type: uint32(format.ValueType_VALUE_BOOL), Hint: uint32(format.ValueHint_HINT_OWN)},
			},
		},
	}
}

// interrupt interrupts a CPU, and up to this many times the interrupt.
func (m *Machine) interrupt(cpu, inside int) {
	e := m.event(format.KindTyped, cpu, m.CPUs[cpu].Running)
	v := e.Typed()
	v.SetStart(m.Now)
	v.SetType(1)
	if inside > 0 {
		v.SetType(2)
		v.SetValues([]byte{byte(m.rng.IntN(6)), byte(m.rng.IntN(5) / 4)})
	}
	m.Now += int64(m.rng.IntN(20))
	if inside > 0 && m.rng.IntN(2) == 0 {
		m.interrupt(cpu, inside-1)
		m.Now += int64(m.rng.IntN(20))
	}
	e.Time = m.Now
	m.emit(e)
}
