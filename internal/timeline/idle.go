package timeline

import "wprof/format"

// idling is an idle interval of a CPU.
type idling struct {
	thread *Thread // nil: not idle, or not known
	from   int64
	Begin
	prio   int32
	seen   int64 // the last time at which it was certainly idle
	cursor int64 // spans are reported up to here
}

// idleOn returns the entry of a CPU; nil if there can be no CPU of that number.
func (s *Spans) idleOn(n uint32) *idling {
	if n >= maxCPUs {
		return nil
	}
	if int64(n) >= int64(len(s.idle)) {
		s.idle = append(s.idle, make([]idling, int(n)+1-len(s.idle))...)
	}
	return &s.idle[n]
}

func (s *Spans) idleBegins(n uint32, t *Thread, i idling) {
	c := s.idleOn(n)
	if c == nil || s.runningOnly {
		return
	}
	i.thread, i.cursor = t, c.cursor
	i.seen = max(i.seen, i.from)
	*c = i
}

// idleIs sets that a CPU is idle, and since when.
func (s *Spans) idleIs(n uint32, t *Thread, i idling) {
	c := s.idleOn(n)
	if c == nil {
		return
	}
	if c.thread != nil && (!i.SinceKnown || !c.SinceKnown || i.Approx || c.Approx || i.Since == c.Since) {
		c.seen = max(c.seen, i.seen)
		return
	}
	s.idleLost(n, 0)
	s.idleBegins(n, t, i)
}

func (s *Spans) idleSeen(n uint32, at int64) {
	if int64(n) < int64(len(s.idle)) && s.idle[n].thread != nil {
		s.idle[n].seen = max(s.idle[n].seen, at)
	}
}

// idleLost ends a CPU's idle time where it is last certain, or at the loss that makes it unknown.
func (s *Spans) idleLost(n uint32, from int64) {
	if int64(n) < int64(len(s.idle)) {
		s.idleEnds(n, max(s.idle[n].seen, from), 0, false)
	}
}

func (s *Spans) idleEnds(n uint32, to int64, next format.TaskID, open bool) {
	if int64(n) < int64(len(s.idle)) && s.idle[n].thread != nil {
		s.idleUntil(n, to, next, open)
		s.idle[n].thread = nil
	}
}

// idleUntil emits the span of an idle CPU up to a time.
func (s *Spans) idleUntil(n uint32, to int64, next format.TaskID, open bool) {
	if int64(n) >= int64(len(s.idle)) || s.idle[n].thread == nil {
		return
	}
	c := &s.idle[n]
	from := max(c.from, c.cursor, s.opened)
	to = min(to, s.now)
	if !s.open || from >= to {
		return
	}
	s.span = Span{
		Thread: c.thread, Task: c.thread.Task, Kind: SpanRunning, From: from, To: to, Since: c.Since,
		SinceKnown: c.SinceKnown, Approx: c.Approx, Open: open, CPU: n, Prio: c.prio, Next: next,
	}
	if s.interrupts != nil {
		s.span.Interrupts = s.interrupts.take(n, from, to)
	}
	s.emit(&s.span)
	c.cursor = to
}
