package format

import (
	"errors"
	"fmt"
	"strconv"
)

// State is a thread's scheduler state as bits of our own, stable over kernel versions (the kernel's are in
// include/linux/sched.h and were renumbered several times). 0 is R: running or runnable.
type State uint32

const (
	StateRunnable        State = 0
	StateInterruptible   State = 1 << 0 // S
	StateUninterruptible State = 1 << 1 // D
	StateStopped         State = 1 << 2 // T
	StateTraced          State = 1 << 3 // t
	StateDead            State = 1 << 4 // X
	StateZombie          State = 1 << 5 // Z
	StateParked          State = 1 << 6 // P
	StateIdle            State = 1 << 7 // I: an idle kernel thread, uninterruptible without load
	StatePreempted       State = 1 << 8 // +: still runnable, the CPU was taken away (R+)
	StateKillable        State = 1 << 9 // K: fatal signals wake it
	StateFrozen          State = 1 << 10
	StateRTLock          State = 1 << 11
	StateIOWait          State = 1 << 12 // i: the kernel counts the wait as one for I/O (task_struct.in_iowait)
	StateThrottled       State = 1 << 13 // q: the thread could run, but the CPU quota of its cgroup was used up
)

// IsRunnable reports whether a thread that left its CPU in this state could have run on.
func (s State) IsRunnable() bool { return s&^(StatePreempted|StateThrottled) == 0 }

// String is the state as ps(1) and perf-sched(1) write it: S, D, T, t, X, Z, P, I, R, R+; DK for killable waits, Di and DKi for I/O, Rq+
// for a used-up CPU quota.
func (s State) String() string {
	base := "R"
	for _, n := range stateNames() {
		if s&n.bit != 0 {
			base = n.name
			break
		}
	}
	if s&StateKillable != 0 {
		base += "K"
	}
	if s&StateIOWait != 0 {
		base += "i"
	}
	if s&StateThrottled != 0 {
		base += "q"
	}
	if s&StatePreempted != 0 {
		base += "+"
	}
	return base
}

// ParseState reads what [State.String] writes, several letters at once, or a number.
func ParseState(text string) (State, error) {
	if v, err := strconv.ParseUint(text, 0, 32); err == nil {
		return State(v), nil
	}
	var s State
	for i := range len(text) {
		bit, ok := stateOf(text[i])
		if !ok {
			return 0, fmt.Errorf("%.40q is not a state; write letters such as S, D, DK, R+, t, or a number", text)
		}
		s |= bit
	}
	if text == "" {
		return 0, errors.New("a state is missing; write letters such as S, D, DK, R+, t, or a number")
	}
	return s, nil
}

func stateOf(letter byte) (State, bool) {
	switch letter {
	case 'R':
		return StateRunnable, true
	case 'K':
		return StateKillable, true
	case 'i':
		return StateIOWait, true
	case 'q':
		return StateThrottled, true
	case '+':
		return StatePreempted, true
	}
	for _, n := range stateNames() {
		if n.name == string(letter) {
			return n.bit, true
		}
	}
	return 0, false
}

// KnownStates are all bits of this version.
func KnownStates() State {
	var all State = StateKillable | StatePreempted | StateIOWait | StateThrottled
	for _, n := range stateNames() {
		all |= n.bit
	}
	return all
}

type stateName struct {
	bit  State
	name string
}

// stateNames are in the order in which a bit wins when several are set.
func stateNames() [10]stateName {
	return [10]stateName{
		{StateZombie, "Z"}, {StateDead, "X"}, {StateTraced, "t"}, {StateStopped, "T"}, {StateIdle, "I"},
		{StateParked, "P"}, {StateFrozen, "F"}, {StateRTLock, "L"}, {StateUninterruptible, "D"}, {StateInterruptible, "S"},
	}
}
