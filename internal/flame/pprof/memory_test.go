package pprof

import (
	"io"
	"runtime"
	"testing"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
)

// Samples are written one by one: memory depends on the places in the code, not on the number of cells.
func TestPprofMemoryDoesNotGrowWithSamples(t *testing.T) {
	b := flametest.Box()
	thread := b.Threads[0]
	for i := range 500_000 {
		c := thread.Cells[i%3]
		c.CPU = uint32(i)
		thread.Cells = append(thread.Cells, c)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := Write(io.Discard, b.Profile, graph.View{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 8 {
		t.Errorf("%d MiB were allocated for %d cells, want 8 at most", used, len(thread.Cells))
	}
}
