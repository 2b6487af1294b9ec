package info

import (
	"bytes"
	"testing"

	"wprof/test/fromtext"
)

// The time off the CPU in a switch is that of next: it does not count where a filter hides next. A wakeup keeps the stack of a
// hidden waker.
func TestWaitsOfAFilteredCapture(t *testing.T) {
	s, err := Summarize(bytes.NewReader(fromtext.Stream(t, `
section open=1000000000 close=+1s
task 1 tid=1 pid=1
task 2 tid=2 pid=2
frame 1 offset=1
stack 1 frames=1
+10ms cpu0 waking 2 wakee=1 stack=1 !subject
+20ms cpu0 switch 2 next=1 prev_state=S since=+1ms next_state=S stack=1 !subject
+30ms cpu0 switch 1 next=2 prev_state=S since=+20ms next_state=S !object
+40ms cpu0 switch 2 next=1 prev_state=S since=+30ms next_state=S !subject
+50ms cpu0 switch 1 next=2 prev_state=S since=+40ms next_state=S stack=1
end close=+1s
`)))
	if err != nil {
		t.Fatal(err)
	}
	got := s.Recordings[0].Waits
	if got == nil {
		t.Fatal("no waits")
	}
	for name, c := range map[string]struct {
		got              Stacked
		all, has, inUser uint64
	}{
		"off":   {got.Off, 3, 2, 2},
		"still": {got.Still, 0, 0, 0},
		"woken": {got.Woken, 1, 1, 1},
	} {
		if g := c.got; g.All != c.all || g.WithStack != c.has || g.User.All != c.inUser {
			t.Errorf("%s: got %+v, want %d, %d with a stack, %d with a user part", name, g, c.all, c.has, c.inUser)
		}
	}
}

// Each source of stacks has its own count of those that end early, in wprof-info's text and JSON.
func TestStacksOfWaitsThatEndEarly(t *testing.T) {
	s, err := Summarize(bytes.NewReader(fromtext.Stream(t, `
section open=1000000000 close=+1s
task 1 tid=1 pid=1
task 2 tid=2 pid=2
module 1 path=/bin/a
frame 1 offset=1 module=1
stack 1 frames=1 user_end=1
stack 2 frames=1 user_end=4 cut
+20ms cpu0 switch 2 next=1 prev_state=S since=+1ms next_state=S stack=1
+30ms cpu0 switch 1 next=2 prev_state=S since=+20ms next_state=S stack=2
+40ms cpu0 switch 2 next=1 prev_state=S since=+30ms next_state=S stack=2
end close=+1s
`)))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	s.Recordings[0].printWaits(&text)
	const want = `off CPU     3 of 3 off-CPU intervals have a stack
            66.7% of 3 user stacks lack their outer functions (2 no frame)
  2  100.0%  /bin/a
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	if got := s.Recordings[0].Sampled; got != nil {
		t.Errorf("without samples there is %+v", got)
	}
	if got := s.Recordings[0].Waits.report().Off; got.UserStacks != 3 || got.UserStacksCut != 2 || got.UserStackEnds.NoFrame != 2 || got.UserStackEnds.Whole != 1 {
		t.Errorf("JSON: %+v", got)
	}
}
