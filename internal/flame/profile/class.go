package profile

import (
	"slices"

	"wprof/internal/waits"
)

// Class is what a thread did in a part of its time.
type Class uint8

const (
	ClassUnknown   Class = iota // events were lost, or a filter hides them
	ClassNew                    // it was being created: from its start to the wakeup that made it runnable
	ClassOnCPU                  // it ran
	ClassRunnable               // it was woken, and waited for a CPU
	ClassPreempted              // it lost its CPU without wanting to wait, and waited for a CPU
	ClassThrottled              // it could have run, but the CPU quota of its cgroup was used up
	ClassBlocked                // it waited for something else
	ClassIdle                   // it waited for work: see [waits.Places]
	ClassInterrupt              // interrupts ran on its CPU instead: see [timeline.Span].Interrupts
	ClassEvent                  // not a time of the thread but a span or instant, see [Options].Events

	classes
)

// OnCPU reports whether the thread had the CPU.
func (c Class) OnCPU() bool { return c == ClassOnCPU || c == ClassInterrupt }

// OffCPU reports whether it is known that the thread did not have a CPU.
func (c Class) OffCPU() bool { return !c.OnCPU() && c != ClassUnknown && c != ClassEvent }

// Delay reports whether the thread was runnable: scheduling delay.
func (c Class) Delay() bool { return c == ClassRunnable || c == ClassPreempted || c == ClassThrottled }

// notes are the frames that show classes, in brackets.
var notes = [classes]string{
	ClassUnknown: "[unknown]", ClassNew: "[new]", ClassRunnable: "[runnable]", ClassPreempted: "[preempted]", ClassThrottled: "[throttled]",
	ClassIdle: "[idle]",
}

// Note returns the frame that shows a class, in brackets; "" for on-CPU and blocked time, and for events.
func (c Class) Note() string { return notes[c] }

// WaitNote returns the frame that shows what a thread waited for.
func (k *CellKey) WaitNote() string { return "[" + k.Reason() + "]" }

// Notes returns the notes of all classes and states.
func Notes() []string {
	all := []string{"[" + waits.OtherState + "]"}
	for _, note := range notes {
		if note != "" {
			all = append(all, note)
		}
	}
	for _, s := range waits.StateTexts() {
		all = append(all, "["+s.Text+"]")
	}
	for _, c := range waits.Classes() {
		if note := "[" + c.Name + "]"; !slices.Contains(all, note) {
			all = append(all, note)
		}
	}
	return all
}

// Reason returns why a thread was off the CPU: its class, of blocked time what it waited for, or, where that is not known, that
// and the state in which it left; "" if it was on the CPU, and for events.
func (k *CellKey) Reason() string {
	switch {
	case k.Class.OnCPU() || k.Class == ClassEvent:
		return ""
	case k.Class != ClassBlocked:
		note := k.Class.Note()
		return note[1 : len(note)-1]
	case k.Wait.Class != waits.Unknown:
		return k.Wait.Class.String()
	}
	return waits.TextOf(k.State)
}
