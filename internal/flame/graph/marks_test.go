package graph_test

import (
	"testing"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// The frame in which a thread was blocked is also the one in which it waited for a CPU afterwards; time on the CPU has one of its own.
func TestBlockedAndRunnableTimeShareAFrame(t *testing.T) {
	b := flametest.New()
	in := b.Calls("main", "[no stack]")
	b.Thread(10, 10, "app", flametest.Cell(profile.ClassBlocked, 0, in, 5, 1), flametest.Cell(profile.ClassRunnable, 0, in, 3, 1), flametest.Cell(profile.ClassOnCPU, 0, in, 2, 1))
	for _, v := range []graph.View{{By: graph.ByNone}, {By: graph.ByNone, States: true}, {By: graph.ByNone, Reverse: true}} {
		g := graph.Of(b.Profile, v)
		last := "[no stack]"
		if v.Reverse {
			last = "main"
		}
		off := 0
		for i := range g.Nodes {
			if n := &g.Nodes[i]; i > 0 && n.Name == last && n.Mark != graph.MarkOn {
				off++
				if want := (graph.Weight{Off: 8, Count: 1, Waits: 1}); n.Mark != graph.MarkOff || g.Total[i] != want {
					t.Errorf("%+v: %s has mark %d and %+v, want %+v off the CPU", v, last, n.Mark, g.Total[i], want)
				}
			}
		}
		if off != 1 {
			t.Errorf("%+v: %d frames %s off the CPU, want one", v, off, last)
		}
	}
}
