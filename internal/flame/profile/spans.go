package profile

import (
	"errors"
	"math"

	"wprof/format"
	"wprof/internal/timeline"
)

// sampled is a sample in a running interval that has not ended.
type sampled struct {
	at    int64
	stack resolved
}

var errTooLong = errors.New("the times of its threads add up to more than 292 years; take a part of it with --start and --end")

// manySamples is the number of samples of a running interval at which the time so far is added up.
const manySamples = 1024

// addSpan adds a span that has ended.
func (c *collector) addSpan(s *timeline.Span) {
	if s.Thread.Idle() && !c.o.Idle {
		return
	}
	length := c.o.Inside.length(s.Thread.Key, s.From, s.To)
	if !c.counts(s.Task) || length == 0 && c.o.Inside != nil {
		c.hidden(s)
		return
	}
	// No part of the profile exceeds this sum, so no other sum of times can overflow.
	if length > math.MaxInt64-c.total {
		c.fail(errTooLong)
		return
	}
	c.total += length
	t := c.thread(s.Thread)
	t.Lifetime += length
	label := c.label(t, s.Task)
	switch s.Kind {
	case timeline.SpanRunning:
		c.addRunning(t, s, label)
	case timeline.SpanBlocked, timeline.SpanRunnable:
		c.addOffCPU(t, s, label)
	case timeline.SpanNew:
		t.offUntil = s.To
		c.add(t, CellKey{Class: ClassNew, CPU: s.CPU, Label: label}, s.From, s.To, 1)
	default:
		c.add(t, CellKey{Class: ClassUnknown, CPU: s.CPU, Label: label}, s.From, s.To, 1)
	}
}

// selection is whether a task is selected; 0: not evaluated yet.
type selection uint8

const (
	selected selection = iota + 1
	unselected
)

// counts reports whether the time of a task is counted.
func (c *collector) counts(id format.TaskID) bool {
	if c.o.Selector == nil {
		return true
	}
	is := c.selected.Get(uint32(id))
	if is == 0 {
		is = unselected
		if c.o.Selector.Selects(c.r.Task(id)) {
			is = selected
		}
		c.selected.Put(uint32(id), is)
	}
	return is == selected
}

// hidden notes who woke a thread whose time is not counted, who may wake others, and who had a lock for which it waited.
func (c *collector) hidden(s *timeline.Span) {
	if c.o.Wakes > 0 && (s.Kind == timeline.SpanBlocked || s.Kind == timeline.SpanRunnable) {
		c.wakeOf(c.thread(s.Thread), s)
	}
	if s.Kind == timeline.SpanBlocked && isLock(c.classes.Blocked(s.Stack, s.Wait, s.State, false).Class) {
		c.holdForWaker(s)
	}
}

// addSample records where a thread was at one moment.
func (c *collector) addSample(e *format.Event) {
	if e.Flags&format.FlagSubject == 0 || !c.counts(e.Task) {
		return
	}
	of := c.spans.Timeline().Thread(e.Task)
	if of == nil || of.Idle() {
		return
	}
	at := e.Happened()
	if c.o.Inside.length(of.Key, at, at+1) == 0 {
		return
	}
	t := c.thread(of)
	if n := len(t.samples); n > 0 && t.samples[n-1].at > at {
		c.p.About.Stray++ // it arrived late
		return
	}
	t.samples = append(t.samples, sampled{at, c.interner.stack(e.Sample().Stack())})
	if len(t.samples) >= manySamples {
		if c.spans.HasInterrupts() { // one that has begun may not have ended yet
			before := t.samples[manySamples/2-1].at
			at = before + (t.samples[manySamples/2].at-before)/2
		}
		c.spans.EmitThread(of, at)
		if len(t.samples) >= manySamples { // it is not known to run
			c.p.About.Stray += uint64(len(t.samples))
			t.samples = t.samples[:0]
		}
	}
}

// addRunning adds a running interval and the samples in it.
func (c *collector) addRunning(t *thread, s *timeline.Span, label LabelID) {
	first, last := 0, 0
	for first < len(t.samples) && t.samples[first].at < s.From {
		first++
	}
	for last = first; last < len(t.samples) && t.samples[last].at <= s.To; last++ {
	}
	c.p.About.Stray += uint64(first)
	inside := t.samples[first:last]
	for _, one := range inside {
		c.countStack(one.stack)
		c.p.About.Samples++
	}
	r := running{c: c, t: t, key: CellKey{Class: ClassOnCPU, CPU: s.CPU, Label: label}, at: s.From, interrupts: s.Interrupts}
	if len(s.Interrupts) > 0 {
		inside = r.ownSamples(inside)
	}
	if c.o.Spread {
		r.addSpread(s, inside)
	} else {
		r.addNearest(s, inside)
	}
	t.samples = t.samples[:copy(t.samples, t.samples[last:])]
}

func (c *collector) countStack(p resolved) {
	if p.hasUser {
		c.p.About.UserStacks++
		if p.cut {
			c.p.About.CutStacks++
		}
	}
}

// addOffCPU adds a part of an off-CPU interval.
func (c *collector) addOffCPU(t *thread, s *timeline.Span, label LabelID) {
	key := CellKey{Class: ClassBlocked, State: s.State, CPU: s.CPU, Label: label}
	if c.o.Wakes > 0 {
		key.Wake = c.wakeOf(t, s)
	}
	switch {
	case s.Kind == timeline.SpanRunnable && s.Off.Throttled:
		key.Class = ClassThrottled
	case s.Kind == timeline.SpanRunnable && s.Off.Preempted:
		key.Class = ClassPreempted
	case s.Kind == timeline.SpanRunnable:
		key.Class = ClassRunnable
	}
	if key.Class == ClassBlocked {
		key.Wait = c.classes.Blocked(s.Stack, s.Wait, s.State, t.IsKernel)
		if c.o.Objects {
			key.Object = c.object(s.Wait, key.Wait.Class)
		}
	}
	if c.o.MinBlock > 0 && s.Off.Known && offCPULength(s) < c.o.MinBlock {
		short := c.o.Inside.length(s.Thread.Key, s.From, s.To)
		c.p.About.ShortBlocks += short
		if key.Class == ClassBlocked {
			t.shortBlocked += short
		}
		return
	}
	at := c.interner.wait(s.Stack)
	key.Stack = at.node
	if key.Class == ClassBlocked {
		c.noteSleep(t, s, at.node, key.Wait)
	}
	if key.Class == ClassBlocked || s.Off.Preempted {
		c.countStack(at)
	}
	count := uint64(1)
	if key.Class == ClassRunnable && s.From == t.offUntil {
		count = 0 // it continues the interval that began with the block
	}
	t.offUntil = s.To
	c.add(t, key, s.From, s.To, count)
}

// offCPULength returns the length of the whole off-CPU interval that a span is part of, ns.
func offCPULength(s *timeline.Span) int64 {
	length := s.To - s.Off.Since
	if s.Kind == timeline.SpanBlocked {
		length += s.Off.Delay
	}
	return length
}
