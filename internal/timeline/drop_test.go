package timeline

import (
	"testing"

	"wprof/format"
)

// A stream need not report the end of threads: those without an event for the longest time are dropped. Their time
// is reported once, as what they did and then as unknown, even if they appear again.
func TestThreadsWithoutAnEndAreDropped(t *testing.T) {
	const most, threads = 64, 1000
	defs := definitions{1: {Flags: 2}}
	for i := range threads {
		defs[format.TaskID(i+2)] = &format.Task{Tid: int32(i + 1), Pid: int32(i + 1), Start: 5}
	}
	reached := make(map[int32]int64)
	known := make(map[int32]int64)
	s := NewSpans(defs, func(span *Span) {
		if span.Thread.Idle() {
			return
		}
		if span.From < reached[span.Thread.TID] {
			t.Errorf("the time of thread %d from %d on is reported again from %d on", span.Thread.TID, reached[span.Thread.TID], span.From)
		}
		reached[span.Thread.TID] = span.To
		if span.Kind == SpanRunning {
			known[span.Thread.TID] += span.To - span.From
		}
	})
	tl := s.Timeline()
	tl.most, tl.due = most, most
	s.NewSection(new(format.Session))
	s.Open(1000)
	at := int64(1000)
	for range 2 {
		for i := range threads {
			id := format.TaskID(i + 2)
			run := format.Event{Time: at, Kind: format.KindSwitch, Flags: format.FlagsVisible, Task: 1}
			run.Args[format.SwitchNext] = uint64(id)
			s.Apply(&run)
			at += 10
			sleep := format.Event{Time: at, Kind: format.KindSwitch, Flags: format.FlagsVisible, Task: id}
			sleep.Args[format.SwitchNext], sleep.Args[format.SwitchPrevState] = 1, uint64(format.StateInterruptible)
			s.Apply(&sleep)
			if len(tl.live) > most+1 || tl.held > most+1 {
				t.Fatalf("%d threads are live and %d are held, want %d at most", len(tl.live), tl.held, most)
			}
		}
	}
	s.Close(at)
	if n := tl.DroppedThreads(); n < 2*threads-most || n > 2*threads {
		t.Errorf("%d threads were dropped, want nearly %d", n, 2*threads)
	}
	for tid := int32(1); tid <= threads; tid++ {
		if known[tid] != 20 {
			t.Errorf("thread %d ran for %d ns, want 20", tid, known[tid])
		}
	}
}

// Wakings alone show threads too: end blocks count only their wakers.
func TestUsageOfWakersIsBounded(t *testing.T) {
	const most, threads = 64, 1000
	defs := definitions{}
	for i := range threads {
		defs[format.TaskID(i+1)] = &format.Task{Tid: int32(i + 1), Pid: int32(i + 1), Start: 5}
	}
	u := NewUsage(defs)
	u.spans.tl.most, u.spans.tl.due = most, most
	u.NewSection(new(format.Session))
	for i := range threads {
		u.Apply(&format.Event{Time: int64(1000 + i), Kind: format.KindWaking, Flags: format.FlagsVisible, CPU: uint32(i % 4), Task: format.TaskID(i + 1)})
		if n := len(u.spans.tl.live); n > most+1 {
			t.Fatalf("%d threads are live after %d wakings, want %d at most", n, i+1, most)
		}
	}
}
