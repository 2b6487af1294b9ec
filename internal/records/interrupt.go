package records

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// interruptTime is how long interrupts have run on a CPU in the running interval of its thread.
type interruptTime struct {
	of *timeline.Thread
	ns int64
}

// ran is called with every span.
func (m *Maker) ran(s *timeline.Span) {
	ns := s.InterruptTime()
	if ns == 0 {
		return
	}
	for len(m.interrupts) <= int(s.CPU) {
		m.interrupts = append(m.interrupts, interruptTime{})
	}
	of := &m.interrupts[s.CPU]
	if of.of != s.Thread {
		*of = interruptTime{of: s.Thread}
	}
	of.ns += ns
}

// fillInterrupts sets how long interrupts ran in the running interval that a switch ends.
func (m *Maker) fillInterrupts(r *Record, e *format.Event) {
	if int64(e.CPU) >= int64(len(m.interrupts)) {
		return
	}
	of := &m.interrupts[e.CPU]
	if of.ns > 0 && e.Flags&format.FlagSubject != 0 && e.Flags&format.FlagLate == 0 && of.of == m.tl.Thread(e.Task) {
		r.Values[slotInterrupts] = of.ns
		r.Has |= 1 << SwitchInterrupts
	}
	*of = interruptTime{}
}
