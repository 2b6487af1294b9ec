package format_test

import (
	"bytes"
	"strings"
	"testing"

	. "wprof/format"
	"wprof/test/fromtext"
)

// Impossible values are damage even if the checksums match: the event is dropped, and a lost event stands for it.
func TestImpossibleValuesAreDamage(t *testing.T) {
	const good, session = "+10 cpu0 free 1", "section open=100 close=+100"
	for _, c := range []struct{ name, text, want string }{
		{"before the window", session + "\ntask 1 tid=1\n-5 cpu0 free 1\n" + good + "\nend", "an event is before the window"},
		{"after the window", session + "\ntask 1 tid=1\n" + good + "\n+200 cpu0 free 1\nend close=+100", "an event is after the window"},
		{"after the range", session + " range_end=+50\ntask 1 tid=1\n" + good + "\n+60 cpu0 free 1\nend", "an event is after the window"},
		{"invisible", session + "\ntask 1 tid=1\n" + good + "\n+20 cpu0 free 1 !subject !object\nend", "neither side of an event is visible"},
		{"late before it happened", session + "\ntask 1 tid=1\n" + good + "\n+20 cpu0 free 1 own=+20\nend", "an event has a time after its own"},
		{"woken in the future", session + "\ntask 1 tid=1\n" + good + "\n+20 cpu0 state_thread 1 state=S since=+21\nend", "an event has a time after its own"},
		{"long id", session + "\ntask 1 tid=1\n" + good + "\n+20 cpu0 fork 1 child=4294967296\nend", "an event names an id of more than 32 bits"},
		{"unknown state", session + "\ntask 1 tid=1\n" + good + "\n+20 cpu0 state_thread 1 state=0x100000\nend", "an event has an unknown state"},
		{"unknown cause", session + "\ntask 1 tid=1\n" + good + "\n+20 all lost cause=99\nend", "a loss has an unknown cause"},
		{"unknown kind", session + "\ntask 1 tid=1\n" + good + "\n+20 all lost cause=ring what=200\nend", "a loss is of an unknown kind"},
		{"two on a CPU", session + "\ntask 1 tid=1\ntask 2 tid=2\nblock events state\n+10 cpu0 state_cpu 1\n+10 cpu0 state_cpu 2\nend", "the state reports two threads on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream := fromtext.Stream(t, c.text)
			events, r, err := ReadAll(Pipe(stream))
			if err != nil || r.Damage() == nil || !strings.Contains(r.Damage().Detail, c.want) {
				t.Fatalf("got %v, damage %v, want %q", err, r.Damage(), c.want)
			}
			losses := 0
			for _, e := range events {
				if e.Kind == KindLost && Cause(e.Args[LostCause]) == CauseDamage {
					losses++
				}
			}
			if len(events) != 2 || losses != 1 {
				t.Errorf("got %d events, %d of them losses by damage: want the good one and the loss", len(events), losses)
			}
		})
	}
}

func TestEndThatContradictsItsSectionIsDamage(t *testing.T) {
	const section = "section open=100\ntask 1 tid=1\n+10 cpu0 free 1\n"
	for _, c := range []struct{ name, text, want string }{
		{"counts", section + "end close=+20\n  kind free events=2 bytes=9", "the end block counts 2 events, but its section has 1"},
		{"close", section + "end close=+5", "the section closes before its last event"},
		{"epochs", section + "end close=+20 last=false\nsection open=100 continues epoch=7\nend close=+20", "epoch 7 follows after epoch 0"},
		{"session", "section open=100 close=-50\n" + section + "end close=+20", "the window closes before it opens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r, err := ReadAll(Pipe(fromtext.Stream(t, c.text)))
			if err != nil || r.Damage() == nil || !strings.Contains(r.Damage().Detail, c.want) {
				t.Errorf("got %v, damage %v, want %q", err, r.Damage(), c.want)
			}
		})
	}
}

// A newer minor version may write kinds, flags, states and causes that are unknown to this one.
func TestNothingOfANewerVersionIsDamage(t *testing.T) {
	stream := fromtext.Stream(t, `section minor=99 open=100 close=+100
task 1 tid=1
block events
  +10 cpu0 kind200 1 flags=0x10 more_times=+5 more=0a
  +11 cpu0 state_thread 1 state=0x100001
  +12 all lost from=+11 cause=99 what=200 count=3
  +13 cpu0 kind200 1
  +14 cpu0 free 1 flags=0x80000000
block events
  +15 cpu0 kind200 1
  +16 cpu0 free 1
end close=+20
`)
	for _, in := range []bool{true, false} {
		var events []Event
		var r *Reader
		var err error
		if in {
			events, r, err = ReadAll(Pipe(stream))
		} else {
			events, r, err = ReadAll(bytes.NewReader(stream))
		}
		if err != nil || len(events) != 4 || r.Damage() != nil || r.Unknown() != 3 {
			t.Fatalf("got %d events, %d unknown, %v, damage %v", len(events), r.Unknown(), err, r.Damage())
		}
		if s, l := events[0], events[1]; State(s.Args[StateThreadState]) != StateInterruptible || l.Args[LostCause] != 0 || l.Args[LostWhat] != 0 || l.Args[LostCount] != 3 {
			t.Errorf("got %+v and %+v: want what is known of them", s, l)
		}
	}
}

// The decoder compares a state with the highest one only.
func TestStatesLeaveNoBitOut(t *testing.T) {
	if all := KnownStates(); all&(all+1) != 0 {
		t.Errorf("the states %#x have gaps", uint32(all))
	}
}
