package filter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/check"
	"wprof/test/fromtext"
)

const typedCast = `
text 1 text="GET"
eventtype 3 name="request" shape=span
  field "size" type=uint
  field "method" type=text
  field "peer" type=task
  field "queued" type=time
eventtype 4 name="tick"
`

// A typed event is selected by its task; its type and everything that its values refer to are kept, and a span that
// crosses the end of the range ends there.
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

// What a type says of its probe is kept, and the thread in which a span began is defined, also where it is hidden.
func TestProbesAreFiltered(t *testing.T) {
	types := `
  eventtype 5 name="malloc" group="probe" shape=span label="malloc {size}" probe="m" definition="uspan:malloc (arg:0/name(size)) |id:m|"
    field "size" type=uint
    field "from" type=task hint=began_by
    field "unread" type=uint hint=unread
  eventtype 6 name="malloc" group="probe" probe="m" entry
`
	events := types + `
200 cpu0 typed 2 type=6
300 cpu0 typed 2 type=5 start=200 .size=0 .from=4 .unread=1
`
	expect(t, events, Options{Threads: Spec{PIDs: []int32{20}}}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  eventtype 6 name="malloc" group="probe" probe="m" entry
  eventtype 5 name="malloc" group="probe" shape=span label="malloc {size}" probe="m" definition="uspan:malloc (arg:0/name(size)) |id:m|"
    field "size" type=uint
    field "from" type=task hint=began_by
    field "unread" type=uint hint=unread
  task 4 tid=31 pid=30 comm="side" process_comm="pong" start=7
block events
  +0200 cpu0 typed 2 type=6
  +0300 cpu0 typed 2 type=5 start=+0200 .size=0 .from=4 .unread=1
`)
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
	expect(t, "200 cpu0 typed 2 type=0", Options{}, "")
}

// Beyond the range a thread counts by its name inside it; a late span may have ended inside.
func TestSpansBeyondTheRange(t *testing.T) {
	types := "eventtype 3 name=\"request\" shape=span\n"
	o := Options{Threads: Spec{ThreadNames: []string{"ping"}}, End: ms(500)}
	expect(t, types+`
0 cpu0 state_cpu 2 prio=120
200 cpu0 typed 2 type=3 start=100
600 cpu0 rename 4 prev=2
900 cpu0 typed 2 type=3 start=400
950 cpu0 typed 2 type=3 start=450 own=480
990 cpu0 typed 2 type=3 start=450 own=700
`, o, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  eventtype 3 name="request" shape=span
block events state
  +0000 cpu0 state_cpu 2 prio=120
  +0200 cpu0 typed 2 type=3 start=+0100
  +0500 cpu0 typed 2 type=3 start=+0400 open
  +0500 cpu0 typed 2 own=+0480 type=3 start=+0450
  +0500 cpu0 typed 2 type=3 start=+0450 open
  +0500 cpu0 state_cpu 2 prio=120 open
`)
}

// How much of what was counted in a span was counted before the end of the range is not known.
func TestSpansThatAreCutHaveNoCounts(t *testing.T) {
	expect(t, `eventtype 3 name="work" shape=span
  field "delay" type=uint
  field "counts" type=bytes hint=counts
0 cpu0 state_cpu 2 prio=120
200 cpu0 typed 2 type=3 start=100 .delay=1 .counts="\x03"
900 cpu0 typed 2 type=3 start=400 .delay=2 .counts="\x05"
`, Options{Threads: Spec{ThreadNames: []string{"ping"}}, End: ms(500)}, `
block definitions
  task 2 tid=20 pid=20 comm="ping" process_comm="ping" start=5
  eventtype 3 name="work" shape=span
    field "delay" type=uint
    field "counts" type=bytes hint=counts
block events state
  +0000 cpu0 state_cpu 2 prio=120
  +0200 cpu0 typed 2 type=3 start=+0100 .delay=1 .counts="\x03"
  +0500 cpu0 typed 2 type=3 start=+0400 .delay=2 .counts="" open
  +0500 cpu0 state_cpu 2 prio=120 open
`)
}

