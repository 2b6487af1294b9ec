package flame

import (
	"cmp"
	"slices"
)

// grapher makes a graph of a profile.
type grapher struct {
	p     *Profile
	v     View
	nodes []seed // 0 is the root of all
	self  []Weight
	index map[graphKey]int32
	path  []stepID
	steps []step
	named map[stepKey]stepID
	// frames are the steps of each frame of the profile, once they are needed.
	frames [][]stepID
}

// stepID is an index into grapher.steps.
type stepID uint32

// step is a frame on the way to a graph's leaf.
type step struct {
	name   string
	kind   Kind
	module string
}

// stepKey is what makes two steps from the same frame of a graph one.
type stepKey struct {
	name string
	kind Kind
}

// graphKey is what makes two frames of a graph one.
type graphKey struct {
	parent int32
	step   stepID
	mark   Mark
}

func newGrapher(p *Profile, v View) *grapher {
	b := &grapher{p: p, v: v, named: make(map[stepKey]stepID), frames: make([][]stepID, len(p.Frames))}
	b.begin()
	return b
}

// begin begins another graph.
func (b *grapher) begin() {
	b.nodes, b.self = append(b.nodes[:0], seed{parent: -1}), append(b.self[:0], Weight{})
	b.index = make(map[graphKey]int32)
}

// end makes the graph: its frames are large, and so they are made when their number is known.
func (b *grapher) end() *Graph {
	b.index = nil
	g := &Graph{Nodes: make([]GraphNode, len(b.nodes))}
	for i, one := range b.nodes {
		n := &g.Nodes[i]
		n.Kind, n.Parent, n.Mark, n.Self = KindRoot, one.parent, one.mark, b.self[i]
		if i > 0 {
			s := &b.steps[one.step]
			n.Name, n.Kind, n.Module, n.Depth = s.name, s.kind, s.module, g.Nodes[one.parent].Depth+1
			g.Depth = max(g.Depth, int(n.Depth))
		}
	}
	g.adopt()
	g.settle()
	return g
}

// seed is what becomes a frame of a graph.
type seed struct {
	parent int32
	step   stepID
	mark   Mark
}

// Graph merges what a view tells of the profile.
func (p *Profile) Graph(v View) *Graph {
	var cells []*Cell
	for _, t := range p.Threads {
		if v.Only != nil && !v.Only(t) {
			continue
		}
		for i := range t.Cells {
			cells = append(cells, &t.Cells[i])
		}
	}
	if len(cells) > manyCells {
		// What there is no room for is the least of it.
		slices.SortStableFunc(cells, func(a, b *Cell) int { return cmp.Compare(b.Ns, a.Ns) })
	}
	b := newGrapher(p, v)
	for _, c := range cells {
		b.cell(c)
	}
	return b.end()
}

// manyCells is how many cells may need more frames than a graph has: no stack has more than 256 places.
const manyCells = maxGraphNodes / 300

// step is the id of a step, which is of the module in which it was seen first.
func (b *grapher) step(name string, kind Kind, module string) stepID {
	key := stepKey{name, kind}
	id, found := b.named[key]
	if !found {
		id = stepID(len(b.steps))
		b.steps = append(b.steps, step{name, kind, module})
		b.named[key] = id
	}
	return id
}

func (b *grapher) note(name string) stepID { return b.step(name, KindNote, "") }

// cell adds a cell's time to the graph.
func (b *grapher) cell(c *Cell) {
	w := b.v.weight(c)
	if !b.v.tells(c.Class) || w == (Weight{}) {
		return
	}
	b.path = b.path[:0]
	if b.v.By != ByNone {
		b.path = append(b.path, b.step(b.v.root(b.p, c), KindRoot, ""))
	}
	roots := len(b.path)
	b.appendStack(c.Stack)
	if b.v.Reverse {
		slices.Reverse(b.path[roots:])
	}
	if note := b.v.note(c); note != "" {
		b.path = append(b.path, b.note(note))
	}
	if b.v.Mode == Waker && c.Class.OffCPU() {
		b.appendWakers(c)
	}
	b.add(b.path, b.v.mark(c.Class), w)
}

// appendStack appends the path of a call stack, outermost frame first.
func (b *grapher) appendStack(id NodeID) {
	first := len(b.path)
	for ; id != 0; id = b.p.Nodes[id].Parent {
		b.path = append(b.path, b.frame(b.p.Nodes[id].Frame)...)
	}
	slices.Reverse(b.path[first:])
}

// stack is a call stack by itself, outermost frame first.
func (b *grapher) stack(id NodeID) []step {
	b.path = b.path[:0]
	b.appendStack(id)
	var all []step
	for _, id := range b.path {
		all = append(all, b.steps[id])
	}
	return all
}

// frame is the steps of a frame, innermost first.
func (b *grapher) frame(id FrameID) []stepID {
	if b.frames[id] != nil {
		return b.frames[id]
	}
	f := &b.p.Frames[id]
	steps := make([]stepID, 0, len(f.Functions))
	for _, of := range slices.Backward(f.Functions) {
		steps = append(steps, b.step(of.Name, f.kind(), f.Module))
	}
	b.frames[id] = steps
	return steps
}

func (f *Frame) kind() Kind {
	switch {
	case f.Note:
		return KindNote
	case f.Kernel:
		return KindKernel
	}
	return KindUser
}

// Notes about wakers.
const (
	wakerMark    = "--" // between a stack and that of who ended its wait
	notWoken     = "[not woken]"
	unknownWaker = "[unknown waker]"
)

// appendWakers appends who ended a time off the CPU: their stacks, innermost frame first, each with its thread's name above.
func (b *grapher) appendWakers(c *Cell) {
	if c.Wake == 0 {
		b.path = append(b.path, b.note(wakerMark), b.note(notWoken))
	}
	for id := c.Wake; id != 0; id = b.p.Wakes[id].Before {
		w := &b.p.Wakes[id]
		b.path = append(b.path, b.note(wakerMark))
		stack := len(b.path)
		b.appendStack(w.Stack)
		slices.Reverse(b.path[stack:])
		if w.Label != 0 {
			b.path = append(b.path, b.step(b.p.Labels[w.Label].Comm, KindRoot, ""))
		} else {
			b.path = append(b.path, b.note(unknownWaker))
		}
	}
}

// maxGraphNodes bounds a graph to some 200 MiB. What would need more frames is told as [more stacks] of its root.
const maxGraphNodes = 1 << 20

// add puts a weight at the end of a path.
func (b *grapher) add(path []stepID, mark Mark, w Weight) {
	at := int32(0)
	for i, id := range path {
		key := graphKey{parent: at, step: id}
		if i == len(path)-1 {
			key.mark = mark
		}
		next, found := b.index[key]
		if !found {
			if len(b.nodes) >= maxGraphNodes && i > 0 && b.steps[id].name != moreStacks {
				b.add(append(path[:1:1], b.note(moreStacks)), mark, w)
				return
			}
			next = int32(len(b.nodes))
			b.index[key] = next
			b.nodes, b.self = append(b.nodes, seed{at, id, key.mark}), append(b.self, Weight{})
		}
		at = next
	}
	b.self[at].add(w)
}
