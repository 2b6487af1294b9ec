package flame

import (
	"cmp"
	"slices"
	"strconv"
)

// Graph is a flame graph: call stacks merged from their roots on.
type Graph struct {
	Nodes []GraphNode // 0 is the root of all, without a name; a child stands behind its parent
	Depth int         // of the deepest node; the children of the root have 1
	// Base are the totals of another graph that this one is compared with, one for each of Nodes, as if both had been
	// recorded for as long as this one; nil if it is not compared.
	Base []Weight
}

// GraphNode is a frame of a graph, and all the stacks that go through it.
type GraphNode struct {
	Name     string
	Kind     Kind
	Mark     Mark // frames that differ in it alone are not merged
	Parent   int32
	Children []int32 // by name, kind and mark
	Depth    int32
	Total    Weight // of it and all above
	Self     Weight // of it alone
	Module   string // where the function is; "" if that is not known, or of roots and notes
}

// Kind is what a frame of a graph stands for.
type Kind uint8

const (
	KindUser   Kind = iota // a function of a program
	KindKernel             // a function of the kernel
	KindRoot               // a process, a thread, a CPU
	KindNote               // something said about the stack: [not sampled], [disk wait], [idle]
)

// Mark tells of the last frame of a stack what its thread did there.
type Mark uint8

const (
	MarkNone Mark = iota
	MarkOn        // it ran
	MarkOff       // it did not
)

// Weight is a time by what the threads did in it, ns, and how often that was.
type Weight struct {
	On, Off, Unknown int64
	Count            uint64 // samples on the CPU, waits off it
}

// Ns is all of the time.
func (w Weight) Ns() int64 { return w.On + w.Off + w.Unknown }

func (w *Weight) add(v Weight) {
	w.On += v.On
	w.Off += v.Off
	w.Unknown += v.Unknown
	w.Count += v.Count
}

// grapher makes a graph of a profile.
type grapher struct {
	p     *Profile
	v     View
	g     *Graph
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
	b.g = &Graph{Nodes: []GraphNode{{Kind: KindRoot, Parent: -1}}}
	b.index = make(map[graphKey]int32)
}

func (b *grapher) end() *Graph {
	b.g.settle()
	return b.g
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

// weight is the cell's time within the view's slots. How often something was is not kept for each of them: it is shared
// out by time.
func (v *View) weight(c *Cell) Weight {
	ns, count := c.Ns, c.Count
	if v.To > 0 {
		ns, count = 0, 0
		for _, s := range c.Slots {
			if int(s.Slot) >= v.From && int(s.Slot) < v.To {
				ns += s.Ns
			}
		}
		if c.Ns > 0 {
			count = uint64(float64(c.Count)*float64(ns)/float64(c.Ns) + 0.5)
		}
	}
	w := Weight{Count: count}
	switch {
	case c.Class.OnCPU():
		w.On = ns
	case c.Class.OffCPU():
		w.Off = ns
	default:
		w.Unknown = ns
	}
	return w
}

// tells says whether the view has the time of a class.
func (v *View) tells(c Class) bool {
	if c == ClassIdle && v.NoIdleWaits {
		return false
	}
	switch v.Mode {
	case OnCPU:
		return c.OnCPU()
	case OffCPU, Waker:
		return c.OffCPU()
	}
	return true
}

// mark is how the last frame is marked: only where a view has time on and off the CPU.
func (v *View) mark(c Class) Mark {
	switch {
	case v.Mode != Wall:
		return MarkNone
	case c.OnCPU():
		return MarkOn
	case c.OffCPU():
		return MarkOff
	}
	return MarkNone
}

// note is the frame that says why a thread was off the CPU; "" for none. That it could have run, or waited for work, is
// always told.
func (v *View) note(c *Cell) string {
	switch {
	case c.Class == ClassPreempted && !v.States:
		return classNames[ClassRunnable]
	case c.Class == ClassBlocked && v.States:
		return "[" + Reason(c.Class, c.State) + "]"
	}
	return classNames[c.Class]
}

// root is what stands below the stack of a cell; "" for nothing.
func (v *View) root(p *Profile, c *Cell) string {
	switch v.By {
	case ByProcess, ByThread, ByComm:
		return p.Labels[c.Label].root(v.By)
	case ByCPU:
		return cpuRoot(c.CPU)
	}
	return ""
}

// root is what stands below the stacks of a thread with this label, which has no ids where threads were not told apart.
func (l *Label) root(by Root) string {
	switch {
	case by == ByProcess && l.PID != 0:
		return l.Process + "-" + strconv.Itoa(int(l.PID))
	case by == ByProcess:
		return l.Process
	case by == ByThread && l.PID != 0:
		return l.Comm + "-" + strconv.Itoa(int(l.PID)) + "/" + strconv.Itoa(int(l.TID))
	}
	return l.Comm
}

func cpuRoot(cpu uint32) string { return "CPU " + strconv.FormatUint(uint64(cpu), 10) }

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
	g, at := b.g, int32(0)
	for i, id := range path {
		key := graphKey{parent: at, step: id}
		if i == len(path)-1 {
			key.mark = mark
		}
		next, found := b.index[key]
		if !found {
			if len(g.Nodes) >= maxGraphNodes && i > 0 && b.steps[id].name != moreStacks {
				b.add(append(path[:1:1], b.note(moreStacks)), mark, w)
				return
			}
			s := &b.steps[id]
			next = int32(len(g.Nodes))
			b.index[key] = next
			g.Nodes = append(g.Nodes, GraphNode{
				Name: s.name, Kind: s.kind, Mark: key.mark, Parent: at, Depth: g.Nodes[at].Depth + 1, Module: s.module,
			})
			g.Nodes[at].Children = append(g.Nodes[at].Children, next)
			g.Depth = max(g.Depth, int(g.Nodes[next].Depth))
		}
		at = next
	}
	g.Nodes[at].Self.add(w)
}

// settle adds up what is above each frame and puts children in order.
func (g *Graph) settle() {
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		n.Total.add(n.Self)
		if n.Parent >= 0 {
			g.Nodes[n.Parent].Total.add(n.Total)
		}
		slices.SortFunc(n.Children, g.compare)
	}
}

func (g *Graph) compare(a, b int32) int { return compareFrames(&g.Nodes[a], &g.Nodes[b]) }

func compareFrames(x, y *GraphNode) int {
	return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Mark, y.Mark))
}
