package flame

import (
	"cmp"
	"slices"
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

// adopt tells all frames which are their children.
func (g *Graph) adopt() {
	counts := make([]int32, len(g.Nodes))
	for i := 1; i < len(g.Nodes); i++ {
		counts[g.Nodes[i].Parent]++
	}
	all := make([]int32, len(g.Nodes))
	for i := range g.Nodes {
		n := counts[i]
		g.Nodes[i].Children, all = all[:0:n], all[n:]
	}
	for i := 1; i < len(g.Nodes); i++ {
		parent := &g.Nodes[g.Nodes[i].Parent]
		parent.Children = append(parent.Children, int32(i))
	}
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
