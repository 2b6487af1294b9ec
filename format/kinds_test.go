package format

import (
	"math/bits"
	"testing"
)

func TestKindTableKeepsTheRulesOfTheFormat(t *testing.T) {
	names := map[string]bool{}
	for i, k := range Kinds() {
		if int(k.Kind) != i+1 {
			t.Errorf("%s: stands at place %d and has number %d", k.Name, i+1, k.Kind)
		}
		if names[k.Name] {
			t.Errorf("%s: two kinds have this name", k.Name)
		}
		names[k.Name] = true
		if len(k.Fields) > MaxArgs {
			t.Errorf("%s: %d fields, more than %d", k.Name, len(k.Fields), MaxArgs)
		}
		used := FlagSubject | FlagObject | FlagOpen | FlagLate
		for j, f := range k.Fields {
			if f.Type == FieldBytes && j != len(k.Fields)-1 {
				t.Errorf("%s.%s: bytes must be the last field", k.Name, f.Name)
			}
			if bits.OnesCount32(uint32(f.Opt)) > 1 || f.Opt&used&0xf != 0 {
				t.Errorf("%s.%s: a field is announced by one flag of its kind, not %#x", k.Name, f.Name, f.Opt)
			}
			if f.Name == "" || f.Doc == "" || (f.Side != SideNone && f.Type != FieldTask) {
				t.Errorf("%s.%s: name, meaning or side is wrong", k.Name, f.Name)
			}
			used |= f.Opt
		}
		for _, f := range k.Flags {
			if bits.OnesCount32(uint32(f.Bit)) != 1 || used&f.Bit != 0 {
				t.Errorf("%s: flag %s is not a bit of its own", k.Name, f.Name)
			}
			used |= f.Bit
		}
	}
	if len(names) != int(MaxKind) {
		t.Errorf("got %d kinds, want %d", len(names), MaxKind)
	}
}

func TestStatesAreWrittenAsPsWritesThem(t *testing.T) {
	for want, s := range map[string]State{
		"R": StateRunnable, "R+": StatePreempted, "Rq+": StatePreempted | StateThrottled, "S": StateInterruptible, "D": StateUninterruptible,
		"DK": StateUninterruptible | StateKillable, "Di": StateUninterruptible | StateIOWait, "DKi": StateUninterruptible | StateKillable | StateIOWait, "T": StateStopped, "t": StateTraced, "Z": StateZombie,
		"X": StateDead, "I": StateIdle, "P": StateParked,
	} {
		if got := s.String(); got != want {
			t.Errorf("state %#x: got %q, want %q", uint32(s), got, want)
		}
	}
}

func TestAccessorsReadWhatTheySet(t *testing.T) {
	var e Event
	s := e.Switch()
	if _, ok := s.Since(); ok {
		t.Error("an empty switch has a since")
	}
	s.SetPrevPrio(-1)
	s.SetSince(-5)
	if since, ok := s.Since(); !ok || since != -5 || e.Flags != SwitchHasSince {
		t.Errorf("got since %d, %v and flags %#x", since, ok, e.Flags)
	}
	if got := s.PrevPrio(); got != -1 {
		t.Errorf("got priority %d, want -1", got)
	}
}
