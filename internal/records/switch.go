package records

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// Slots of a switch's fields in Record.Values.
const (
	slotPrevState = iota
	slotPrevPrio
	slotNextPrio
	slotWakingTime
	slotReason
	slotWakingCPU
	slotWakingContext
	slotOffCPU
	slotNextState
	slotStack
	slotClass
	slotFD
	slotFutex
	slotOwner
	slotDelay
	slotChain
	slotInterrupts
)

// preemptor is the thread that preempted another one.
type preemptor struct {
	by  *Task
	cpu uint32
	at  int64
}

func (m *Maker) fillSwitch(r *Record, e *format.Event) {
	v := e.Switch()
	prevState := v.PrevState()
	r.Tasks[0], r.Tasks[1] = m.subject(e), m.object(e, v.Next())
	r.Values[slotPrevState] = int64(m.state(prevState, v.Called()))
	r.Values[slotPrevPrio], r.Values[slotNextPrio] = int64(v.PrevPrio()), int64(v.NextPrio())
	r.Has = 1<<SwitchPrev | 1<<SwitchNext | 1<<SwitchPrevState | 1<<SwitchPrevPrio | 1<<SwitchNextPrio
	if e.Flags&format.FlagObject != 0 {
		m.fillOffCPU(r, e)
	}
	counts, _ := v.Counts()
	m.setCounts(r, SwitchPMUs, counts)
	m.fillInterrupts(r, e)
	if m.left != nil {
		m.left.fill(r)
	}
	if prevState&(format.StatePreempted|format.StateThrottled) == format.StatePreempted && e.Flags&format.FlagSubject != 0 {
		m.storePreemptor(r.Tasks[1], e)
	}
}

// state returns the index of a state. A thread that called the scheduler itself was not preempted, whatever the kernel says.
func (m *Maker) state(s format.State, called bool) uint8 {
	if called && s == format.StatePreempted {
		return stateRunnable
	}
	if s < format.State(len(m.states)) {
		return m.states[s]
	}
	return uint8(stateOf(s))
}

// storePreemptor stores the preemptor of a thread until the thread is back on a CPU.
func (m *Maker) storePreemptor(by *Task, e *format.Event) {
	t := m.tl.Thread(e.Task)
	if t == nil || t.Idle() || by == m.tasks.filtered {
		return
	}
	p, ok := t.Own.(*preemptor)
	if !ok {
		p = new(preemptor)
		t.Own = p
	}
	*p = preemptor{by, e.CPU, e.Time}
}

// fillOffCPU sets the fields on the off-CPU time that a switch ends: from the event itself, and unless the event was late, from
// the scheduler state.
func (m *Maker) fillOffCPU(r *Record, e *format.Event) {
	v := e.Switch()
	if since, has := v.Since(); has {
		nextState, _ := v.NextState()
		r.Values[slotOffCPU] = max(0, e.Time-max(since, m.opened))
		r.Values[slotNextState] = int64(m.state(nextState, v.SinceCalled()))
		r.Has |= 1<<SwitchOffCPU | 1<<SwitchNextState
	}
	if id, has := v.Stack(); has {
		m.stack(r, SwitchOffCPUStack, slotStack, id)
	}
	m.fillWait(r, v)
	t := m.tl.Thread(v.Next())
	if t != nil && t.Idle() {
		m.fillIdle(r, e)
	}
	if t == nil || t.Idle() || e.Flags&format.FlagLate != 0 {
		return
	}
	off := t.LastOffCPU()
	switch {
	case off.Preempted && off.Known:
		m.fillPreemption(r, e, t, &off)
	case off.Woken != 0:
		m.fillWakeup(r, &off)
	default:
		return
	}
	r.Values[slotDelay], r.Values[slotChain] = off.Compound, int64(off.Chain)
	r.Has |= 1<<SwitchDelay | 1<<SwitchChain
}

func (m *Maker) fillWakeup(r *Record, off *timeline.OffCPU) {
	m.setRunnable(r, off.Woken, Woken)
	if off.New {
		r.Values[slotReason] = WokenNew
		r.Values[slotNextState] = stateNew
		r.Has |= 1 << SwitchNextState
	}
	if off.Waker != 0 {
		r.Tasks[2] = m.tasks.of(off.Waker, off.WakerCPU)
		r.Has |= 1 << SwitchWaker
	}
	r.Values[slotWakingCPU] = int64(off.WakerCPU)
	r.Has |= 1 << SwitchWakingCPU
	if off.WokenIRQ {
		r.Values[slotWakingContext] = Interrupt
		r.Has |= 1 << SwitchWakingContext
	}
	if off.WokenBy != 0 {
		name, _ := m.spans.InterruptName(off.WokenBy)
		r.Text = m.texts.Clean([]byte(name))
		r.Has |= 1 << SwitchWakingInterrupt
	}
}

func (m *Maker) fillPreemption(r *Record, e *format.Event, t *timeline.Thread, off *timeline.OffCPU) {
	// A task list does not show whether a runnable thread was woken or preempted.
	if left, _ := e.Switch().NextState(); off.Since < m.opened && left&format.StatePreempted == 0 {
		return
	}
	if off.Throttled {
		m.setRunnable(r, off.Since, Throttled)
		return
	}
	m.setRunnable(r, off.Since, Preempted)
	if p, ok := t.Own.(*preemptor); ok && p.at == off.Since {
		r.Tasks[2], r.Values[slotWakingCPU] = p.by, int64(p.cpu)
		r.Has |= 1<<SwitchWaker | 1<<SwitchWakingCPU
	}
}

// setRunnable sets since when a thread was runnable, and why.
func (m *Maker) setRunnable(r *Record, at int64, reason int64) {
	if at >= m.opened {
		r.Values[slotWakingTime] = at - m.first
		r.Has |= 1 << SwitchWakingTime
	}
	r.Values[slotReason] = reason
	r.Has |= 1 << SwitchWakingReason
}
