package flame

import (
	"math"
	"slices"
)

// Compare puts the totals of base beside those of g, for WriteSVG and others to show the difference. Scale is how long g
// was recorded for one second of base. What only base has is added to g, with no time of its own. Base stays as it is.
func (g *Graph) Compare(base *Graph, scale float64) {
	c := &comparer{g: g, known: make([]int, len(g.Nodes)), at: make([]int32, len(base.Nodes))}
	for i := range g.Nodes {
		c.known[i] = len(g.Nodes[i].Children)
	}
	g.Base = make([]Weight, len(g.Nodes))
	// Times of both are added, and scale may make those of base too long for that.
	if most, total := float64(math.MaxInt64/2-g.Nodes[0].Total.Ns()/2), float64(base.Nodes[0].Total.Ns()); total*scale > most {
		scale = most / total
	}
	for i := range base.Nodes {
		n := &base.Nodes[i]
		if i > 0 {
			c.at[i] = c.find(c.at[n.Parent], n)
		}
		// A child is scaled before it is added up, so that sums stay exact.
		g.Base[c.at[i]].add(n.Self.scaled(scale))
	}
	for i := len(g.Nodes) - 1; i > 0; i-- {
		g.Base[g.Nodes[i].Parent].add(g.Base[i])
	}
	for i := range c.known {
		if n := &g.Nodes[i]; len(n.Children) > c.known[i] {
			slices.SortFunc(n.Children, g.compare)
		}
	}
	for i := len(c.known); i < len(g.Nodes); i++ {
		slices.SortFunc(g.Nodes[i].Children, g.compare)
	}
}

// agreeOnIdle makes a wait for work in one profile one in the other as well: what is nine tenths of a thread's waits in one
// and a little less in the other has not changed its nature.
func agreeOnIdle(a, b *Profile) {
	idle := make(map[string]bool)
	for _, p := range []*Profile{a, b} {
		p.eachWait(ClassIdle, func(_ *Cell, key string) { idle[key] = true })
	}
	for _, p := range []*Profile{a, b} {
		p.eachWait(ClassBlocked, func(c *Cell, key string) {
			if idle[key] {
				c.Class = ClassIdle
			}
		})
	}
}

// eachWait visits the cells of a class that are in system calls that wait for work, each with its thread's name and its
// functions in one text.
func (p *Profile) eachWait(class Class, visit func(c *Cell, key string)) {
	for _, t := range p.Threads {
		for i := range t.Cells {
			if c := &t.Cells[i]; c.Class == class && p.Waits[c.Stack] != "" {
				visit(c, p.Labels[c.Label].Comm+"\x00"+p.functionsOf(c.Stack))
			}
		}
	}
}

// comparer finds the frames of one graph in another.
type comparer struct {
	g     *Graph
	known []int   // how many children each frame of g has of its own; they stand first, in order
	at    []int32 // where the base's frames are in g
}

// find is the child of parent that is the same frame as n; it is added if there is none.
func (c *comparer) find(parent int32, n *GraphNode) int32 {
	g := c.g
	if int(parent) < len(c.known) { // else the parent was just added, and so is all above it
		own := g.Nodes[parent].Children[:c.known[parent]]
		i, found := slices.BinarySearchFunc(own, n, func(child int32, n *GraphNode) int {
			return compareFrames(&g.Nodes[child], n)
		})
		if found {
			return own[i]
		}
	}
	added := int32(len(g.Nodes))
	g.Nodes = append(g.Nodes, GraphNode{
		Name: n.Name, Kind: n.Kind, Mark: n.Mark, Module: n.Module, Parent: parent, Depth: n.Depth,
	})
	g.Nodes[parent].Children = append(g.Nodes[parent].Children, added)
	g.Base = append(g.Base, Weight{})
	g.Depth = max(g.Depth, int(n.Depth))
	return added
}

// scaled is the weight of a time that is so many times as long.
func (w Weight) scaled(by float64) Weight {
	ns := func(v int64) int64 { return int64(float64(v)*by + 0.5) }
	return Weight{On: ns(w.On), Off: ns(w.Off), Unknown: ns(w.Unknown), Count: uint64(float64(w.Count)*by + 0.5)}
}
