package filter

import "testing"

const typedCast = `
text 1 text="GET"
eventtype 3 name="request" shape=span
  field "size" type=uint
  field "method" type=text
  field "peer" type=task
  field "queued" type=time
eventtype 4 name="tick"
`

// A typed event goes by its task; its type and all that its values name come along, and a span that crosses the end of the
// range stands there.
func TestTypedEventsAreFiltered(t *testing.T) {
	events := typedCast + `
200 cpu0 typed 2 type=3 start=100 .size=1 .method=1 .peer=4 .queued=50
300 cpu0 typed 3 type=4
900 cpu0 typed 2 type=3 start=400 .size=2 .method=0 .peer=0 .queued=250
`
	expect(t, events, Options{Threads: Spec{PIDs: []int32{20}}}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  eventtype 3 name="request" shape=span
    field "size" type=uint
    field "method" type=text
    field "peer" type=task
    field "queued" type=time
  text 1 text="GET"
  task 4 tid=31 pid=30 comm="side" process_comm="pong" start=7
block events
  +0200 cpu0 typed 2 type=3 start=+0100 .size=1 .method=1 .peer=4 .queued=+0050
  +0900 cpu0 typed 2 type=3 start=+0400 .size=2 .method=0 .peer=0 .queued=+0250
`)
	expect(t, events, Options{Threads: Spec{PIDs: []int32{20}}, End: ms(500)}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  eventtype 3 name="request" shape=span
    field "size" type=uint
    field "method" type=text
    field "peer" type=task
    field "queued" type=time
  text 1 text="GET"
  task 4 tid=31 pid=30 comm="side" process_comm="pong" start=7
block events
  +0200 cpu0 typed 2 type=3 start=+0100 .size=1 .method=1 .peer=4 .queued=+0050
  +0500 cpu0 typed 2 type=3 start=+0400 .size=2 .method=0 .peer=0 .queued=+0250 open
`)
	expect(t, events, Options{Kinds: MakeKindSet(nil, []string{"typed"})}, "")
}

func TestTypedEventsOfLostTypesKeepTheirPlace(t *testing.T) {
	expect(t, `200 cpu0 typed 2 type=9 start=100 values="\x01"`, Options{}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  eventtype 9
block events
  +0200 cpu0 typed 2 type=9
`)
	expect(t, typedCast+`200 cpu0 typed 2 type=3 start=100 values="\x01"`, Options{}, "")
}
