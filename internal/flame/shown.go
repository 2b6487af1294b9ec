package flame

import "slices"

// shown is a frame of a picture: one of a graph, or several small ones with the same parent together.
type shown struct {
	node       int32  // of the graph; where frames are together, the first one of them
	together   uint32 // how many frames it stands for; 0: it is one
	depth      int32
	parent     int32
	own, base  Weight // of it and all above
	self, gone Weight // of it alone, in the graph and in what it is compared with
	width      int64  // ns
}

// shrunk is what a picture shows of a graph, each frame followed by all above it, so that no more than most of its frames
// are shown by themselves: the widest ones. Those that are too small are put together, with all above them, and so sums
// stay exact.
func (g *Graph) shrunk(most int) []shown {
	s := &shrinker{g: g, base: g.baseSelf()}
	s.widths = g.widths(s.base)
	s.least = leastShown(s.widths, most)
	s.frame(0, -1)
	s.settle()
	return s.all
}

type shrinker struct {
	g      *Graph
	base   []Weight // what each frame alone has in what the graph is compared with; nil if it is not
	widths []int64
	least  int64 // ns; what is narrower is put together
	all    []shown
}

// widths are how wide frames are, ns. Where graphs are compared it is the larger of both times, taken where the time was
// spent and added up from there: so what has gone is as wide as it was, and what is new as it is now, and both are seen in
// one picture.
func (g *Graph) widths(base []Weight) []int64 {
	widths := make([]int64, len(g.Nodes))
	if base == nil {
		for i := range g.Nodes {
			widths[i] = g.Nodes[i].Total.Ns()
		}
		return widths
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		widths[i] += max(g.Nodes[i].Self.Ns(), base[i].Ns())
		if i > 0 {
			widths[g.Nodes[i].Parent] += widths[i]
		}
	}
	return widths
}

// baseSelf is what each frame alone has in the graph that this one is compared with; nil if it is not.
func (g *Graph) baseSelf() []Weight {
	if g.Base == nil {
		return nil
	}
	self := slices.Clone(g.Base)
	for i := 1; i < len(g.Nodes); i++ {
		self[g.Nodes[i].Parent].sub(g.Base[i])
	}
	return self
}

func (w *Weight) sub(v Weight) {
	w.On -= v.On
	w.Off -= v.Off
	w.Unknown -= v.Unknown
	w.Count -= v.Count
}

// leastShown is a width that no more than most frames have. As no frame is wider than the one below it, what is below a
// frame that is shown is shown too.
func leastShown(widths []int64, most int) int64 {
	if len(widths) <= most {
		return 1
	}
	sorted := slices.Clone(widths)
	slices.Sort(sorted)
	return max(sorted[len(sorted)-most-1]+1, 1)
}

// frame shows a frame and what is above it.
func (s *shrinker) frame(node, parent int32) {
	n := &s.g.Nodes[node]
	f := shown{node: node, depth: n.Depth, parent: parent, own: n.Total, self: n.Self}
	if s.base != nil {
		f.base, f.gone = s.g.Base[node], s.base[node]
	}
	at := int32(len(s.all))
	s.all = append(s.all, f)
	rest := shown{depth: n.Depth + 1, parent: at}
	for _, child := range n.Children {
		switch width := s.widths[child]; {
		case width >= s.least:
			s.frame(child, at)
		case width > 0:
			s.putTogether(&rest, child)
		}
	}
	if rest.together > 0 {
		s.all = append(s.all, rest)
	}
}

// putTogether adds a small frame, with all above it, to those beside it.
func (s *shrinker) putTogether(rest *shown, node int32) {
	if rest.together == 0 {
		rest.node = node
	}
	rest.together++
	rest.own.add(s.g.Nodes[node].Total)
	if s.base != nil {
		rest.base.add(s.g.Base[node])
	}
	rest.self, rest.gone = rest.own, rest.base
}

// settle adds up widths anew: of small frames that are put together one may have grown by what another one shrank.
func (s *shrinker) settle() {
	for i := len(s.all) - 1; i >= 0; i-- {
		f := &s.all[i]
		f.width += max(f.self.Ns(), f.gone.Ns())
		if f.parent >= 0 {
			s.all[f.parent].width += f.width
		}
	}
}
