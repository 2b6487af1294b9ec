package graph

import (
	"math"

	"wprof/internal/flame/profile"
)

// Compare makes the graph of a profile beside that of another one, for WriteSVG and others to show the difference. Scale is
// how long p was recorded for one second of base.
func Compare(p, base *profile.Profile, v View, scale float64) *Graph {
	b := NewBuilder(v, p, base)
	b.cells()
	return b.Compared(scale)
}

func (b *Builder) Compared(scale float64) *Graph {
	var own, base Weight
	for i := range b.g.BaseSelf {
		own.Add(b.g.Self[i])
		base.Add(b.g.BaseSelf[i])
	}
	// Times of both are added, and scale may make those of base too long for that.
	if most, total := float64(math.MaxInt64/2-own.Ns()/2), float64(base.Ns()); total*scale > most {
		scale = most / total
	}
	// Each is scaled before it is added up, so that sums stay exact.
	for i := range b.g.BaseSelf {
		b.g.BaseSelf[i] = b.g.BaseSelf[i].scaled(scale)
	}
	return b.End()
}

// scaled is the weight of a time that is so many times as long.
func (w Weight) scaled(by float64) Weight {
	ns := func(v int64) int64 { return int64(float64(v)*by + 0.5) }
	return Weight{On: ns(w.On), Off: ns(w.Off), Unknown: ns(w.Unknown), Count: uint64(float64(w.Count)*by + 0.5)}
}
