package perfetto

import (
	"math"

	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// Sampled stacks become slices: a function lasts from the first sample that contains it to the next one that does not, or to
// the end of the thread's time on the CPU. A slice is written when it ends, so an inner one before the one around it.
//
// The engine nests slices by when they begin, and those that begin together in the order in which they were written;
// if it nests two in the wrong order, each gets the other's length. So a slice around one that was written with the same
// beginning begins 1 ns earlier for each such level, and slices that a sample ends make room for that.

// embedded holds the functions on a thread's stack in the last sample, outermost first.
type embedded struct {
	open []embeddedSlice
	last int64 // time of the last sample or end, ns of CLOCK_MONOTONIC
}

type embeddedSlice struct {
	embeddedFunction
	from  int64
	inner int64 // the earliest beginning of a written slice within it
}

type embeddedFunction struct {
	name string
	in   category
}

func embeddedFunctions(stack *tracks.Stack) (all []embeddedFunction) {
	if stack == nil {
		return nil
	}
	for name, frame := range stack.EachFunction() {
		in := catStack
		switch {
		case frame == nil:
		case frame.Module.IsAwaiting():
			in = catAwaiting
		case frame.IsPython():
			in = catPython
		case frame.IsRuby():
			in = catRuby
		}
		all = append(all, embeddedFunction{name, in})
	}
	return all[max(len(all)-stacks.MaxFrames, 0):]
}

// embed takes a sample.
func (w *view) embed(t *thread, at int64, stack *tracks.Stack) {
	d := t.drawn.embedded
	if d == nil {
		d = &embedded{last: math.MinInt64}
		t.drawn.embedded = d
	}
	functions := embeddedFunctions(stack)
	same := 0
	for same < len(functions) && same < len(d.open) && d.open[same].embeddedFunction == functions[same] {
		same++
	}
	room := int64(len(functions) - same)
	if d.last != math.MinInt64 && at-room <= d.last {
		return // too close to the sample before
	}
	w.endFrom(t, d, same, at-room)
	for _, function := range functions[same:] {
		d.open = append(d.open, embeddedSlice{function, at, math.MaxInt64})
	}
	d.last = at
}

// endFrom writes the open slices from a level on, the outermost first, because those may begin together.
func (w *view) endFrom(t *thread, d *embedded, level int, at int64) {
	if level == len(d.open) {
		return
	}
	track := w.stackTrack(t)
	to := w.clock.earlier(at)
	earliest := int64(math.MaxInt64)
	for _, s := range d.open[level:] {
		name := w.name(s.name)
		if s.inner <= s.from {
			s.from = s.inner - 1
		}
		earliest = min(earliest, s.from)
		w.seq.start(sliceBegin, track, name)
		w.seq.category(s.in)
		w.out = w.seq.put(w.out, w.clock.earlier(s.from))
		w.out = w.seq.finish(w.out, track, to)
	}
	d.open = d.open[:level]
	for i := range d.open {
		d.open[i].inner = min(d.open[i].inner, earliest)
	}
}

// endStale ends the functions of the last sample one period after it if the next sample is overdue: without switches nothing
// else shows that the thread has left its CPU.
func (w *view) endStale(t *thread, at, period int64) {
	if d := t.drawn.embedded; d != nil && len(d.open) > 0 && period > 1 && at-d.last > 2*period {
		w.endStack(t, d.last+period)
	}
}

// endStack ends the functions of a thread's last sample, because it leaves its CPU.
func (w *view) endStack(t *thread, at int64) {
	if d := t.drawn.embedded; d != nil && len(d.open) > 0 {
		at = max(at, d.last+1)
		w.endFrom(t, d, 0, at)
		d.last = at
	}
}

// endStacks ends the functions of all threads.
func (w *view) endStacks() {
	if !w.on.EmbedStacks {
		return
	}
	for _, t := range w.threads.sorted() {
		w.endStack(t, w.now)
	}
}
