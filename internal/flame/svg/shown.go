package svg

import (
	"iter"
	"slices"

	"wprof/internal/flame/graph"
)

// shown is a frame of a picture: one of a graph, or several small ones with the same parent together.
type shown struct {
	node       int32  // of the graph; of small frames the first
	together   uint32 // number of small frames; 0: it is one frame of the graph
	depth      int32
	parent     int32
	own, self  graph.Weight // of it and all above, and of it alone
	base, gone int64        // the same of the graph that this one is compared with, ns
	goneCount  uint64
	goneWaits  uint64
	width      int64 // ns
}

// simplified returns the frames of a picture, each followed by all above it. At most `most` frames are shown by themselves:
// the widest ones. The others are put together, with all above them, so that sums stay exact.
func simplified(g *graph.Graph, most int) []shown {
	s := &shrinker{g: g, widths: widthsOf(g)}
	s.joinMarked()
	s.least = leastShown(s.widths, most)
	s.frame([]int32{0}, -1)
	s.sumWidths()
	return s.all
}

type shrinker struct {
	g      *graph.Graph
	widths []int64
	least  int64 // ns; what is narrower is put together
	all    []shown
}

// widthsOf returns the widths of frames, ns. In a comparison a width is the larger of both own times plus the widths above
// it, so that frames which only one side has are visible too.
func widthsOf(g *graph.Graph) []int64 {
	widths := make([]int64, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		w := g.Self[i].Ns()
		if g.Base != nil {
			w = max(w, g.BaseSelf[i].Ns())
		}
		if widths[i] += w; i > 0 {
			widths[g.Nodes[i].Parent] += widths[i]
		}
	}
	return widths
}

// leastShown returns a width that at most `most` frames reach. As no frame is wider than the one below it, the frames below
// a shown frame are shown too.
func leastShown(widths []int64, most int) int64 {
	if len(widths) <= most {
		return 1
	}
	sorted := slices.Clone(widths)
	slices.Sort(sorted)
	return max(sorted[len(sorted)-most-1]+1, 1)
}

// joinMarked adds the widths of twins, frames that differ only in their marks, to the first one of them: a picture shows them as
// one, because its colours show on-CPU and off-CPU time. Their children differ: above one with a mark are notes such as
// [runnable], above one without are functions.
func (s *shrinker) joinMarked() {
	for i := range s.g.Nodes {
		for twins := range twinsOf(s.g, int32(i)) {
			for _, twin := range twins[1:] {
				s.widths[twins[0]] += s.widths[twin]
			}
		}
	}
}

// twinsOf yields the children of a frame, twins together.
func twinsOf(g *graph.Graph, node int32) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		for rest := g.Children(node); len(rest) > 0; {
			first := &g.Nodes[rest[0]]
			same := 1
			for same < len(rest) && g.Nodes[rest[same]].Name == first.Name && g.Nodes[rest[same]].Kind == first.Kind {
				same++
			}
			if !yield(rest[:same:same]) {
				return
			}
			rest = rest[same:]
		}
	}
}

// frame adds the frame that shows twins, and the frames above it.
func (s *shrinker) frame(twins []int32, parent int32) {
	f := shown{node: twins[0], depth: s.g.Nodes[twins[0]].Depth, parent: parent}
	for _, node := range twins {
		f.own.Add(s.g.Total[node])
		f.self.Add(s.g.Self[node])
		if s.g.Base != nil {
			f.base += s.g.Base[node].Ns()
			f.gone += s.g.BaseSelf[node].Ns()
			f.goneCount += s.g.BaseSelf[node].Count
			f.goneWaits += s.g.BaseSelf[node].Waits
		}
	}
	at := int32(len(s.all))
	s.all = append(s.all, f)
	rest := shown{depth: f.depth + 1, parent: at}
	for _, node := range twins {
		for above := range twinsOf(s.g, node) {
			switch width := s.widths[above[0]]; {
			case width >= s.least:
				s.frame(above, at)
			case width > 0:
				s.putTogether(&rest, above)
			}
		}
	}
	if rest.together > 0 {
		s.all = append(s.all, rest)
	}
}

// putTogether adds a small frame, with all above it, to those beside it.
func (s *shrinker) putTogether(rest *shown, twins []int32) {
	if rest.together == 0 {
		rest.node = twins[0]
	}
	rest.together++
	for _, node := range twins {
		rest.own.Add(s.g.Total[node])
		if s.g.Base != nil {
			rest.base += s.g.Base[node].Ns()
			rest.goneCount += s.g.Base[node].Count
			rest.goneWaits += s.g.Base[node].Waits
		}
	}
	rest.self, rest.gone = rest.own, rest.base
}

// sumWidths recalculates widths: among small frames that are put together, growth and shrinkage may cancel each other.
func (s *shrinker) sumWidths() {
	for i := len(s.all) - 1; i >= 0; i-- {
		f := &s.all[i]
		f.width += max(f.self.Ns(), f.gone)
		if f.parent >= 0 {
			s.all[f.parent].width += f.width
		}
	}
}
