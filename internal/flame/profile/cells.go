package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrSlots is wrapped by the error of a stream that needs more slots than Options allow.
var ErrSlots = errors.New("the capture is more than")

// fewCells is the number of cells up to which a search is linear: most threads have few.
const fewCells = 8

// cell returns the cell of a key, which it adds if it is new.
func (c *collector) cell(t *thread, key CellKey) *Cell {
	if n := t.recent[key.Class]; int(n) < len(t.Cells) && t.Cells[n].CellKey == key {
		return &t.Cells[n]
	}
	n, found := t.find(key)
	if !found {
		n = t.insert(key)
		c.cells++
	}
	t.recent[key.Class] = n
	return &t.Cells[n]
}

func (t *thread) find(key CellKey) (n int32, found bool) {
	if t.index != nil {
		n, found = t.index[key]
		return n, found
	}
	for i := range t.Cells {
		if t.Cells[i].CellKey == key {
			return int32(i), true
		}
	}
	return 0, false
}

func (t *thread) insert(key CellKey) int32 {
	n := int32(len(t.Cells))
	if n < fewCells && int(n) == cap(t.Cells) { // doubling would waste much of the memory of very many threads
		t.Cells = append(make([]Cell, 0, n+1), t.Cells...)
	}
	t.Cells = append(t.Cells, Cell{CellKey: key})
	switch {
	case t.index != nil:
		t.index[key] = n
	case n == fewCells:
		for i := range t.Cells {
			t.put(t.Cells[i].CellKey, int32(i))
		}
	}
	return n
}

// put adds a cell to the index.
func (t *thread) put(key CellKey, n int32) {
	if t.index == nil {
		t.index = make(map[CellKey]int32, 4*fewCells)
	}
	t.index[key] = n
}

// add adds the time between two times, ns of CLOCK_MONOTONIC, to a cell.
func (c *collector) add(t *thread, key CellKey, from, to int64, count uint64) {
	if !c.o.CPUs {
		key.CPU = NoCPU
	}
	if c.o.Inside == nil {
		c.addPart(t, key, from, to, count, true)
		return
	}
	isFirst := true
	for from, to := range c.o.Inside.within(t.of.Key, from, to) {
		c.addPart(t, key, from, to, count, isFirst)
		count, isFirst = 0, false
	}
}

// addPart adds a part of the time; isFirst: none was added before.
func (c *collector) addPart(t *thread, key CellKey, from, to int64, count uint64, isFirst bool) {
	cell := c.cell(t, key)
	cell.Ns += to - from
	cell.Count += count
	if key.Class.Delay() && isFirst {
		cell.Waits++
	}
	if c.p.Slot > 0 {
		c.addSlots(cell, from-c.first, to-c.first)
	}
	if t.trail != nil {
		c.fail(t.trail.add(Piece{From: from - c.first, To: to - c.first, Class: key.Class, State: key.State, Wait: key.Wait, CPU: key.CPU, Label: key.Label, Stack: key.Stack}))
	}
}

// addSlots divides the time between two times among slots.
func (c *collector) addSlots(cell *Cell, from, to int64) {
	if !c.widen(to) {
		return
	}
	width := c.p.Slot
	for n := max(0, from) / width; from < to; n++ {
		end := to
		if n < (to-1)/width {
			end = (n + 1) * width
		}
		c.slotOf(cell, n).Ns += end - from
		from = end
	}
	if c.slots > c.slotTimeLimit {
		c.stretch()
	}
}

func (c *collector) slotOf(cell *Cell, n int64) *SlotTime {
	before := len(cell.Slots)
	slot := cell.slot(uint32(n))
	c.slots += len(cell.Slots) - before
	return slot
}

// slot returns the entry of a slot. The times of a thread come in order, so it is the last one or a new one, except for
// the idle thread, which all CPUs share.
func (c *Cell) slot(n uint32) *SlotTime {
	at := len(c.Slots)
	if at > 0 && c.Slots[at-1].Slot >= n {
		var found bool
		if at, found = slices.BinarySearchFunc(c.Slots, n, func(s SlotTime, n uint32) int { return cmp.Compare(s.Slot, n) }); found {
			return &c.Slots[at]
		}
	}
	c.Slots = slices.Insert(c.Slots, at, SlotTime{Slot: n})
	return &c.Slots[at]
}

// maxSlotTimes bounds the number of SlotTimes to 64 MiB. If there are more, slots become longer.
const maxSlotTimes = 4 << 20

// widen makes slots longer until the maximum number of slots reaches a time.
func (c *collector) widen(to int64) bool {
	for (to-1)/c.p.Slot >= int64(c.o.MaxSlots) {
		if !c.stretch() {
			return false
		}
	}
	return true
}

// stretch doubles the length of slots.
func (c *collector) stretch() bool {
	if !c.o.Stretch {
		c.fail(fmt.Errorf("%w %d slots of %v", ErrSlots, c.o.MaxSlots, time.Duration(c.p.Slot)))
		return false
	}
	c.p.Slot *= 2
	c.slots = 0
	c.eachThread(func(t *thread) { c.slots += halveSlots(&t.Thread) })
	return true
}

// halveSlots merges slots in pairs, and returns the number of SlotTimes that are left.
func halveSlots(t *Thread) (left int) {
	for i := range t.Cells {
		slots := t.Cells[i].Slots
		kept := slots[:0]
		for _, s := range slots {
			s.Slot /= 2
			if last := len(kept) - 1; last >= 0 && kept[last].Slot == s.Slot {
				kept[last].Ns += s.Ns
				kept[last].Samples += s.Samples
			} else {
				kept = append(kept, s)
			}
		}
		if len(kept) <= cap(kept)/2 {
			kept = slices.Clone(kept)
		}
		t.Cells[i].Slots = kept
		left += len(kept)
	}
	return left
}

// mergeSlots adds up two cells' slots.
func mergeSlots(a, b []SlotTime) []SlotTime {
	if len(a) == 0 {
		return b
	}
	all := make([]SlotTime, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Slot < b[0].Slot:
			all, a = append(all, a[0]), a[1:]
		case a[0].Slot > b[0].Slot:
			all, b = append(all, b[0]), b[1:]
		default:
			all = append(all, SlotTime{Slot: a[0].Slot, Samples: a[0].Samples + b[0].Samples, Ns: a[0].Ns + b[0].Ns})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// countSlots sets the number of slots.
func (c *collector) countSlots() {
	if c.p.Slot > 0 {
		c.p.Slots = int((c.p.About.Span + c.p.Slot - 1) / c.p.Slot)
	}
}
