package timeline

import (
	"testing"

	"wprof/format"
)

// Drawing of losses and scheduler state use the same rule.
func TestLossesOfSchedulingLeaveStatesUnknown(t *testing.T) {
	loses := func(what format.Kind, cause format.Cause) bool {
		e := format.Event{Kind: format.KindLost}
		v := e.Lost()
		v.SetWhat(what)
		v.SetCause(cause)
		return LosesState(&e)
	}
	for _, k := range format.Kinds() {
		want := k.Group == format.GroupSched || k.Kind == format.KindLost
		if got := loses(k.Kind, format.CauseRing); got != want {
			t.Errorf("a lost %s leaves states unknown: %v, want %v", k.Name, got, want)
		}
	}
	for _, what := range []format.Kind{0, format.MaxKind + 1, 255} {
		if !loses(what, format.CauseRing) {
			t.Errorf("a lost event of kind %d leaves states known", what)
		}
		if loses(what, format.CauseDefinition) {
			t.Errorf("a lost definition of an event of kind %d leaves states unknown", what)
		}
	}
}
