package filter

import "testing"

// What begins before the range has no counts there: how much of them was within is not known.
func TestCountsThatBeginBeforeTheRangeAreLeftOut(t *testing.T) {
	const text = `
eventtype 3 name="irq" shape=span
  field "pmus" type=bytes hint=counts
100 cpu0 switch 1 next=2
400 cpu0 sample 2 source=1 counts="\x03"
450 cpu1 switch 1 next=3
600 cpu0 sample 2 source=1 counts="\x05"
650 cpu0 typed 2 type=3 start=490 .pmus="\x07"
660 cpu0 typed 2 type=3 start=500 .pmus="\x09"
700 cpu0 switch 2 next=4 prev_state=S counts="\x0b"
750 cpu0 sample 4 source=1 counts="\x0d"
800 cpu0 switch 4 next=1 prev_state=S counts="\x0f"
900 cpu1 switch 3 next=1 prev_state=S counts="\x11"
`
	expect(t, text, Options{Start: ms(500)}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  task 3 tid=30 pid=30 comm="pong" process_comm="pong" start=6
  eventtype 3 name="irq" shape=span
    field "pmus" type=bytes hint=counts
  task 4 tid=31 pid=30 comm="side" process_comm="pong" start=7
  task 1 comm="swapper" process_comm="swapper" flags=idle
block events state
  +0500 cpu0 state_cpu 2 prio=0 since=+0100
  +0500 cpu1 state_cpu 3 prio=0 since=+0450
  +0600 cpu0 sample 2 stack=0 source=1
  +0650 cpu0 typed 2 type=3 start=+0490 .pmus=""
  +0660 cpu0 typed 2 type=3 start=+0500 .pmus="\t"
  +0700 cpu0 switch 2 next=4 prev_state=S prev_prio=0 next_prio=0
  +0750 cpu0 sample 4 stack=0 source=1 counts="\r"
  +0800 cpu0 switch 4 next=1 prev_state=S prev_prio=0 next_prio=0 counts="\x0f"
  +0900 cpu1 switch 3 next=1 prev_state=S prev_prio=0 next_prio=0
`)
}
