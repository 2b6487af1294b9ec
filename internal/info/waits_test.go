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
	want := Waits{Off: Stacked{All: 3, WithStack: 2}, Woken: Stacked{All: 1, WithStack: 1}}
	if got := s.Recordings[0].Waits; got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
