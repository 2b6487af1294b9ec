package flame

import "wprof/format"

// Class is what a thread did in a part of its time.
type Class uint8

const (
	ClassUnknown   Class = iota // events were lost, or a filter hides them
	ClassNew                    // it was being made: from its start to the wakeup that lets it run
	ClassOnCPU                  // it ran
	ClassRunnable               // it was woken, and waited for a CPU
	ClassPreempted              // it could have run on, and waited for a CPU
	ClassBlocked                // it waited for something else
	ClassIdle                   // it waited for work: see idleShare

	classes
)

// OnCPU tells whether the thread ran.
func (c Class) OnCPU() bool { return c == ClassOnCPU }

// OffCPU tells whether it is known that the thread did not run.
func (c Class) OffCPU() bool { return c != ClassOnCPU && c != ClassUnknown }

// Delay tells whether the thread could run and did not: scheduling delay.
func (c Class) Delay() bool { return c == ClassRunnable || c == ClassPreempted }

// classNames stand in brackets as frames that are no functions.
var classNames = [classes]string{
	ClassUnknown: "[unknown]", ClassNew: "[new]", ClassOnCPU: "", ClassRunnable: "[runnable]", ClassPreempted: "[preempted]",
	ClassBlocked: "", ClassIdle: "[idle]",
}

// Reason says why a thread was off the CPU, in words, by the class and the state in which it left; "" of one that was on it.
// D is what ps(1) and vmstat(8) take for waits for disks: most of its sleeps are.
func Reason(c Class, s format.State) string {
	switch c {
	case ClassOnCPU:
		return ""
	case ClassBlocked:
	default:
		name := classNames[c]
		return name[1 : len(name)-1]
	}
	for _, r := range reasons() {
		if s&r.bits != 0 {
			return r.text
		}
	}
	return "blocked"
}

type reason struct {
	bits format.State
	text string
}

// reasons are in the order in which they count when a state has several bits.
func reasons() []reason {
	return []reason{
		{format.StateZombie | format.StateDead, "dead"},
		{format.StateTraced, "traced"},
		{format.StateStopped, "stopped"},
		{format.StateFrozen, "frozen"},
		{format.StateParked, "parked"},
		{format.StateIdle, "idle kernel thread"},
		{format.StateRTLock, "rt lock"},
		{format.StateUninterruptible | format.StateKillable, "disk wait"},
		{format.StateInterruptible, "sleep"},
	}
}
