package profile

import (
	"cmp"
	"slices"

	"wprof/internal/timeline"
)

// sweep moves the threads that have ended into the profile.
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

// finish moves all threads into the profile.
func (c *collector) finish() error {
	c.p.About.DroppedThreads, c.p.About.Merged = c.spans.Timeline().DroppedThreads(), c.merged
	c.spans = nil // frees it before the threads are copied
	for i, t := range c.threads {
		c.retire(t)
		c.threads[i] = nil
	}
	if c.counter != nil {
		c.counter.finish()
	}
	c.threads, c.labels, c.wakes, c.same, c.paths = nil, interned[Label, LabelID]{}, interned[Wake, WakeID]{}, nil, nil
	c.eachThread(func(t *thread) {
		alone := t.Thread // a copy, so that the rest of t, as large again, is freed
		c.p.Threads = append(c.p.Threads, &alone)
	})
	slices.SortFunc(c.p.Threads, func(a, b *Thread) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Label, b.Label))
	})
	c.countSlots()
	if c.o.Spread && !c.o.Addresses {
		c.p.findAlike()
	}
	c.p.Memory = len(c.p.Threads)*perThread/2 + c.cells*perCell + c.interner.bytes + len(c.p.Labels)*perLabel/2 + len(c.p.Nodes)*perNode/2 + c.slots*perSlot
	c.kept, c.ended, c.interner = nil, nil, nil
	return c.failed
}

// retire completes a thread whose times are all known, and moves it to kept or ended.
func (c *collector) retire(t *thread) {
	c.findIdleWaits(t)
	if t.trail != nil {
		c.fail(t.trail.end())
		t.Trail = idleTrail{t.trail, t.idle}
	}
	if t.Lifetime == 0 {
		return
	}
	c.label(t, 0)
	t.of.Own = nil
	t.of, t.samples = nil, nil
	if cap(t.Cells) > len(t.Cells) {
		t.Cells = slices.Clone(t.Cells)
	}
	if c.o.Threads || c.isLarge(t) {
		if t.index = nil; !c.o.Threads {
			t.TID, t.Start = 0, 0
		}
		c.kept = append(c.kept, t)
		return
	}
	c.merge(t)
}

// isLarge reports whether a thread's on-CPU time may be divided among its own samples only.
func (c *collector) isLarge(t *thread) bool {
	if !c.o.Spread {
		return false
	}
	ns := int64(0)
	for i := range t.Cells {
		if cell := &t.Cells[i]; cell.Class == ClassOnCPU {
			ns += cell.Ns
		}
	}
	return c.p.About.isLarge(ns)
}

// markUnsampled sets the stack of on-CPU time for which there is no sample, by name: merged with other threads' it is not distinguishable.
func (c *collector) markUnsampled(t *thread) {
	if !c.o.Spread {
		return
	}
	sampled := make(map[LabelID]bool)
	for i := range t.Cells {
		if cell := &t.Cells[i]; cell.Class == ClassOnCPU && cell.Stack != 0 && cell.Count > 0 {
			sampled[cell.Label] = true
		}
	}
	for i := range t.Cells {
		if cell := &t.Cells[i]; cell.Class == ClassOnCPU && cell.Stack == 0 && !sampled[cell.Label] {
			cell.Stack = c.interner.notSampled
		}
	}
}

// merge adds a thread to the ended ones of the same name.
func (c *collector) merge(t *thread) {
	c.markUnsampled(t)
	into := c.ended[t.Label]
	if into == nil {
		if c.ended == nil {
			c.ended = make(map[LabelID]*thread)
		}
		t.TID, t.Start, t.IsMerged = 0, 0, true
		if t.index != nil { // some cells are waits for work now, or have another name
			clear(t.index)
			for i := range t.Cells {
				t.put(t.Cells[i].CellKey, int32(i))
			}
		}
		if c.trails != nil {
			t.Trail = c.trails.thread() // merged threads have no trail
		}
		c.ended[t.Label] = t
		return
	}
	into.Lifetime += t.Lifetime
	c.cells -= len(t.Cells)
	for i := range t.Cells {
		from := &t.Cells[i]
		cell := c.cell(into, from.CellKey)
		cell.Ns += from.Ns
		cell.Count += from.Count
		cell.Waits += from.Waits
		cell.Slots = mergeSlots(cell.Slots, from.Slots)
	}
}
