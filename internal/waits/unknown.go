package waits

import "wprof/format"

// StateText is the text about a wait of class [Unknown] of a thread that left its CPU in a state with one of these bits.
type StateText struct {
	Bits format.State
	Text string
}

// StateTexts are in order of precedence, for states with several bits. They begin with the name of the class, and differ from it because
// outputs call time unknown too in which events are missing.
func StateTexts() []StateText {
	return []StateText{
		{format.StateZombie | format.StateDead, "unknown (dead)"},
		{format.StateTraced, "unknown (traced)"},
		{format.StateStopped, "unknown (stopped)"},
		{format.StateFrozen, "unknown (frozen)"},
		{format.StateParked, "unknown (parked)"},
		{format.StateIdle, "unknown (idle kernel thread)"},
		{format.StateRTLock, "unknown (rt lock)"},
		{format.StateUninterruptible | format.StateKillable, "unknown (uninterruptible)"},
		{format.StateInterruptible, "unknown (interruptible)"},
	}
}

// OtherState is the text about such a wait in a state that has no name.
const OtherState = "unknown (blocked)"

// TextOf returns the text about a wait of class [Unknown].
func TextOf(state format.State) string {
	for _, s := range StateTexts() {
		if state&s.Bits != 0 {
			return s.Text
		}
	}
	return OtherState
}
