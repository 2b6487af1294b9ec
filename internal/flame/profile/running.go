package profile

import (
	"wprof/internal/stacks"
	"wprof/internal/timeline"
)

// running adds a running interval from its begin to its end, with the interrupts in it.
type running struct {
	c          *collector
	t          *thread
	key        CellKey // of the thread's own time, without a stack
	at         int64   // up to here the time is added
	interrupts []timeline.Interrupt
}

// until adds the time up to a time: the thread's own to the cell of a stack, with a number of samples.
func (r *running) until(to int64, stack NodeID, count uint64) {
	key := r.key
	key.Stack = stack
	for len(r.interrupts) > 0 && r.interrupts[0].From < to {
		one := &r.interrupts[0]
		if r.at < one.From {
			r.c.add(r.t, key, r.at, one.From, count)
			r.at, count = one.From, 0
		}
		end := min(one.To, to)
		r.c.add(r.t, r.interruptKey(one.By), r.at, end, 0)
		r.at = end
		if end < one.To {
			break
		}
		r.interrupts = r.interrupts[1:]
	}
	if r.at < to {
		r.c.add(r.t, key, r.at, to, count)
		r.at, count = to, 0
	}
	if count > 0 {
		r.cell(key).Count += count
	}
}

func (r *running) cell(key CellKey) *Cell {
	if !r.c.o.CPUs {
		key.CPU = NoCPU
	}
	return r.c.cell(r.t, key)
}

func (r *running) interruptKey(by timeline.InterruptID) CellKey {
	key := r.key
	key.Class, key.Stack = ClassInterrupt, r.c.interruptNode(by)
	return key
}

// interruptNode returns the stack that shows an interrupt: its name, below those that it interrupted.
func (c *collector) interruptNode(by timeline.InterruptID) NodeID {
	if known, found := c.interrupts[by]; found {
		return known
	}
	name, outer := c.spans.InterruptName(by)
	at := NodeID(0)
	if outer != 0 {
		at = c.interruptNode(outer)
	}
	at = c.interner.child(at, c.interner.note(interruptNote(name)))
	c.interrupts[by] = at
	return at
}

// interruptNote returns the frame that shows an interrupt.
func interruptNote(name string) string {
	return "[" + string(stacks.Printable([]byte(name), stacks.Unnamed)) + "]"
}

// ownSamples returns the samples of the thread itself, and counts those of interrupts.
func (r *running) ownSamples(inside []sampled) []sampled {
	own := r.c.own[:0]
	for _, one := range inside {
		by := r.c.spans.Sampled(r.interrupts, one.at, one.stack.interrupt)
		if by == 0 {
			own = append(own, one)
			continue
		}
		r.cell(r.interruptKey(by)).Count++
	}
	r.c.own = own
	return own
}

// addNearest divides a running interval among the samples in it: each gets the time that is nearer to it than to the others.
func (r *running) addNearest(s *timeline.Span, inside []sampled) {
	if len(inside) == 0 {
		r.until(s.To, r.c.interner.notSampled, 0)
	}
	for i, one := range inside {
		to := s.To
		if i+1 < len(inside) {
			to = one.at + (inside[i+1].at-one.at)/2
		}
		r.until(to, one.stack.node, 1)
	}
}

// addSpread adds the time of a running interval, and its samples without time.
func (r *running) addSpread(s *timeline.Span, inside []sampled) {
	c, t := r.c, r.t
	r.until(s.To, 0, 0)
	if t.trail != nil {
		c.fail(t.trail.addSamples(c.trails, s, inside))
	}
	for _, one := range inside {
		key := r.key
		key.Stack = one.stack.node
		cell := r.cell(key)
		cell.Count++
		if c.p.Slot > 0 && c.widen(s.To-c.first) {
			c.slotOf(cell, max(0, min(one.at, s.To-1)-c.first)/c.p.Slot).Samples++
		}
	}
}