// A span that crosses the end of the range may end in a later epoch, where all ids are others.
func TestSpansThatEndInALaterEpoch(t *testing.T) {
	const epoch = "end last=false\nsection continues\ntask 9 tid=20 pid=20 comm=renamed process_comm=ping start=5\ntask 2 tid=30 pid=30 comm=pong start=6\n"
	const rest = `
eventtype 5 name="request" shape=span
600 cpu0 state_cpu 9
700 cpu0 typed 9 type=5 start=400
710 cpu0 typed 2 type=5 start=400
720 cpu0 typed 9 type=5 start=600
end last=false
section continues
800 cpu0 exit 0
end last=false
section continues
task 1 tid=20 pid=20 start=5
eventtype 1 name="request" shape=span
900 cpu0 typed 1 type=1 start=450
950 all lost from=480 count=3 cause=ring
`
	o := Options{Threads: Spec{ThreadNames: []string{"ping"}}, End: ms(500)}
	stream := fromtext.Stream(t, testTasks+"100 cpu0 state_cpu 2 prio=120\n"+epoch+rest+"end\n")
	for _, isPipe := range []bool{true, false} {
		out := filtered(t, stream, isPipe, o)
		var found []string
		if _, err := check.Stream(bytes.NewReader(out), func(f check.Finding) { found = append(found, f.Text) }); err != nil || len(found) > 0 {
			t.Errorf("%v, findings %q", err, found)
		}
		r, err := format.NewReader(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		var spans []string
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if start, isSpan := e.Start(); isSpan {
				spans = append(spans, fmt.Sprint(r.Task(e.Task).GetTid(), " ", start, " to ", e.Time, " ", e.Flags&format.FlagOpen != 0))
			}
		}
		if got, want := strings.Join(spans, ", "), "20 400 to 500 true, 20 450 to 500 true, 0 480 to 500 true"; got != want {
			t.Errorf("from a pipe %v: spans %s, want %s", isPipe, got, want)
		}
		if r.Damage() != nil || r.Sections() != 3 {
			t.Errorf("%d sections, damage %v", r.Sections(), r.Damage())
		}
		r.Close()
	}
}

// -k and -K take event types by name and group; the end of a span goes with its begin, and other kinds are not affected.
func TestEventTypesAreSelectedByName(t *testing.T) {
	const text = `
		section host=h boot_id=b open=1
		eventtype 1 name="tcp:probe" group="tp"
		eventtype 2 name="softirq" group="irq" shape=span
		eventtype 3 name="request" group="http" shape=begin
		eventtype 4 name="request done" group="http" shape=end ends=3
		+1 cpu0 typed 0 type=1
		+2 cpu0 typed 0 type=2 start=+1
		+3 cpu0 typed 0 type=3
		+4 cpu0 typed 0 type=4
		end close=+10
	`
	for _, c := range []struct{ keep, drop, want string }{
		{"", "", "1234"}, {"typed", "", "1234"}, {"switch", "", ""}, {"tcp:*", "", "1"}, {"tp", "", "1"}, {"irq", "", "2"}, {"soft*", "", "2"},
		{"request", "", "34"}, {"", "request", "12"}, {"", "tcp:*,irq", "34"}, {"typed", "http", "12"}, {"*", "tp", "234"}, {"tcp:*,softirq", "softirq", "1"},
		{"switch,tcp:probe", "", "1"}, {"", "typed", ""},
	} {
		words := func(list string) []string {
			if list == "" {
				return nil
			}
			return strings.Split(list, ",")
		}
		got := ""
		for _, id := range typesOf(t, fromtext.Stream(t, text), Options{Kinds: MakeKindSet(words(c.keep), words(c.drop))}) {
			got += strconv.Itoa(int(id))
		}
		if got != c.want {
			t.Errorf("-k %q -K %q keeps the types %q, want %q", c.keep, c.drop, got, c.want)
		}
	}
}

// typesOf returns the types of the events that a filter keeps.
func typesOf(t *testing.T, stream []byte, o Options) (ids []uint32) {
	t.Helper()
	var out bytes.Buffer
	f, err := New(bytes.NewReader(stream), &out, false, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(); err != nil {
		t.Fatal(err)
	}
	r, err := format.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return ids
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == format.KindTyped {
			ids = append(ids, e.TypeID())
		}
	}
}
