package graph

import (
	"cmp"
	"slices"

	"wprof/internal/flame/profile"
)

// Builder makes a graph of a profile, or of two that are compared.
type Builder struct {
	v     View
	sides []side
	room  int // for the graph, bytes
	g     *Graph
	index map[graphKey]int32
	path  []stepID
	steps []*Step
	named map[stepKey]stepID
}

// side is one of the profiles that a graph is made of.
type side struct {
	p *profile.Profile
	// frames has the steps of each frame of the profile, filled on first use.
	frames [][]stepID
}

// stepID is an index into Builder.steps.
type stepID uint32

// stepKey identifies a step.
type stepKey struct {
	name string
	kind Kind
}

// graphKey identifies a node of a graph.
type graphKey struct {
	parent int32
	step   stepID
	mark   Mark
}

// Memory that the parts of a graph take while it is made, bytes.
const (
	perGraphNode = 128
	perBaseNode  = 64 // more for one that is compared
	perStep      = 160
)

// A graph and the profiles that it is made of may take profileAndGraph bytes together, and the graph alone between minGraph and
// maxGraph: with a picture, that is below 256 MiB.
const (
	profileAndGraph = 164 << 20
	minGraph        = 40 << 20
	maxGraph        = 136 << 20
)

func NewBuilder(v View, profiles ...*profile.Profile) *Builder {
	b := &Builder{v: v, named: make(map[stepKey]stepID), room: profileAndGraph}
	for _, p := range profiles {
		b.sides = append(b.sides, side{p, make([][]stepID, len(p.Frames))})
		b.room -= p.Memory
	}
	b.room = min(max(minGraph, b.room), maxGraph)
	b.Begin()
	return b
}

// Begin begins another graph.
func (b *Builder) Begin() {
	b.g, b.index = &Graph{}, make(map[graphKey]int32)
	b.node(graphKey{parent: -1}, &Step{Kind: KindRoot})
}

func (b *Builder) node(key graphKey, s *Step) int32 {
	id := int32(len(b.g.Nodes))
	b.index[key] = id
	b.g.Nodes, b.g.Self = append(b.g.Nodes, GraphNode{Step: s, Mark: key.mark, Parent: key.parent}), append(b.g.Self, Weight{})
	if len(b.sides) > 1 {
		b.g.BaseSelf = append(b.g.BaseSelf, Weight{})
	}
	return id
}

// isFull reports whether there is no room for another frame.
func (b *Builder) isFull() bool {
	return len(b.g.Nodes)*b.perNode()+len(b.steps)*perStep >= b.room
}

func (b *Builder) perNode() int { return perGraphNode + (len(b.sides)-1)*perBaseNode }

// End returns the graph.
func (b *Builder) End() *Graph {
	g := b.g
	b.g, b.index = nil, nil
	g.complete()
	return g
}

// Of merges the stacks of a view of the profile.
func Of(p *profile.Profile, v View) *Graph {
	b := NewBuilder(v, p)
	b.addCells()
	return b.End()
}

// addCells adds the time of all cells.
func (b *Builder) addCells() {
	type one struct {
		*profile.Cell
		side *side
	}
	var all []one
	for i := range b.sides {
		b.v.EachCell(b.sides[i].p, func(c *profile.Cell) { all = append(all, one{c, &b.sides[i]}) })
	}
	// Recorded stacks have at most 256 frames. Where not all may fit, the longest times come first.
	if len(all)*300*b.perNode() > b.room {
		slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(b.Ns, a.Ns) })
	}
	for _, c := range all {
		b.addCell(c.side, c.Cell)
	}
}

// step returns the id of a step. Its module is that of the frame in which it was seen first.
func (b *Builder) step(name string, kind Kind, module string) stepID {
	key := stepKey{name, kind}
	id, found := b.named[key]
	if !found {
		id = stepID(len(b.steps))
		b.steps = append(b.steps, &Step{name, kind, module})
		b.named[key] = id
	}
	return id
}

func (b *Builder) note(name string) stepID { return b.step(name, NoteKind(name), "") }

// addCell adds a cell's time to the graph.
func (b *Builder) addCell(s *side, c *profile.Cell) {
	w := b.v.Weight(c)
	if w == (Weight{}) {
		return
	}
	b.path = b.path[:0]
	isFolded := b.v.folds(c.Class)
	if isFolded {
		b.path = append(b.path, b.note(IdleRoot()))
	}
	if b.v.By != ByNone {
		b.path = append(b.path, b.step(b.v.Root(s.p, c), b.v.rootKind(c), ""))
	}
	if b.v.By == ByWait {
		if object := s.p.Object(c); object != "" {
			b.path = append(b.path, b.step(object, b.v.rootKind(c), ""))
		}
	}
	if b.v.By == ByWait || b.v.By.OnCgroup() {
		b.path = append(b.path, b.step(RootName(&s.p.Labels[c.Label], ByProcess), KindRoot, ""))
	}
	roots := len(b.path)
	b.appendStack(s, c.Stack)
	if b.v.Reverse {
		slices.Reverse(b.path[roots:])
	}
	stackEnd := len(b.path)
	if stackEnd == roots {
		stackEnd = 0 // a root has no mark
	}
	if note := b.v.Note(c); note != "" && !isFolded {
		b.path = append(b.path, b.note(note))
	}
	if b.v.Mode == Waker && c.Class.OffCPU() {
		b.appendWakers(s, c)
	}
	b.add(s, b.path, stackEnd, b.v.mark(c.Class), w)
}

