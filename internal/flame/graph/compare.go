package graph

import (
	"math"

	"wprof/internal/flame/profile"
)

// Compare returns the graph of a profile with the times of another one, base, beside its own, to show the difference. scale is
// the length of p's recording divided by that of base.
func Compare(p, base *profile.Profile, v View, scale float64) *Graph {
	b := NewBuilder(v, p, base)
	b.addCells()
	return b.Compared(scale)
}

// Compared returns the graph of two profiles: see [Compare].
func (b *Builder) Compared(scale float64) *Graph {
	var own, base Weight
	for i := range b.g.BaseSelf {
		own.Add(b.g.Self[i])
		base.Add(b.g.BaseSelf[i])
	}
	// Times of both are added up, and scaled times of base may be too long for that.
	if most, total := float64(math.MaxInt64/2-own.Ns()/2), float64(base.Ns()); total*scale > most {
		scale = most / total
	}
	// Times are scaled before they are added up, so that sums stay exact.
	for i := range b.g.BaseSelf {
		b.g.BaseSelf[i] = b.g.BaseSelf[i].scaled(scale)
	}
	return b.End()
}

// scaled returns the weight multiplied by scale.
func (w Weight) scaled(by float64) Weight {
	ns := func(v int64) int64 { return int64(float64(v)*by + 0.5) }
	count := func(n uint64) uint64 { return uint64(float64(n)*by + 0.5) }
	return Weight{On: ns(w.On), Off: ns(w.Off), Unknown: ns(w.Unknown), Count: count(w.Count), Waits: count(w.Waits)}
}
