package flamehtml

import (
	"bytes"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/timeline/simulate"
)

// The page divides the time on the CPU of any range and any threads among the samples in it as Go does, to the nanosecond, and says the same
// about them.
func TestPageDividesTimeAmongSamplesAsGoDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		stream := simulate.Stream(t, simulate.Options{Seed: seed, CPUs: 3, Threads: 20, Losses: seed == 1, Interrupts: seed > 0}, 3000)
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Collect(r, profile.Options{Threads: true, CPUs: seed != 2, Slot: 1000, MaxSlots: 64, Stretch: true, Spread: true})
		r.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		// So that some threads have enough time to be divided by themselves, and others not.
		p.About.Sources = []profile.Source{{Name: "timer", Period: p.About.Window / 400}}
		pg := open(t, p)
		var borrowed, without int64
		for _, v := range views(p.Slots, len(p.Threads)) {
			if v.Mode == graph.Waker || v.By == graph.ByCPU && seed == 2 {
				continue
			}
			pg.Eval("wprof.change("+v.forPage()+")", nil)
			of := v.forGo(p)
			want := rowsOf(graph.Of(p, of), false)
			if len(want) == 0 {
				continue
			}
			compare(t, v.forPage(), shownRows(pg, false), want)
			said := text(pg, "#subtitle")
			for _, part := range graph.HowSampled(p, of) {
				if !strings.Contains(said, graph.CaptionSep+part+graph.CaptionSep) {
					t.Errorf("%s: the page says %q, which lacks %q", v.forPage(), said, part)
				}
			}
			q := of.Sampling(p)
			borrowed, without = borrowed+q.Borrowed, without+q.NotSampled
		}
		if borrowed == 0 || without == 0 {
			t.Errorf("seed %d: no time is borrowed (%d ns) or not sampled (%d ns)", seed, borrowed, without)
		}
	}
}
