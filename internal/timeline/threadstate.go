package timeline

import "wprof/format"

// Status is whether a thread is on a CPU, as far as known.
type Status uint8

const (
	Unknown Status = iota // it has not been seen yet, or events were lost, or a filter hides it
	Running               // on ThreadState.CPU
	Off                   // blocked or runnable
	Dead                  // it has left a CPU for the last time, or its tid belongs to another thread
)

// ThreadState is the scheduler's state of one thread. The recorder derives it from its records by the same rules as a
// [Timeline] from events. W is the type of references to wakers.
type ThreadState[W any] struct {
	Status  Status
	New     bool // it has never run
	noState bool // it is off the CPU, and State is not known
	CPU     uint32
	// State is the state in which it left its CPU. It is runnable if that is R or R+, or if Woken is set.
	State format.State
	Prio  int32
	Begin // of Status
	Waking[W]
	ChangedAt int64 // time of the event that set it
}

// Begin is when a state began.
type Begin struct {
	Since      int64
	SinceKnown bool
	Approx     bool // Since is an estimate
}

// Waking is the first waking in an off-CPU interval.
type Waking[W any] struct {
	Woken    int64 // 0: there was none
	Waker    W
	WakerCPU uint32
	WokenIRQ bool // an interrupt woke it; Waker is the interrupted thread
}

// CPUState is the thread that runs on a CPU, if known, and since when.
type CPUState[T any] struct {
	Running *T
	Prio    int32
	Seen    bool // an event, or a thread listed at the start, was on this CPU
	Begin
	ChangedAt int64 // time of the event that set the running thread
}

// Ends reports whether a thread that leaves its CPU in a state does not run again.
func Ends(state format.State) bool { return state&(format.StateDead|format.StateZombie) != 0 }

// BeginAt returns the Begin of a state that began with an event at this time.
func BeginAt(at int64) Begin { return Begin{Since: at, SinceKnown: true} }

// SetUnknown makes the state unknown from a time on.
func (s *ThreadState[W]) SetUnknown(from int64) {
	s.Status, s.State, s.New, s.noState = Unknown, 0, false, false
	s.Begin, s.Waking = Begin{Since: from}, Waking[W]{}
}

// Leave takes the thread off a CPU.
func (s *ThreadState[W]) Leave(cpu uint32, at int64, state format.State, prio int32) {
	s.Status, s.CPU, s.State, s.Prio, s.New = Off, cpu, state, prio, false
	if Ends(state) {
		s.Status = Dead
	}
	s.Begin, s.ChangedAt, s.Waking = BeginAt(at), at, Waking[W]{}
}

// Arrive puts the thread on a CPU, as an event at a time reports.
func (s *ThreadState[W]) Arrive(cpu uint32, at int64, prio int32, since Begin) {
	s.Status, s.CPU, s.State, s.Prio, s.New = Running, cpu, format.StateRunnable, prio, false
	s.Begin, s.ChangedAt, s.Waking = since, at, Waking[W]{}
}

// TakesWaking reports whether a waking ends the block: the first one does. A waking of a running thread does not, nor that
// of a new thread, which wakeup_new has made runnable.
func (s *ThreadState[W]) TakesWaking(at int64) bool {
	return s.Status == Off && s.Woken == 0 && !s.New && at >= s.Since
}

// WakeNew makes the thread runnable for the first time.
func (s *ThreadState[W]) WakeNew(cpu uint32, prio int32, w Waking[W]) {
	s.Status, s.CPU, s.State, s.Prio, s.New = Off, cpu, format.StateRunnable, prio, true
	s.Begin, s.ChangedAt, s.Waking = BeginAt(w.Woken), w.Woken, w
}

// SetEvent makes e report the state of a thread that is off the CPU.
func (s *ThreadState[W]) SetEvent(e *format.Event, task, waker format.TaskID, at int64) {
	*e = format.Event{Time: at, Kind: format.KindStateThread, Flags: format.FlagSubject | s.flags(), CPU: s.CPU, Task: task}
	v := e.StateThread()
	v.SetState(s.State)
	v.SetPrio(s.Prio)
	if s.SinceKnown {
		v.SetSince(s.Since)
	}
	if s.New {
		e.Flags |= format.StateNew
	}
	if s.Woken != 0 {
		v.SetWoken(s.Woken)
		v.SetWaker(waker)
		v.SetWakerCPU(uint64(s.WakerCPU))
		if s.WokenIRQ {
			e.Flags |= format.StateWokenIRQ
		}
	}
}

// SetRunning sets the thread that runs on the CPU, as reported by an event at a time.
func (c *CPUState[T]) SetRunning(t *T, at int64, prio int32, since Begin) {
	c.Seen, c.Running, c.ChangedAt, c.Prio, c.Begin = true, t, at, prio, since
}

// SetEvent makes e report the thread that runs on the CPU.
func (c *CPUState[T]) SetEvent(e *format.Event, cpu uint32, task format.TaskID, at int64) {
	*e = format.Event{Time: at, Kind: format.KindStateCPU, Flags: format.FlagSubject | c.flags(), CPU: cpu, Task: task}
	v := e.StateCPU()
	v.SetPrio(c.Prio)
	if c.SinceKnown {
		v.SetSince(c.Since)
	}
}

func (b *Begin) flags() format.Flags {
	if b.Approx {
		return format.StateApprox
	}
	return 0
}
