package graph

import (
	"cmp"
	"slices"
)

// Graph is a flame graph: call stacks merged from their roots on.
type Graph struct {
	Nodes []GraphNode // 0 is the root of the graph, without a name; a child comes after its parent
	Depth int         // of the deepest node; the children of the root have 1
	// Self is the time of each node alone, and Total that of the node and all above it.
	Self, Total []Weight
	// BaseSelf and Base are the same for the profile that it is compared with, scaled to the same recording time;
	// nil if it is not compared.
	BaseSelf, Base []Weight
	// LeftOut is the number of times that did not fit into the graph and are shown as [more stacks].
	LeftOut uint64

	children []int32
}

// GraphNode is a frame of a graph, in which stacks with the same callers are merged.
type GraphNode struct {
	*Step
	Mark          Mark // part of the identity: frames with different marks are not merged
	Parent, Depth int32
	first, count  int32 // of its children
}

// Step is a frame without its callers.
type Step struct {
	Name   string
	Kind   Kind
	Module string // where the function is; "" if that is not known, or of roots and notes
}

// Kind is what a frame of a graph stands for.
type Kind uint8

const (
	KindUser     Kind = iota // a function of a program
	KindKernel               // a function of the kernel
	KindRoot                 // a process, a thread, a CPU
	KindNote                 // not code: [not sampled], [lock], [idle]
	KindDelay                // the note that a thread waited for a CPU: [runnable], [preempted], [throttled]
	KindPython               // a function of Python
	KindAwaiting             // a coroutine of Python that does not run
	Kinds

	// KindWait, and as many as there are classes of waits after it, are what a thread waited for: [ByWait].
	KindWait = Kinds + 1
)

// Mark is what the thread did at the last frame of its stack, and at the note above it.
type Mark uint8

const (
	MarkNone Mark = iota
	MarkOn        // it ran
	MarkOff       // it did not
)

// Weight is a time, ns, split by what the threads did, and counts.
type Weight struct {
	On, Off, Unknown int64
	Count            uint64 // samples on the CPU, off-CPU intervals
	Waits            uint64 // waits for a CPU, each part of an off-CPU interval
}

// Ns returns the sum of all times.
func (w Weight) Ns() int64 { return w.On + w.Off + w.Unknown }

// Times returns the number of times that a weight of one class of time is made of. A wait for a CPU after a block counts too,
// although it is part of the block's interval.
func (w Weight) Times() uint64 { return max(w.Count, w.Waits) }

func (w *Weight) Add(v Weight) {
	w.On += v.On
	w.Off += v.Off
	w.Unknown += v.Unknown
	w.Count += v.Count
	w.Waits += v.Waits
}

// Children returns the nodes above a node, sorted by name, kind and mark.
func (g *Graph) Children(of int32) []int32 {
	n := &g.Nodes[of]
	return g.children[n.first : n.first+n.count]
}

// complete computes the totals and children of all nodes.
func (g *Graph) complete() {
	g.Total, g.Base = g.sums(g.Self), g.sums(g.BaseSelf)
	for i := range g.Nodes[1:] {
		n := &g.Nodes[i+1]
		n.Depth = g.Nodes[n.Parent].Depth + 1
		g.Depth = max(g.Depth, int(n.Depth))
		g.Nodes[n.Parent].count++
	}
	g.children = make([]int32, len(g.Nodes)-1)
	next := int32(0)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.first, n.count, next = next, 0, next+n.count
	}
	for i := range g.children {
		parent := &g.Nodes[g.Nodes[i+1].Parent]
		g.children[parent.first+parent.count] = int32(i + 1)
		parent.count++
	}
	for i := range g.Nodes {
		slices.SortFunc(g.Children(int32(i)), g.compare)
	}
}

// sums returns the weight of each node including all above it.
func (g *Graph) sums(self []Weight) []Weight {
	sums := slices.Clone(self)
	for i := len(sums) - 1; i > 0; i-- {
		sums[g.Nodes[i].Parent].Add(sums[i])
	}
	return sums
}

func (g *Graph) compare(a, b int32) int {
	x, y := &g.Nodes[a], &g.Nodes[b]
	return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Mark, y.Mark))
}
