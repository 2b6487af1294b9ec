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

// graphKey is what makes two frames of a graph with the same parent one.
type graphKey struct {
	parent int32
	name   string
	kind   Kind
	mark   Mark
}

// grapher makes a graph of a profile.
type grapher struct {
	p     *Profile
	v     View
	g     *Graph
	index map[graphKey]int32
	path  []step
}

// step is a frame on the way to a graph's leaf.
type step struct {
	name   string
	kind   Kind
	module string
}

// Graph merges what a view tells of the profile.
func (p *Profile) Graph(v View) *Graph {
	b := &grapher{p: p, v: v, g: &Graph{Nodes: []GraphNode{{Kind: KindRoot, Parent: -1}}}, index: make(map[graphKey]int32)}
	for _, t := range p.Threads {
		if v.Only != nil && !v.Only(t) {
			continue
		}
		for i := range t.Cells {
			b.cell(t, &t.Cells[i])
		}
	}
	b.g.settle()
	return b.g
}

// cell adds a cell's time to the graph.
func (b *grapher) cell(t *Thread, c *Cell) {
	w := b.v.weight(c)
	if !b.v.tells(c.Class) || w.Ns() == 0 {
		return
	}
	b.path = b.v.appendRoot(b.path[:0], b.p, t, c)
	roots := len(b.path)
	b.path = b.appendStack(b.path, c.Stack)
	if b.v.Reverse {
		slices.Reverse(b.path[roots:])
	}
	if note := b.v.note(c); note != "" {
		b.path = append(b.path, step{name: note, kind: KindNote})
	}
	if b.v.Mode == Waker && c.Class.OffCPU() {
		b.path = b.appendWakers(b.path, c)
	}
	b.g.add(b.index, b.path, b.v.mark(c.Class), w)
}

// weight is the cell's time within the view's slots. How often something was is not kept for each of them: it is shared
// out by time.
func (v *View) weight(c *Cell) Weight {
	ns, count := c.Ns, c.Count
	if v.To > 0 {
		ns = 0
		for _, s := range c.Slots {
			if int(s.Slot) >= v.From && int(s.Slot) < v.To {
				ns += s.Ns
			}
		}
		if c.Ns > 0 {
			count = uint64(float64(count)*float64(ns)/float64(c.Ns) + 0.5)
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

// appendRoot appends what stands below the stack of a cell.
func (v *View) appendRoot(path []step, p *Profile, t *Thread, c *Cell) []step {
	switch v.By {
	case ByProcess, ByThread, ByComm:
		return append(path, step{name: p.Labels[c.Label].root(v.By), kind: KindRoot})
	case ByCPU:
		return append(path, step{name: cpuRoot(c.CPU), kind: KindRoot})
	}
	return path
}

// root is what stands below the stacks of a thread with this label.
func (l *Label) root(by Root) string {
	switch by {
	case ByProcess:
		return l.Process + "-" + strconv.Itoa(int(l.PID))
	case ByThread:
		return l.Comm + "-" + strconv.Itoa(int(l.PID)) + "/" + strconv.Itoa(int(l.TID))
	}
	return l.Comm
}

func cpuRoot(cpu uint32) string { return "CPU " + strconv.FormatUint(uint64(cpu), 10) }

// appendStack appends the path of a call stack, outermost frame first.
func (b *grapher) appendStack(path []step, id NodeID) []step {
	first := len(path)
	for ; id != 0; id = b.p.Nodes[id].Parent {
		f := &b.p.Frames[b.p.Nodes[id].Frame]
		for i := len(f.Functions) - 1; i >= 0; i-- {
			path = append(path, step{name: f.Functions[i].Name, kind: f.kind(), module: f.Module})
		}
	}
	slices.Reverse(path[first:])
	return path
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
func (b *grapher) appendWakers(path []step, c *Cell) []step {
	if c.Wake == 0 {
		return append(path, step{name: wakerMark, kind: KindNote}, step{name: notWoken, kind: KindNote})
	}
	for id := c.Wake; id != 0; {
		w := &b.p.Wakes[id]
		path = append(path, step{name: wakerMark, kind: KindNote})
		stack := len(path)
		path = b.appendStack(path, w.Stack)
		slices.Reverse(path[stack:])
		name := step{name: unknownWaker, kind: KindNote}
		if w.Label != 0 {
			name = step{name: b.p.Labels[w.Label].Comm, kind: KindRoot}
		}
		path = append(path, name)
		id = w.Before
	}
	return path
}

// maxGraphNodes bounds a graph to some 400 MiB. What would need more frames is told as [more stacks] of its root.
const maxGraphNodes = 2 << 20

// add puts a weight at the end of a path.
func (g *Graph) add(index map[graphKey]int32, path []step, mark Mark, w Weight) {
	at := int32(0)
	for i, s := range path {
		key := graphKey{parent: at, name: s.name, kind: s.kind}
		if i == len(path)-1 {
			key.mark = mark
		}
		next, found := index[key]
		if !found && len(g.Nodes) >= maxGraphNodes && s.name != moreStacks {
			g.add(index, append(path[:min(1, i):min(1, i)], step{name: moreStacks, kind: KindNote}), mark, w)
			return
		}
		if !found {
			next = int32(len(g.Nodes))
			index[key] = next
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
