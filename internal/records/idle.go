package records

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// idleTimes has since when each CPU has not been idle; 0: it is idle, or that is not known. All CPUs share the idle thread, so that its
// times off the CPU are not those of a thread.
type idleTimes []int64

// maxIdleCPUs bounds the CPUs that a damaged stream can name.
const maxIdleCPUs = 1 << 16

func (i *idleTimes) set(cpu uint32, at int64) {
	if cpu >= maxIdleCPUs {
		return
	}
	for len(*i) <= int(cpu) {
		*i = append(*i, 0)
	}
	(*i)[cpu] = at
}

// since returns when idle left a CPU; 0: not known.
func (i idleTimes) since(cpu uint32) int64 {
	if uint64(cpu) < uint64(len(i)) {
		return i[cpu]
	}
	return 0
}

// noteIdle notes who runs on a CPU after an event.
func (m *Maker) noteIdle(e *format.Event) {
	switch e.Kind {
	case format.KindSwitch:
		at := int64(0)
		if e.Flags&format.FlagLate == 0 && e.Flags&format.FlagSubject != 0 && m.isIdle(e.Task) {
			at = e.Time
		} else if e.Flags&format.FlagLate == 0 && !(e.Flags&format.FlagObject != 0 && m.isIdle(e.Switch().Next())) {
			return // from one thread to another
		}
		m.idle.set(e.CPU, at)
	case format.KindStateCPU:
		if e.Time == m.opened && e.Flags&(format.FlagSubject|format.FlagOpen) == format.FlagSubject && !m.isIdle(e.Task) {
			m.idle.set(e.CPU, e.Time)
		}
	case format.KindLost:
		if !timeline.LosesState(e) {
			return
		}
		if e.CPU == format.AllCPUs {
			m.idle = m.idle[:0]
		} else {
			m.idle.set(e.CPU, 0)
		}
	}
}

func (m *Maker) isIdle(id format.TaskID) bool { return m.r.Task(id).IsIdle() }

// fillIdle sets the time that a CPU was not idle, of a switch to idle.
func (m *Maker) fillIdle(r *Record, e *format.Event) {
	if since := m.idle.since(e.CPU); since != 0 && e.Flags&format.FlagLate == 0 {
		r.Values[slotOffCPU] = e.Time - since
		r.Has |= 1 << SwitchOffCPU
	}
}
