package flame

import (
	"cmp"
	"slices"
)

// grapher makes a graph of a profile, or of two that are compared.
type grapher struct {
	v     View
	sides []side
	room  int // bytes
	g     *Graph
	index map[graphKey]int32
	path  []stepID
	steps []*Step
	named map[stepKey]stepID
}

// side is a profile on its way into a graph.
type side struct {
	p *Profile
	// frames are the steps of each frame of the profile, once they are needed.
	frames [][]stepID
}

// stepID is an index into grapher.steps.
type stepID uint32

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

// What the parts of a graph take in memory while it is made, bytes.
const (
	perGraphNode = 128
	perBaseNode  = 64 // more of one that is compared
	perStep      = 160
)

// A graph and the profiles that it is made of may take profileAndGraph, and the graph alone from leastGraph to mostGraph: with
// what a picture needs it is below 256 MiB then.
const (
	profileAndGraph = 164 << 20
	leastGraph      = 40 << 20
	mostGraph       = 136 << 20
)

func newGrapher(v View, profiles ...*Profile) *grapher {
	b := &grapher{v: v, named: make(map[stepKey]stepID), room: profileAndGraph}
	for _, p := range profiles {
		b.sides = append(b.sides, side{p, make([][]stepID, len(p.Frames))})
		b.room -= p.memory
	}
	b.room = min(max(leastGraph, b.room), mostGraph)
	b.begin()
	return b
}

// begin begins another graph.
func (b *grapher) begin() {
	b.g, b.index = &Graph{}, make(map[graphKey]int32)
	b.node(graphKey{parent: -1}, &Step{Kind: KindRoot})
}

func (b *grapher) node(key graphKey, s *Step) int32 {
	id := int32(len(b.g.Nodes))
	b.index[key] = id
	b.g.Nodes, b.g.Self = append(b.g.Nodes, GraphNode{Step: s, Mark: key.mark, Parent: key.parent}), append(b.g.Self, Weight{})
	if len(b.sides) > 1 {
		b.g.BaseSelf = append(b.g.BaseSelf, Weight{})
	}
	return id
}

// isFull reports whether there is no room for another frame.
func (b *grapher) isFull() bool {
	return len(b.g.Nodes)*b.perNode()+len(b.steps)*perStep >= b.room
}

func (b *grapher) perNode() int { return perGraphNode + (len(b.sides)-1)*perBaseNode }

// end makes the graph.
func (b *grapher) end() *Graph {
	g := b.g
	b.g, b.index = nil, nil
	g.settle()
	return g
}

// Graph merges what a view shows of the profile.
func (p *Profile) Graph(v View) *Graph {
	b := newGrapher(v, p)
	b.cells()
	return b.end()
}

// cells adds the time of all cells.
func (b *grapher) cells() {
	type one struct {
		*Cell
		side *side
	}
	cells := 0
	b.eachThread(func(_ *side, t *Thread) { cells += len(t.Cells) })
	all := make([]one, 0, cells)
	b.eachThread(func(s *side, t *Thread) {
		for i := range t.Cells {
			all = append(all, one{&t.Cells[i], s})
		}
	})
	// No stack has more than 256 places. Where not all may fit, the longest times come first.
	if len(all)*300*b.perNode() > b.room {
		slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(b.Ns, a.Ns) })
	}
	for _, c := range all {
		b.cell(c.side, c.Cell)
	}
}

// eachThread visits the threads that the view has.
func (b *grapher) eachThread(visit func(*side, *Thread)) {
	for i := range b.sides {
		for _, t := range b.sides[i].p.Threads {
			if b.v.Only == nil || b.v.Only(t) {
				visit(&b.sides[i], t)
			}
		}
	}
}

// step is the id of a step, which is of the module in which it was seen first.
func (b *grapher) step(name string, kind Kind, module string) stepID {
	key := stepKey{name, kind}
	id, found := b.named[key]
	if !found {
		id = stepID(len(b.steps))
		b.steps = append(b.steps, &Step{name, kind, module})
		b.named[key] = id
	}
	return id
}

func (b *grapher) note(name string) stepID { return b.step(name, KindNote, "") }

// cell adds a cell's time to the graph.
func (b *grapher) cell(s *side, c *Cell) {
	w := b.v.weight(c)
	if !b.v.tells(c.Class) || w == (Weight{}) {
		return
	}
	b.path = b.path[:0]
	if b.v.By != ByNone {
		b.path = append(b.path, b.step(b.v.root(s.p, c), KindRoot, ""))
	}
	roots := len(b.path)
	b.appendStack(s, c.Stack)
	if b.v.Reverse {
		slices.Reverse(b.path[roots:])
	}
	if note := b.v.note(c); note != "" {
		b.path = append(b.path, b.note(note))
	}
	if b.v.Mode == Waker && c.Class.OffCPU() {
		b.appendWakers(s, c)
	}
	b.add(s, b.path, b.v.mark(c.Class), w)
}

// appendStack appends the path of a call stack, outermost frame first.
func (b *grapher) appendStack(s *side, id NodeID) {
	first := len(b.path)
	for ; id != 0; id = s.p.Nodes[id].Parent {
		b.path = append(b.path, b.frame(s, s.p.Nodes[id].Frame)...)
	}
	slices.Reverse(b.path[first:])
}

// stack is a call stack by itself, outermost frame first.
func (b *grapher) stack(id NodeID) []*Step {
	b.path = b.path[:0]
	b.appendStack(&b.sides[0], id)
	var all []*Step
	for _, id := range b.path {
		all = append(all, b.steps[id])
	}
	return all
}

// frame is the steps of a frame, innermost first.
func (b *grapher) frame(s *side, id FrameID) []stepID {
	if s.frames[id] != nil {
		return s.frames[id]
	}
	f := &s.p.Frames[id]
	steps := make([]stepID, 0, len(f.Functions))
	for _, of := range slices.Backward(f.Functions) {
		steps = append(steps, b.step(of.Name, f.kind(), f.Module))
	}
	s.frames[id] = steps
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
func (b *grapher) appendWakers(s *side, c *Cell) {
	if c.Wake == 0 {
		b.path = append(b.path, b.note(wakerMark), b.note(notWoken))
	}
	for id := c.Wake; id != 0; id = s.p.Wakes[id].Before {
		w := &s.p.Wakes[id]
		b.path = append(b.path, b.note(wakerMark))
		stack := len(b.path)
		b.appendStack(s, w.Stack)
		slices.Reverse(b.path[stack:])
		if w.Label != 0 {
			b.path = append(b.path, b.step(s.p.Labels[w.Label].Comm, KindRoot, ""))
		} else {
			b.path = append(b.path, b.note(unknownWaker))
		}
	}
}

// add puts a weight at the end of a path. One that does not fit is shown as [more stacks] of its root or, without room for the
// root either, of all.
func (b *grapher) add(s *side, path []stepID, mark Mark, w Weight) {
	at := int32(0)
	for i, id := range path {
		key := graphKey{parent: at, step: id}
		if i == len(path)-1 {
			key.mark = mark
		}
		next, found := b.index[key]
		if !found {
			if b.isFull() && b.steps[id].Name != moreStacks {
				b.g.Left++
				b.add(s, append(path[:min(i, 1):1], b.note(moreStacks)), mark, w)
				return
			}
			next = b.node(key, b.steps[id])
		}
		at = next
	}
	if s == &b.sides[0] {
		b.g.Self[at].add(w)
	} else {
		b.g.BaseSelf[at].add(w)
	}
}
