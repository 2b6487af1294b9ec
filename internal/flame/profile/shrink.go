package profile

import (
	"math"
	"slices"
)

// Memory for stacks is bounded, however many different ones a stream has. Beyond the bound, the cells with the least time
// lose their stacks and are shown as [more stacks], so a long capture keeps the stacks with the most time.

// bounds are limits of what is kept.
type bounds struct {
	nodes int // stacks, and wakes
	bytes int // of names
	cells int
	// unswept is the number of threads at which the first sweep is made.
	unswept int
	// room is the approximate number of bytes for all of it; 0: the default.
	room int
}

// defaultBounds come to some 150 MiB.
func defaultBounds() bounds {
	return bounds{nodes: 1 << 20, bytes: 48 << 20, cells: 400_000, unswept: 1024}
}

func (c *collector) held() bounds {
	return bounds{nodes: len(c.p.Nodes) + len(c.p.Wakes), bytes: c.interner.bytes, cells: c.cells}
}

// within reports whether usage is below this fraction of the bounds.
func (b bounds) within(of bounds, parts, whole int) bool {
	return b.nodes < of.nodes/whole*parts && b.bytes < of.bytes/whole*parts && b.cells < of.cells/whole*parts
}

// shrink drops the stacks of half of the cells, and of more of them until there is room again. Trails refer to stacks
// that are already written, so with trails all are kept, and no new ones are added.
func (c *collector) shrink() {
	if c.trails != nil {
		c.interner.closed = true
		c.shrinkAt = bounds{nodes: math.MaxInt, bytes: math.MaxInt, cells: math.MaxInt}
		return
	}
	times := make([]int64, 0, c.cells)
	c.eachThread(func(t *thread) {
		for i := range t.Cells {
			times = append(times, c.estimate(&t.Cells[i]))
		}
	})
	slices.Sort(times)
	for part := 2; part <= 64 && len(times) > 0; part *= 2 {
		c.dropStacks(times[len(times)-1-len(times)/part])
		if c.held().within(c.bounds, 3, 4) {
			break
		}
	}
	// If many threads keep it above the bounds, the next try is at twice as much.
	held := c.held()
	c.shrinkAt = bounds{nodes: max(c.bounds.nodes, 2*held.nodes), bytes: max(c.bounds.bytes, 2*held.bytes), cells: max(c.bounds.cells, 2*held.cells)}
}

// dropStacks replaces the stacks of all cells with at most this time by [more stacks], and frees stacks that are not used any more.
func (c *collector) dropStacks(most int64) {
	c.cells, c.slots = 0, 0
	c.eachThread(func(t *thread) {
		c.reduce(t, most)
		c.cells += len(t.Cells)
		for i := range t.Cells {
			c.slots += len(t.Cells[i].Slots)
		}
	})
	c.compact()
}

// estimate returns the cell's time or, if that is divided later, about what its samples will get.
func (c *collector) estimate(cell *Cell) int64 {
	if c.o.Spread && cell.Class == ClassOnCPU && cell.Stack != 0 {
		return max(cell.Ns, int64(cell.Count)*max(1, c.p.About.Period()))
	}
	return cell.Ns
}

func (c *collector) eachThread(visit func(*thread)) {
	for _, t := range c.threads {
		visit(t)
	}
	for _, t := range c.ended {
		visit(t)
	}
	for _, t := range c.kept {
		visit(t)
	}
}

// reduce merges the small cells of a thread into one for each class, state and name.
func (c *collector) reduce(t *thread, most int64) {
	all := t.Cells
	t.Cells, t.index, t.recent = nil, nil, [classes]int32{}
	for i := range all {
		cell := &all[i]
		if c.estimate(cell) <= most && cell.Stack != 0 && !(c.o.Spread && cell.Class == ClassOnCPU && cell.Stack == c.interner.notSampled) {
			cell.Stack, cell.Wake = c.interner.more, 0
		}
		n, found := t.find(cell.CellKey)
		if !found {
			n = t.insert(cell.CellKey)
		}
		into := &t.Cells[n]
		into.Ns += cell.Ns
		into.Count += cell.Count
		into.Waits += cell.Waits
		into.Slots = mergeSlots(into.Slots, cell.Slots)
	}
}

