package svg

import (
	"fmt"
	"io"
	"testing"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
)

// manyStacks is a graph of distinct stacks, 20 to 60 frames deep, of which one half parts from others early.
func manyStacks(stacks int) *graph.Graph {
	b := newSketch(7)
	for i := range stacks {
		path := []graph.Step{{Name: fmt.Sprintf("worker-1/%d", i%64), Kind: graph.KindRoot}}
		for depth := 20 + b.rnd.IntN(40); depth > 0; depth-- {
			spread := 2
			if len(path) > 12 {
				spread = 4000
			}
			path = append(path, graph.Step{
				Name: fmt.Sprintf("some::name_space::Class<int>::method_%d(std::string const&, int)", len(path)*7+b.rnd.IntN(spread)),
				Kind: graph.Kind(b.rnd.IntN(2)), Module: "/usr/lib/libserver.so.1",
			})
		}
		b.add(graph.Weight{On: int64(b.rnd.ExpFloat64() * 1e6), Off: int64(b.rnd.ExpFloat64() * 1e6), Count: 3}, path...)
	}
	return b.done()
}

func BenchmarkWriteSVG(b *testing.B) {
	for _, stacks := range []int{1000, 100_000} {
		g := manyStacks(stacks)
		b.Run(fmt.Sprintf("stacks=%d", stacks), func(b *testing.B) {
			var w counter
			for b.Loop() {
				w = 0
				if err := Write(&w, g, usualPicture); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(w), "bytes")
			b.ReportMetric(float64(len(g.Nodes)), "frames")
		})
	}
}

func BenchmarkCompare(b *testing.B) {
	g, base := manyStacks(100_000), manyStacks(100_000)
	for b.Loop() {
		g := flametest.Compared(g, base, 1)
		if err := Write(io.Discard, g, usualPicture); err != nil {
			b.Fatal(err)
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
