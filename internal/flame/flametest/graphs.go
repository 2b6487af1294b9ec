package flametest

import (
	"maps"
	"slices"
	"strings"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// Compared returns the graph of g compared with base.
func Compared(g, base *graph.Graph, scale float64) *graph.Graph {
	b := graph.NewBuilder(graph.View{}, &profile.Profile{}, &profile.Profile{})
	for side, g := range []*graph.Graph{g, base} {
		for i, w := range g.Self {
			if w != (graph.Weight{}) {
				b.AddPath(side, stepsTo(g, int32(i)), g.Nodes[i].Mark, w)
			}
		}
	}
	return b.Compared(scale)
}

func stepsTo(g *graph.Graph, i int32) []graph.Step {
	if i == 0 {
		return nil
	}
	return append(stepsTo(g, g.Nodes[i].Parent), *g.Nodes[i].Step)
}

// Graph returns a graph of paths, whose frames are functions, each path with its on-CPU time.
func Graph(paths map[string]int64) *graph.Graph {
	b := graph.NewBuilder(graph.View{}, &profile.Profile{})
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		var steps []graph.Step
		for name := range strings.SplitSeq(path, ";") {
			steps = append(steps, graph.Step{Name: name})
		}
		b.AddPath(0, steps, graph.MarkNone, graph.Weight{On: paths[path], Count: 1})
	}
	return b.End()
}

// PathOf returns the path to a node, without the root.
func PathOf(g *graph.Graph, i int32) string {
	if g.Nodes[i].Parent <= 0 {
		return g.Nodes[i].Name
	}
	return PathOf(g, g.Nodes[i].Parent) + ";" + g.Nodes[i].Name
}
