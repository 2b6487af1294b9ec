package flame

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// large is what a page has to cope with: a million stack nodes, 100,000 stacks, 5,000 threads.
func large() sample {
	return sample{threads: 5000, stacks: 100_000, depth: 30, functions: 20_000, cells: 60, slots: 600, asleep: 0.5}
}

type countWriter struct{ n int64 }

func (c *countWriter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

var _ io.Writer = (*countWriter)(nil)

func BenchmarkWriteHTML(b *testing.B) {
	p := large().profile()
	cells, pieces := 0, 0
	for _, t := range p.Threads {
		cells += len(t.Cells)
		for i := range t.Cells {
			pieces += len(t.Cells[i].Slots)
		}
	}
	b.Logf("%d nodes, %d cells, %d pieces", len(p.Nodes), cells, pieces)
	b.ReportAllocs()
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.ReadMemStats(&before)
		var out countWriter
		if err := p.WriteHTML(&out); err != nil {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(out.n)/1e6, "MB")
	}
}

// BenchmarkOpenHTML tells how long the page takes from its first byte to its first graph, and how long a frame takes to draw.
func BenchmarkOpenHTML(b *testing.B) {
	path := writePage(b, large().profile())
	if dir := os.Getenv("SHOTS"); dir != "" {
		data, _ := os.ReadFile(path)
		_ = os.WriteFile(filepath.Join(dir, "large.html"), data, 0o644)
	}
	for b.Loop() {
		pg := openFile(b, path)
		var ms map[string]float64
		pg.Eval(`(async () => {
			const ready = performance.now();
			const times = {};
			const timed = async (name, work) => {
				const begin = performance.now();
				await work();
				times[name] = performance.now() - begin;
			};
			await timed('draw', () => wprof.flame.drawNow());
			await timed('thread', () => wprof.change({by: 1}));
			await timed('drawThreads', () => wprof.flame.drawNow());
			await timed('reverse', () => wprof.change({reverse: true}));
			await timed('drawReverse', () => wprof.flame.drawNow());
			await timed('byNone', () => wprof.change({by: 4}));
			await timed('range', () => wprof.change({by: 0, reverse: false, from: 100, to: 200}));
			await timed('wakers', () => wprof.change({mode: 3, from: 0, to: 0}));
			await timed('nodes', () => wprof.change({mode: 0}));
			times.search = 0;
			await timed('search', () => wprof.search('merge'));
			times.nodes = wprof.flame.graph.length;
			times.heapMB = performance.memory.usedJSHeapSize / 1e6;
			return times;
		})()`, &ms)
		for name, v := range ms {
			b.ReportMetric(v, name)
		}
		var open float64
		pg.Eval("wprof.opened", &open)
		b.ReportMetric(open, "open-ms")
		var detail map[string]float64
		pg.Eval("wprof.times ?? {}", &detail)
		b.Log(detail)
	}
}
