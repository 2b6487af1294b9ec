package flamehtml

import (
	"bufio"
	"io"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/html"
	"wprof/internal/flame/profile"
)

// large is what a page has to cope with: a million nodes of stacks, 100,000 stacks, 5,000 threads, ten million times within
// slots.
func large() *profile.Profile {
	return sample{threads: 5000, stacks: 100_000, depth: 30, functions: 20_000, cells: 60, slots: 600, asleep: 0.5}.profile()
}

type counter struct{ bytes int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.bytes += int64(len(b))
	return len(b), nil
}

var _ io.Writer = (*counter)(nil)

func BenchmarkWrite(b *testing.B) {
	p := large()
	b.ReportAllocs()
	for b.Loop() {
		var size counter
		out := bufio.NewWriter(&size)
		if err := html.Write(out, p, graph.View{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size.bytes)/1e6, "MB")
	}
}

// BenchmarkOpen measures how long the page takes from its start to its first graph, how long other graphs take, and the
// longest time between two frames while a zoom glides and while a range of time is dragged. All in ms.
func BenchmarkOpen(b *testing.B) {
	path := write(b, large())
	for b.Loop() {
		pg := openFile(b, path)
		var ms map[string]float64
		pg.Eval(`(async () => {
			const ms = {'opened-ms': wprof.opened, 'nodes': wprof.flame.graph.length};
			const frame = () => new Promise((resume) => requestAnimationFrame(resume));
			const timed = async (name, work) => {
				const begin = performance.now();
				await work();
				ms[name] = performance.now() - begin;
			};
			const frames = async (name, each) => {
				let last = await frame();
				ms[name] = 0;
				for (let i = 0; i < 30; i++) {
					each(i);
					const now = await frame();
					ms[name] = Math.max(ms[name], now - last);
					last = now;
				}
			};
			await timed('draw-ms', () => wprof.flame.drawNow());
			await timed('search-ms', () => wprof.search('merge'));
			await frames('glide-frame-ms', (i) => i === 0 && wprof.flame.zoom(wprof.flame.graph.child[0]));
			await frames('drag-frame-ms', (i) => wprof.strip.onSelect(100 + i, 300 + i));
			await timed('dragged-ms', () => wprof.rendered);
			await timed('whole-ms', () => wprof.change({from: 0, to: 0}));
			await timed('thread-ms', () => wprof.change({by: 1}));
			await timed('reverse-ms', () => wprof.change({by: 0, reverse: true}));
			return ms;
		})()`, &ms)
		for name, v := range ms {
			b.ReportMetric(v, name)
		}
	}
}
