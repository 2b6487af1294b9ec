package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Threads that have ended are kept until the profile takes too much memory. Then slots become longer, and the ended
// threads with the least time are merged by name or, where that is not enough, as [more threads]. The timeline bounds the
// number of live threads.

// Memory for each element, including references to it, bytes.
const (
	perThread = 256
	perCell   = 88
	perLabel  = 150
	perNode   = 32
	perSlot   = 24
	perPage   = 500 // more for each thread of a page or with trails
)

// defaultRoom is the limit for a collector, its timeline and the definitions together, of the 256 MiB that a tool may take:
// some garbage is always there, and the output needs room too.
const (
	defaultRoom = 176 << 20
	pageRoom    = 136 << 20 // for a page or with trails: their tables take memory besides the profile
	BothRoom    = 152 << 20 // for two profiles that are compared
	alsoRoom    = 48 << 20  // for the tables of Options.Also
	minRoom     = 32 << 20
)

// maxTrails bounds the live threads that have trails: each of them takes twice as much memory as another one.
const maxTrails = 72 << 10

// MaxBeside bounds the live threads where Options.Also has an entry for each, too.
const MaxBeside = 24 << 10

// memory returns the bytes that a collector takes without its timeline.
func (c *collector) memory() int {
	threads := len(c.threads) + len(c.kept) + len(c.ended)
	each := perThread
	if c.o.Slot > 0 || c.o.Trail {
		each += perPage
	}
	return threads*each + c.cells*perCell + len(c.p.Labels)*perLabel + c.stackMemory() + c.slots*perSlot
}

func (c *collector) stackMemory() int {
	return c.interner.bytes + (len(c.p.Nodes)+len(c.p.Wakes))*perNode
}

// memoryLimit returns the limit for memory.
func (c *collector) memoryLimit() int {
	if c.bounds.room != 0 {
		return c.bounds.room
	}
	room := cmp.Or(c.o.Memory, defaultRoom)
	if c.o.Stretch || c.o.Trail {
		room = min(room, pageRoom)
	}
	timelines := c.spans.Timeline().Memory()
	if c.o.Also != nil { // which has one too
		room, timelines = room-alsoRoom, 2*timelines
	}
	return max(minRoom, room-c.r.DefinitionMemory()-timelines)
}

// limitMemory frees memory if a limit is exceeded.
func (c *collector) limitMemory() {
	limit := c.memoryLimit()
	// Each cell has a part of time in one slot at least.
	c.slotTimeLimit = min(maxSlotTimes, max(1<<18+2*c.cells, (limit-len(c.threads)*perPage)/2/perSlot))
	if c.memory() < max(limit, c.limitAt) {
		return
	}
	c.sweep()
	enough := func() bool { return c.memory() < limit/4*3 }
	if c.stackMemory() > limit/3 {
		c.shrink()
	}
	for before := math.MaxInt; c.o.Stretch && !enough() && c.slots*perSlot > limit/8 && c.slots < before/4*3; {
		before = c.slots
		c.stretch()
	}
	if !enough() {
		c.mergeLeast()
	}
	// If many live threads keep it above the limit, the next try is at an eighth more.
	c.limitAt = c.memory() / 8 * 9
}

// mergeLeast merges the half of the ended threads with the least time by name, and those whose name is unique as
// [more threads].
func (c *collector) mergeLeast() {
	all := slices.AppendSeq(slices.Clone(c.kept), maps.Values(c.ended))
	slices.SortFunc(all, func(a, b *thread) int {
		return cmp.Or(cmp.Compare(a.Lifetime, b.Lifetime), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID), cmp.Compare(a.Label, b.Label))
	})
	all = all[:len(all)/2]
	least := make(map[*thread]bool, len(all))
	names := make(map[Label]int)
	for _, t := range all {
		least[t] = true
		names[c.nameOf(t.Label)]++
	}
	c.kept = slices.DeleteFunc(c.kept, func(t *thread) bool { return least[t] })
	maps.DeleteFunc(c.ended, func(_ LabelID, t *thread) bool { return least[t] })
	for _, t := range all {
		of := &c.p.Labels[t.Label]
		label := Label{Comm: MoreThreads, Process: MoreThreads, ProcessComm: MoreThreads, place: of.place}
		if one := c.nameOf(t.Label); names[one] > 1 {
			label = one
		}
		c.merged++
		t.PID, t.Label = 0, c.internLabel(label)
		for i := range t.Cells {
			t.Cells[i].Label = t.Label
		}
		c.merge(t)
	}
	if c.trails == nil {
		c.compact()
	}
}

// nameOf returns a label without its pid, tid and command line: there may be as many of these as processes.
func (c *collector) nameOf(id LabelID) Label {
	l := &c.p.Labels[id]
	return Label{Comm: l.Comm, Process: l.ProcessComm, ProcessComm: l.ProcessComm, place: l.place}
}
