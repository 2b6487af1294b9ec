package timeline

import (
	"testing"

	"wprof/format"
)

type definitions map[format.TaskID]*format.Task

func (d definitions) Task(id format.TaskID) *format.Task { return d[id] }

// pairs are threads that wake each other: half of the events are switches, half wakings.
func pairs() (definitions, []format.Event) {
	const threads, cpus = 2000, 8
	defs := definitions{}
	for i := range uint32(threads) {
		defs[format.TaskID(i+1)] = &format.Task{Id: i + 1, Tid: int32(i + 10), Pid: int32(i + 10)}
	}
	var events []format.Event
	for i := range threads * 4 {
		cpu := i % cpus
		of := func(n int) format.TaskID { return format.TaskID((n/cpus*cpus+cpu)%threads + 1) }
		waking := format.Event{Kind: format.KindWaking, Flags: format.FlagsVisible, CPU: uint32(cpu), Task: of(i)}
		waking.Waking().SetWakee(of(i + cpus))
		change := format.Event{Kind: format.KindSwitch, Flags: format.FlagsVisible, CPU: uint32(cpu), Task: of(i)}
		change.Switch().SetNext(of(i + cpus))
		change.Switch().SetPrevState(format.StateInterruptible)
		events = append(events, waking, change)
	}
	return defs, events
}

// player returns a function that applies the events; their times go on from call to call.
func player(events []format.Event, apply func(*format.Event)) func() {
	now := int64(0)
	return func() {
		for i := range events {
			now += 100
			events[i].Time = now
			apply(&events[i])
		}
	}
}

func measure(b *testing.B, events []format.Event, apply func(*format.Event)) {
	play := player(events, apply)
	b.ReportAllocs()
	for b.Loop() {
		play()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
}

func BenchmarkApply(b *testing.B) {
	defs, events := pairs()
	measure(b, events, New(defs).Apply)
}

// BenchmarkSpans emits three spans for every two events.
func BenchmarkSpans(b *testing.B) {
	defs, events := pairs()
	s := NewSpans(defs, func(*Span) {})
	s.Open(0)
	measure(b, events, s.Apply)
}

func BenchmarkUsage(b *testing.B) {
	defs, events := pairs()
	u := NewUsage(defs)
	u.NewSection(&format.Session{})
	measure(b, events, u.Apply)
}

func TestSpansAllocateNothingForAnEvent(t *testing.T) {
	defs, events := pairs()
	s := NewSpans(defs, func(*Span) {})
	s.Open(0)
	play := player(events, s.Apply)
	play()
	if got := testing.AllocsPerRun(5, play); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
