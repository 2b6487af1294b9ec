package graph

import (
	"fmt"
	"testing"

	"wprof/internal/flame/profile"
)

// Stacks for which a graph has no room are shown as [more stacks], and sums stay exact, also in differences.
func TestGraphStaysWithinItsMemory(t *testing.T) {
	for _, profiles := range [][]*profile.Profile{{{}}, {{}, {}}} {
		b := NewBuilder(View{}, profiles...)
		const roots = 10
		b.room = 200 << 10
		var want [2]Weight
		for i := range 20_000 {
			side := i % len(profiles)
			w := Weight{On: int64(20_000 - i), Count: 1}
			b.AddPath(side, []Step{{Name: fmt.Sprint("root", i%roots), Kind: KindRoot}, {Name: fmt.Sprint("f", i%50)}, {Name: fmt.Sprint("g", i%7)},
				{Name: fmt.Sprint("f", i/50%50)}}, MarkOn, w)
			want[side].Add(w)
		}
		g := b.Compared(1)
		if g.Total[0] != want[0] || len(profiles) > 1 && g.Base[0] != want[1] {
			t.Errorf("%d profiles: %+v and %+v in all, want %+v", len(profiles), g.Total[0], g.Base, want)
		}
		more := 0
		for _, n := range g.Nodes {
			if n.Name == profile.MoreStacks {
				more++
			}
		}
		if (len(g.Nodes)-roots-2)*b.perNode()+len(b.steps)*perStep > b.room || more == 0 || g.LeftOut == 0 {
			t.Errorf("%d profiles: %d nodes, %d of them %s, %d times left out", len(profiles), len(g.Nodes), more, profile.MoreStacks, g.LeftOut)
		}
	}
}

// Each profile of a difference leaves room for the other one.
func TestGraphMemoryIsWhatProfilesLeave(t *testing.T) {
	for _, c := range []struct{ profiles, want int }{{0, maxGraph}, {50 << 20, profileAndGraph - 100<<20}, {90 << 20, minGraph}} {
		p := &profile.Profile{Memory: c.profiles}
		if got := NewBuilder(View{}, p, p).room; got != c.want {
			t.Errorf("beside two of %d MiB there is room for %d MiB, want %d", c.profiles>>20, got>>20, c.want>>20)
		}
	}
}
