package records

import (
	"slices"

	"wprof/format"
)

// Reasons for which a thread can run, as indices of [ReasonNames].
const (
	Woken = iota
	WokenNew
	Preempted
	Throttled
)

// ReasonNames are the words of waking_reason.
func ReasonNames() []string { return []string{"woken", "woken_new", "preempted", "throttled"} }

// Interrupt is the index of the only word of [ContextNames].
const Interrupt = 0

// ContextNames are the words of waking_context.
func ContextNames() []string { return []string{"interrupt"} }

// States of threads, as indices of [StateNames].
const (
	stateRunnable = iota
	statePreempted
	stateInterruptible
	stateUninterruptible
	stateKillable
	stateStopped
	stateTraced
	stateExitDead
	stateExitZombie
	stateExitTrace
	stateParked
	stateTaskDead
	stateRTLock
	stateFreezable
	stateFrozen
	stateIdle
	stateWaking
	stateNew
	stateThrottled
	stateUnknown
)

// StateNames are the words of prev_state and next_state.
func StateNames() []string {
	return []string{
		"runnable", "preempted", "interruptible_sleep", "uninterruptible_sleep", "killable_sleep", "stopped", "traced",
		"exit_dead", "exit_zombie", "exit_trace", "parked", "task_dead", "rtlock_wait", "freezable", "frozen", "idle",
		"waking", "new", "throttled", "unknown",
	}
}

// stateOf returns the index of a state. Of several bits, the one counts that determines how the wait ends, as in
// [format.State.String].
func stateOf(s format.State) int {
	has := func(bits format.State) bool { return s&bits == bits }
	switch {
	case has(format.StateZombie | format.StateDead): // the kernel's EXIT_TRACE
		return stateExitTrace
	case has(format.StateZombie):
		return stateExitZombie
	case has(format.StateDead):
		return stateExitDead
	case has(format.StateTraced):
		return stateTraced
	case has(format.StateStopped):
		return stateStopped
	case has(format.StateIdle):
		return stateIdle
	case has(format.StateParked):
		return stateParked
	case has(format.StateFrozen):
		return stateFrozen
	case has(format.StateRTLock):
		return stateRTLock
	case has(format.StateUninterruptible | format.StateKillable):
		return stateKillable
	case has(format.StateUninterruptible):
		return stateUninterruptible
	case has(format.StateInterruptible):
		return stateInterruptible
	case has(format.StateThrottled):
		return stateThrottled
	case has(format.StatePreempted):
		return statePreempted
	case s == format.StateRunnable:
		return stateRunnable
	}
	return stateUnknown
}

// states maps every combination of bits that a stream can have.
func states() (all [1 << 14]uint8) {
	for s := range all {
		all[s] = uint8(stateOf(format.State(s)))
	}
	return all
}

// causeNames returns the causes of loss by number, with a word for unknown ones.
func causeNames() []string {
	causes := format.Causes()
	all := make([]string, len(causes)+1)
	all[0] = "unknown"
	for _, c := range causes {
		all[c.Cause] = c.Name
	}
	return all
}

// eventNames returns the kinds of events by number.
func eventNames() []string {
	all := []string{"unknown"}
	for _, k := range format.Kinds() {
		for len(all) <= int(k.Kind) {
			all = append(all, "")
		}
		all[k.Kind] = k.Name
	}
	return slices.Clip(all)
}

// StateDoc describes a state.
type StateDoc struct {
	Letter string // as ps(1) writes it
	Doc    string
}

// StateDocs are parallel to [StateNames].
func StateDocs() []StateDoc {
	return []StateDoc{
		stateRunnable:        {"R", "runnable, and called the scheduler itself: on its way back to user mode when its time slice was up, by sched_yield, or because it was woken while it went to sleep; also the idle thread, and in next_state threads that were runnable when the window opened"},
		statePreempted:       {"R+", "runnable, and preempted by the kernel; in recordings before format 1.4 also: called the scheduler itself"},
		stateInterruptible:   {"S", "waits for an event, and signals wake it"},
		stateUninterruptible: {"D", "waits for an event, often a disk (then `wait_class` says so), and signals do not wake it"},
		stateKillable:        {"DK", "the same, but fatal signals wake it"},
		stateStopped:         {"T", "stopped by a signal"},
		stateTraced:          {"t", "stopped by a debugger"},
		stateExitDead:        {"X", "has ended"},
		stateExitZombie:      {"Z", "has ended, and its parent has not read its exit status yet"},
		stateExitTrace:       {"XZ", "has ended, and its debugger has not been notified yet"},
		stateParked:          {"P", "a kernel thread of a CPU that is not in use"},
		stateTaskDead:        {"", "the kernel's TASK_DEAD; recorded as exit_dead"},
		stateRTLock:          {"L", "waits for a lock of a real-time kernel"},
		stateFreezable:       {"", "waits, and may be frozen; recorded as the kind of wait"},
		stateFrozen:          {"F", "frozen, as by a cgroup"},
		stateIdle:            {"I", "an idle kernel thread"},
		stateWaking:          {"", "is being woken; recorded as the state before"},
		stateNew:             {"", "has never run before"},
		stateThrottled:       {"Rq+", "runnable, but the CPU quota of its cgroup was used up"},
		stateUnknown:         {"", "not known"},
	}
}
