package profile

import (
	"cmp"
	"math/bits"
	"slices"
)

// spread divides the on-CPU time of a thread evenly among all of its samples, separately for each name and CPU that is
// kept apart. Interval by interval, only those with a sample have a stack, which overstates long ones; this is right on
// average for short and long ones. The total does not change, nor does that of any slot.
func (c *collector) spread(t *thread) {
	type group struct {
		label LabelID
		cpu   uint32
	}
	groups := make(map[group][]*Cell)
	for i := range t.Cells {
		if cell := &t.Cells[i]; cell.Class == ClassOnCPU {
			g := group{cell.Label, cell.CPU}
			groups[g] = append(groups[g], cell)
		}
	}
	for _, cells := range groups {
		c.spreadCells(cells)
	}
}

func (c *collector) spreadCells(cells []*Cell) {
	var ns int64
	var count uint64
	for _, cell := range cells {
		ns += cell.Ns
		count += cell.Count
	}
	if count == 0 {
		return
	}
	whole := division{ns: ns, count: count}
	for _, cell := range cells {
		cell.Ns = whole.part(cell.Count)
	}
	if c.p.Slot > 0 {
		c.spreadSlots(cells)
	}
}

// batch is the time for the samples of a cell in one slot.
type batch struct {
	slot uint32
	cell *Cell
	ns   int64
}

// spreadSlots divides the cells' new times among the slots in which the thread ran: each sample, in order of time, gets the next part
// of the time in the slots. So a slot keeps its time, and has the stacks of samples that were taken in it or near it.
func (c *collector) spreadSlots(cells []*Cell) {
	var ran []SlotTime
	var all []batch
	for _, cell := range cells {
		ran = mergeSlots(ran, cell.Slots)
		all = appendBatches(all, cell)
		c.slots -= len(cell.Slots)
		cell.Slots = nil
	}
	slices.SortStableFunc(all, func(a, b batch) int { return cmp.Compare(a.slot, b.slot) })
	for _, b := range all {
		for b.ns > 0 && len(ran) > 0 {
			n := min(b.ns, ran[0].Ns)
			if n > 0 {
				b.cell.slot(ran[0].Slot).Ns += n
			}
			b.ns -= n
			if ran[0].Ns -= n; ran[0].Ns == 0 {
				ran = ran[1:]
			}
		}
	}
	for _, cell := range cells {
		c.slots += len(cell.Slots)
	}
}

// appendBatches divides a cell's time among its samples.
func appendBatches(all []batch, cell *Cell) []batch {
	whole := division{ns: cell.Ns, count: cell.Count}
	for _, s := range cell.Slots {
		if s.Samples > 0 {
			all = append(all, batch{s.Slot, cell, whole.part(uint64(s.Samples))})
		}
	}
	return all
}

// division divides a time among samples so that the parts add up to it.
type division struct {
	ns    int64
	count uint64 // of all samples
	given int64  // ns of the parts so far
	done  uint64 // samples of the parts so far
}

// part returns the time for the next samples.
func (d *division) part(samples uint64) int64 {
	d.done += samples
	hi, lo := bits.Mul64(uint64(d.ns), d.done)
	until, _ := bits.Div64(hi, lo, d.count)
	ns := int64(until) - d.given
	d.given = int64(until)
	return ns
}
