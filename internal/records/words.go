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
)

// ReasonNames are the words of waking_reason.
func ReasonNames() []string { return []string{"woken", "woken_new", "preempted"} }

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
	stateUnknown
)

// StateNames are the words of prev_state and next_state.
func StateNames() []string {
	return []string{
		"runnable", "preempted", "interruptible_sleep", "uninterruptible_sleep", "killable_sleep", "stopped", "traced",
		"exit_dead", "exit_zombie", "exit_trace", "parked", "task_dead", "rtlock_wait", "freezable", "frozen", "idle",
		"waking", "new", "unknown",
	}
}

// stateOf is the word for a state. Of several bits the one wins that says most about what ends the wait, as in
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
	case has(format.StatePreempted):
		return statePreempted
	case s == format.StateRunnable:
		return stateRunnable
	}
	return stateUnknown
}

// states maps every combination of bits that a stream can have.
func states() (all [1 << 12]uint8) {
	for s := range all {
		all[s] = uint8(stateOf(format.State(s)))
	}
	return all
}

// causeNames are the causes of loss by number, with a word for those that are not known.
func causeNames() []string {
	names := format.Causes()
	all := make([]string, len(names)+1)
	all[0] = "unknown"
	for cause, name := range names {
		all[cause] = name
	}
	return all
}

// eventNames are the kinds of events by number.
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