// compact renumbers the stacks, frames, wakes and names that are still in use.
func (c *collector) compact() {
	r := renumbering{old: c.p.Nodes, frames: c.p.Frames, wakes: c.p.Wakes, labels: c.p.Labels, interner: c.interner}
	r.begin(c)
	ended := c.ended
	c.ended = make(map[LabelID]*thread, len(ended))
	for id, t := range ended {
		c.ended[r.label(c, id)] = t
	}
	c.eachThread(func(t *thread) {
		index := t.index != nil
		t.index, t.Label = nil, r.label(c, t.Label)
		for i := range t.Cells {
			cell := &t.Cells[i]
			cell.Stack, cell.Wake, cell.Label = r.node(cell.Stack), r.wake(c, cell.Wake), r.label(c, cell.Label)
			if index {
				t.put(cell.CellKey, int32(i))
			}
		}
		for i := range t.samples {
			t.samples[i].stack.node = r.node(t.samples[i].stack.node)
		}
		t.sleeps.Map(func(id uint32) uint32 { return uint32(r.node(NodeID(id))) })
		t.woken.wake, t.early.wake = r.wake(c, t.woken.wake), r.wake(c, t.early.wake)
	})
	clear(c.same)
	clear(c.paths)
}

// renumbering maps old ids to new ones.
type renumbering struct {
	old      []Node
	frames   []Frame
	wakes    []Wake
	labels   []Label
	interner *interner

	nodes     []NodeID
	newFrames []FrameID
	newWakes  []WakeID
	newLabels []LabelID
}

func (r *renumbering) begin(c *collector) {
	r.nodes, r.newFrames, r.newWakes = make([]NodeID, len(r.old)), make([]FrameID, len(r.frames)), make([]WakeID, len(r.wakes))
	r.newLabels = make([]LabelID, len(r.labels))
	c.interner.reset()
	c.p.Wakes, c.p.Labels = make([]Wake, 1), make([]Label, 1)
	c.wakes, c.labels = newInterned[Wake, WakeID](), newInterned[Label, LabelID]()
	c.byTask.Clear()
	clear(c.interrupts)
	if c.counter != nil {
		clear(c.counter.labels)
	}
}

func (r *renumbering) label(c *collector, id LabelID) LabelID {
	if id != 0 && r.newLabels[id] == 0 {
		l := r.labels[id]
		l.Comm, l.Process, l.ProcessComm = r.interner.sharedText(l.Comm), r.interner.sharedText(l.Process), r.interner.sharedText(l.ProcessComm)
		r.newLabels[id] = c.labels.intern(&c.p.Labels, l)
	}
	return r.newLabels[id]
}

func (r *renumbering) node(id NodeID) NodeID {
	if id == 0 || r.nodes[id] != 0 {
		return r.nodes[id]
	}
	n := r.old[id]
	to := r.interner.child(r.node(n.Parent), r.frame(n.Frame))
	r.nodes[id] = to
	return to
}

func (r *renumbering) frame(id FrameID) FrameID {
	if r.newFrames[id] == 0 {
		f := r.frames[id]
		for i := range f.Functions {
			f.Functions[i].replaceTexts(r.interner.sharedText)
		}
		f.Module, f.BuildID = r.interner.sharedText(f.Module), r.interner.sharedText(f.BuildID)
		r.newFrames[id] = r.interner.intern(f)
	}
	return r.newFrames[id]
}

func (f *Function) replaceTexts(shared func(string) string) {
	f.Name, f.Linkage, f.File = shared(f.Name), shared(f.Linkage), shared(f.File)
}

func (r *renumbering) wake(c *collector, id WakeID) WakeID {
	if id == 0 || r.newWakes[id] != 0 {
		return r.newWakes[id]
	}
	w := r.wakes[id]
	w.Label, w.Stack, w.Before = r.label(c, w.Label), r.node(w.Stack), r.wake(c, w.Before)
	r.newWakes[id] = c.internWake(w)
	return r.newWakes[id]
}
