package svg

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// idleGraph is a graph of a server that works for 1 s, and of a pool that waits for work as long as given, ns.
func idleGraph(ns int64) *graph.Graph {
	b := flametest.New()
	b.Thread(10, 10, "server", flametest.Cell(profile.ClassOnCPU, 0, b.Calls("main", "serve"), 1e9, 100))
	b.Thread(20, 20, "pool", flametest.Cell(profile.ClassIdle, format.StateInterruptible, b.Calls("start", "next", "k_futex"), ns, 7))
	return graph.Of(b.Profile, graph.View{FoldIdle: true})
}

func TestSVGFoldsWaitsForWork(t *testing.T) {
	t.Parallel()
	p := openSVG(t, idleGraph(9e9), usualPicture)
	p.wantLabels("at first", "all", "server-10", "main", "serve", "[idle]")
	var widths []float64
	p.Eval("['idle', 'root'].map((tone) => document.querySelector(`.frames .${tone}`).getBBox().width)", &widths)
	if share := widths[0] / (widths[0] + widths[1]); share < 0.05 || share > 0.07 {
		t.Errorf("waits for work have %.1f%% of the width, want 6%%", 100*share)
	}
	serve := p.label("serve", 0)
	p.Hover(serve.X, serve.Y)
	p.wantDetails("over serve", "serve", "Function in /bin/box", "1 s, 100% of all but [idle]", "All of it on CPU", "100 samples")
	idle := p.label("[idle]", 0)
	p.Hover(idle.X, idle.Y)
	p.wantDetails("over [idle]", "[idle]", "Note", "9 s, 90% of all", "All of it off CPU", "7 off-CPU intervals")
	if legend := strings.Join(p.texts(".legend text"), ", "); !strings.Contains(legend, "waits for work, 9 s: click to see") {
		t.Errorf("the legend is %s", legend)
	}
	p.clickLabel("[idle]", 0)
	p.wantLabels("after a click", "all", "[idle]", "pool-20", "start", "next", "k_futex")
}

// Folded or not, all times are there.
// Where there is next to nothing but waits for work, they are the picture, before the script runs and after it.
func TestSVGDoesNotFoldWaitsForWorkOfIdleProcesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ns       int64 // beside 1 s of work
		isFolded bool
		legend   string
	}{{101e9, false, "waits for work, 101 s"}, {99e9, true, "waits for work, 99 s: click to see"}} {
		var file strings.Builder
		if err := Write(&file, idleGraph(c.ns), usualPicture); err != nil {
			t.Fatal(err)
		}
		if static, _, _ := strings.Cut(file.String(), "<metadata>"); strings.Contains(static, ">pool-20<") == c.isFolded {
			t.Errorf("%s: what is above them is folded without the script: %v, want %v", c.legend, !c.isFolded, c.isFolded)
		}
		p := openSVG(t, idleGraph(c.ns), usualPicture)
		if labels := p.labels(); !slices.Contains(labels, "[idle]") || slices.Contains(labels, "pool-20") == c.isFolded {
			t.Errorf("%s: the labels are %q", c.legend, labels)
		}
		var share float64
		p.Eval("Math.max(...[...document.querySelectorAll('.frames .idle')].map((path) => path.getBBox().width)) / (innerWidth - 32)", &share)
		if share > 0.9 == c.isFolded {
			t.Errorf("%s: they have %.3f of the width", c.legend, share)
		}
		if legend := p.texts(".legend text"); !slices.Contains(legend, c.legend) {
			t.Errorf("the legend is %q, want %q in it", legend, c.legend)
		}
	}
}

func TestFoldingKeepsTimes(t *testing.T) {
	b := flametest.Box()
	for by := graph.ByProcess; by <= graph.ByNone; by++ {
		folded, plain := graph.Of(b.Profile, graph.View{By: by, FoldIdle: true, Reverse: by == graph.ByComm}), graph.Of(b.Profile, graph.View{By: by})
		if folded.Total[0] != plain.Total[0] {
			t.Errorf("root %d: %+v, want %+v", by, folded.Total[0], plain.Total[0])
		}
		idle := int64(0)
		for i, n := range folded.Nodes {
			if n.Depth == 1 && n.Name == graph.IdleRoot() {
				idle = folded.Total[i].Off
			} else if n.Name == graph.IdleRoot() {
				t.Errorf("root %d: %s is at depth %d too", by, n.Name, n.Depth)
			}
		}
		want := int64(0)
		for _, thread := range b.Threads {
			for _, c := range thread.Cells {
				if c.Class == profile.ClassIdle {
					want += c.Ns
				}
			}
		}
		if idle != want || want == 0 {
			t.Errorf("root %d: %s is %s, want %s", by, graph.IdleRoot(), fmt.Sprint(idle), fmt.Sprint(want))
		}
	}
}
