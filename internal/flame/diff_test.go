package flame

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// addSteps puts a weight at the end of steps.
func (b *grapher) addSteps(steps []Step, mark Mark, w Weight) { b.addTo(0, steps, mark, w) }

func (b *grapher) addTo(side int, steps []Step, mark Mark, w Weight) {
	b.path = b.path[:0]
	for _, s := range steps {
		b.path = append(b.path, b.step(s.Name, s.Kind, s.Module))
	}
	b.add(&b.sides[side], b.path, mark, w)
}

// compared is the graph of both.
func compared(g, base *Graph, scale float64) *Graph {
	b := newGrapher(View{}, &Profile{}, &Profile{})
	for side, g := range []*Graph{g, base} {
		for i, w := range g.Self {
			if w != (Weight{}) {
				b.addTo(side, g.stepsTo(int32(i)), g.Nodes[i].Mark, w)
			}
		}
	}
	return b.compared(scale)
}

func (g *Graph) stepsTo(i int32) []Step {
	if i == 0 {
		return nil
	}
	return append(g.stepsTo(g.Nodes[i].Parent), *g.Nodes[i].Step)
}

// graphOf is a graph of paths, whose frames are functions, each with its time on the CPU.
func graphOf(paths map[string]int64) *Graph {
	b := newGrapher(View{}, &Profile{})
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		var steps []Step
		for name := range strings.SplitSeq(path, ";") {
			steps = append(steps, Step{Name: name})
		}
		b.addSteps(steps, MarkNone, Weight{On: paths[path], Count: 1})
	}
	return b.end()
}

// pathOf is the way to a node, without the root.
func (g *Graph) pathOf(i int32) string {
	if g.Nodes[i].Parent <= 0 {
		return g.Nodes[i].Name
	}
	return g.pathOf(g.Nodes[i].Parent) + ";" + g.Nodes[i].Name
}

func TestCompareFindsWhatOnlyOneSideHas(t *testing.T) {
	own := compared(graphOf(map[string]int64{"a;b": 10, "a;d": 20, "z": 5}),
		graphOf(map[string]int64{"a;b": 30, "a;c;x": 7, "a;c;w": 3, "a;d;e": 5}), 2)
	got := make(map[string][2]int64)
	for i := range own.Nodes {
		if i > 0 {
			got[own.pathOf(int32(i))] = [2]int64{own.Total[i].Ns(), own.Base[i].Ns()}
		}
		if !slices.IsSortedFunc(own.Children(int32(i)), own.compare) {
			t.Errorf("the children of %q are out of order", own.pathOf(int32(i)))
		}
	}
	want := map[string][2]int64{
		"a": {30, 90}, "a;b": {10, 60}, "a;c": {0, 20}, "a;c;x": {0, 14}, "a;c;w": {0, 6}, "a;d": {20, 10}, "a;d;e": {0, 10},
		"z": {5, 0},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if total := own.Base[0]; total.Ns() != 90 || total.Count != 8 || own.Depth != 3 || len(own.Base) != len(own.Nodes) {
		t.Errorf("in all %+v, depth %d, %d totals of %d frames", total, own.Depth, len(own.Base), len(own.Nodes))
	}
}

func TestCompareWithItselfIsNoDifference(t *testing.T) {
	g := graphOf(map[string]int64{"a;b": 10, "a;b;c": 20, "z": 5})
	frames := len(g.Nodes)
	g = compared(g, g, 1)
	for i := range g.Nodes {
		if g.Total[i] != g.Base[i] {
			t.Errorf("%s: %+v and %+v", g.pathOf(int32(i)), g.Total[i], g.Base[i])
		}
	}
	if len(g.Nodes) != frames {
		t.Errorf("%d frames became %d", frames, len(g.Nodes))
	}
}

func TestCompareScaledRootIsTheSumOfItsParts(t *testing.T) {
	base := graphOf(map[string]int64{"a": 1, "b": 1, "c;d": 1, "c;e": 1})
	g := compared(graphOf(map[string]int64{"a": 1}), base, 1.4)
	var sum Weight
	for _, child := range g.Children(0) {
		sum.add(g.Base[child])
	}
	if sum != g.Base[0] {
		t.Errorf("the root has %+v, what is on it %+v", g.Base[0], sum)
	}
}
