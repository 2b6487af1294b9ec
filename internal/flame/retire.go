package flame

import (
	"cmp"
	"slices"

	"wprof/internal/timeline"
)

// sweep takes the threads that have ended into the profile.
func (c *collector) sweep() {
	c.threads = slices.DeleteFunc(c.threads, func(t *thread) bool {
		if t.of.Status != timeline.Dead {
			return false
		}
		c.retire(t)
		return true
	})
	c.swept = len(c.threads)
}

// finish takes all threads into the profile.
func (c *collector) finish() error {
	for _, t := range c.threads {
		c.retire(t)
	}
	c.threads = nil
	c.eachThread(func(t *thread) { c.p.Threads = append(c.p.Threads, &t.Thread) })
	slices.SortFunc(c.p.Threads, func(a, b *Thread) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Label, b.Label))
	})
	c.countSlots()
	c.p.About.Forgotten = c.spans.Timeline().Forgotten()
	return c.failed
}

// retire ends a thread: what it waited for is known now.
func (c *collector) retire(t *thread) {
	c.judgeIdle(t)
	if c.o.Spread {
		c.spread(t)
	}
	if t.trail != nil {
		c.fail(t.trail.end())
		t.Trail = idleTrail{t.trail, t.idle}
	}
	if t.Lifetime == 0 {
		return
	}
	c.label(t, 0)
	if c.o.Threads && len(c.kept) < maxThreads {
		t.of, t.index, t.samples = nil, nil, nil
		c.kept = append(c.kept, t)
		return
	}
	c.merge(t)
}

// merge adds a thread to those of its name that have ended before.
func (c *collector) merge(t *thread) {
	if len(c.ended) >= maxThreads {
		t.Label = c.nameAlone(t.Label)
		for i := range t.Cells {
			t.Cells[i].Label = c.nameAlone(t.Cells[i].Label)
		}
		t.PID = 0
	}
	into := c.ended[t.Label]
	if into == nil {
		if c.ended == nil {
			c.ended = make(map[LabelID]*thread)
		}
		into = &thread{}
		into.PID, into.Label, into.IsKernel = t.PID, t.Label, t.IsKernel
		c.ended[t.Label] = into
	}
	into.Lifetime += t.Lifetime
	c.cells -= len(t.Cells)
	for i := range t.Cells {
		from := &t.Cells[i]
		cell := c.cell(into, from.CellKey)
		cell.Ns += from.Ns
		cell.Count += from.Count
		cell.Slots = mergeSlots(cell.Slots, from.Slots)
	}
}
