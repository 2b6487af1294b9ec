package graph_test

import (
	"maps"
	"slices"
	"testing"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
)

func TestCompareHasFramesOfOneSideOnly(t *testing.T) {
	own := flametest.Compared(flametest.Graph(map[string]int64{"a;b": 10, "a;d": 20, "z": 5}),
		flametest.Graph(map[string]int64{"a;b": 30, "a;c;x": 7, "a;c;w": 3, "a;d;e": 5}), 2)
	got := make(map[string][2]int64)
	for i := range own.Nodes {
		if i > 0 {
			got[flametest.PathOf(own, int32(i))] = [2]int64{own.Total[i].Ns(), own.Base[i].Ns()}
		}
		if !slices.IsSortedFunc(own.Children(int32(i)), own.Compare) {
			t.Errorf("the children of %q are out of order", flametest.PathOf(own, int32(i)))
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
	g := flametest.Graph(map[string]int64{"a;b": 10, "a;b;c": 20, "z": 5})
	frames := len(g.Nodes)
	g = flametest.Compared(g, g, 1)
	for i := range g.Nodes {
		if g.Total[i] != g.Base[i] {
			t.Errorf("%s: %+v and %+v", flametest.PathOf(g, int32(i)), g.Total[i], g.Base[i])
		}
	}
	if len(g.Nodes) != frames {
		t.Errorf("%d frames became %d", frames, len(g.Nodes))
	}
}

func TestCompareScaledRootIsTheSumOfItsParts(t *testing.T) {
	base := flametest.Graph(map[string]int64{"a": 1, "b": 1, "c;d": 1, "c;e": 1})
	g := flametest.Compared(flametest.Graph(map[string]int64{"a": 1}), base, 1.4)
	var sum graph.Weight
	for _, child := range g.Children(0) {
		sum.Add(g.Base[child])
	}
	if sum != g.Base[0] {
		t.Errorf("the root has %+v, what is on it %+v", g.Base[0], sum)
	}
}