// appendStack appends the path of a call stack, outermost frame first.
func (b *Builder) appendStack(s *side, id profile.NodeID) {
	first := len(b.path)
	for ; id != 0; id = s.p.Nodes[id].Parent {
		b.path = append(b.path, b.frame(s, s.p.Nodes[id].Frame)...)
	}
	slices.Reverse(b.path[first:])
}

// AddCell adds a cell of the view, of the first profile.
func (b *Builder) AddCell(c *profile.Cell) { b.addCell(&b.sides[0], c) }

// AddPath adds a time of the profile with this index to the end of a path.
func (b *Builder) AddPath(index int, path []Step, mark Mark, w Weight) {
	b.path = b.path[:0]
	for _, s := range path {
		b.path = append(b.path, b.step(s.Name, s.Kind, s.Module))
	}
	b.add(&b.sides[index], b.path, 0, mark, w)
}

// Stack returns the steps of a call stack, outermost frame first.
func (b *Builder) Stack(id profile.NodeID) []*Step {
	b.path = b.path[:0]
	b.appendStack(&b.sides[0], id)
	var all []*Step
	for _, id := range b.path {
		all = append(all, b.steps[id])
	}
	return all
}

// frame returns the steps of a frame, innermost first.
func (b *Builder) frame(s *side, id profile.FrameID) []stepID {
	if s.frames[id] != nil {
		return s.frames[id]
	}
	f := &s.p.Frames[id]
	steps := make([]stepID, 0, len(f.Functions))
	for name := range b.v.Names(f) {
		steps = append(steps, b.step(name, KindOf(f), f.Module))
	}
	slices.Reverse(steps)
	s.frames[id] = steps
	return steps
}

func KindOf(f *profile.Frame) Kind {
	switch {
	case f.Note:
		return KindNote
	case f.Kernel:
		return KindKernel
	case f.Awaiting:
		return KindAwaiting
	case f.Python:
		return KindPython
	}
	return KindUser
}

// Notes about wakers.
const (
	WakerMark    = "--" // between a stack and that of its waker
	NotWoken     = "[not woken]"
	UnknownWaker = "[unknown waker]"
)

// appendWakers appends the stacks of the wakers that ended an off-CPU interval, innermost frame first, each with its thread's name
// above.
func (b *Builder) appendWakers(s *side, c *profile.Cell) {
	if c.Wake == 0 {
		b.path = append(b.path, b.note(WakerMark), b.note(NotWoken))
	}
	for id := c.Wake; id != 0; id = s.p.Wakes[id].Before {
		w := &s.p.Wakes[id]
		b.path = append(b.path, b.note(WakerMark))
		stack := len(b.path)
		b.appendStack(s, w.Stack)
		slices.Reverse(b.path[stack:])
		if w.Label != 0 {
			b.path = append(b.path, b.step(s.p.Labels[w.Label].Comm, KindRoot, ""))
		} else {
			b.path = append(b.path, b.note(UnknownWaker))
		}
	}
}

// add puts a weight at the end of a path. Two frames get the mark: the last one of the path, and the last one of the stack in it, at
// stackEnd-1, so that a thread's blocked time and its wait for a CPU afterwards are in the same frame. A path that does not fit is
// shown as [more stacks] above its root or, if the root does not fit either, above node 0.
func (b *Builder) add(s *side, path []stepID, stackEnd int, mark Mark, w Weight) {
	at := int32(0)
	for i, id := range path {
		key := graphKey{parent: at, step: id}
		if i == len(path)-1 || i == stackEnd-1 {
			key.mark = mark
		}
		next, found := b.index[key]
		if !found {
			if b.isFull() && b.steps[id].Name != profile.MoreStacks {
				b.g.LeftOut++
				b.add(s, append(path[:min(i, 1):1], b.note(profile.MoreStacks)), 0, mark, w)
				return
			}
			next = b.node(key, b.steps[id])
		}
		at = next
	}
	if s == &b.sides[0] {
		b.g.Self[at].Add(w)
	} else {
		b.g.BaseSelf[at].Add(w)
	}
}
