package flamehtml

import (
	"fmt"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/test/page"
)

// row is a frame of a graph, by the page and by Go.
type row struct {
	Depth, Kind, Mark    int
	Name                 string
	On, Off, Unknown, Of int64
	Waits                int64
}

// rowsOf are a graph's frames from left to right, each followed by those above it; Of and Waits are counts, or -1.
func rowsOf(g *graph.Graph, counts bool) []row {
	var rows []row
	var visit func(i int32)
	visit = func(i int32) {
		n, total := &g.Nodes[i], g.Total[i]
		if i > 0 && total.Ns() > 0 {
			r := row{
				Depth: int(n.Depth), Kind: int(n.Kind), Mark: int(n.Mark), Name: n.Name,
				On: total.On, Off: total.Off, Unknown: total.Unknown, Of: -1, Waits: -1,
			}
			if counts {
				r.Of, r.Waits = int64(total.Count), int64(total.Waits)
			}
			rows = append(rows, r)
		}
		for _, c := range g.Children(i) {
			visit(c)
		}
	}
	visit(0)
	return rows
}

// shownRows are the frames of the graph that the page shows, from the boxes that it draws them as.
func shownRows(pg *page.Page, counts bool) []row {
	var rows []row
	pg.Eval(fmt.Sprintf(`(() => {
		const {graph: g, profile: p} = wprof.flame;
		const rows = [];
		const visit = (i) => {
			if (g.total[i] === 0) return;
			if (i > 0) rows.push({Depth: g.depth[i], Kind: p.nameKind[g.name[i]], Mark: g.mark[i], Name: wprof.flame.name(i),
				On: g.on[i], Off: g.off[i], Unknown: g.unknown[i],
				Of: %[1]t ? g.samples[i] + g.intervals[i] + g.unknowns[i] : -1, Waits: %[1]t ? g.waits[i] : -1});
			for (let at = g.childFrom[i]; at < g.childFrom[i + 1]; at++) visit(g.child[at]);
		};
		visit(0);
		return rows;
	})()`, counts), &rows)
	return rows
}

func compare(t *testing.T, what string, got, want []row) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%s: the page lacks %+v and %d more", what, want[i], len(want)-i-1)
		case i >= len(want):
			t.Fatalf("%s: the page has %+v, which Go does not", what, got[i])
		case got[i] != want[i]:
			t.Fatalf("%s: frame %d is %+v, want %+v", what, i, got[i], want[i])
		}
	}
	if len(want) == 0 {
		t.Fatalf("%s: nothing to compare", what)
	}
}

// view is a View with what the page takes for Only.
type view struct {
	graph.View
	threads []int
}

func (v view) forPage() string {
	threads := "null"
	if v.threads != nil {
		threads = "new Set(["
		for _, t := range v.threads {
			threads += fmt.Sprintf("%d,", t)
		}
		threads += "])"
	}
	return fmt.Sprintf("{mode: %d, by: %d, states: %t, reverse: %t, idle: %t, fold: %t, from: %d, to: %d, threads: %s}",
		v.Mode, v.By, v.States, v.Reverse, !v.NoIdleWaits, v.FoldIdle, v.From, v.To, threads)
}

func (v view) forGo(p *profile.Profile) graph.View {
	if v.threads != nil {
		chosen := make(map[*profile.Thread]bool)
		for _, t := range v.threads {
			chosen[p.Threads[t]] = true
		}
		v.Only = func(t *profile.Thread) bool { return chosen[t] }
	}
	return v.View
}

// views are each mode, root and order, with the rest changing from one to the next.
func views(slots, threads int) []view {
	var all []view
	for mode := graph.Wall; mode <= graph.Waker; mode++ {
		for by := graph.ByProcess; by <= graph.ByContainer; by++ {
			for _, reverse := range []bool{false, true} {
				n := len(all)
				v := view{View: graph.View{Mode: mode, By: by, Reverse: reverse, States: n%3 == 0, NoIdleWaits: n%4 == 1, FoldIdle: n%3 > 0}}
				if n%5 > 1 {
					v.From = n * 7 % slots
					v.To = min(slots, v.From+1+n*3%slots)
				}
				if n%7 > 3 {
					v.threads = []int{n % threads, (n*5 + 1) % threads, (n*11 + 3) % threads}
				}
				all = append(all, v)
			}
		}
	}
	return all
}

func TestPageMergesWhatGoDoes(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sample{
		"everything": {threads: 30, stacks: 300, depth: 18, functions: 120, cells: 40, slots: 60, asleep: 0.5},
		// Where no cells are one in the page, even the rounding of how often something was is the same.
		"plain": {threads: 14, stacks: 200, depth: 12, functions: 60, cells: 30, slots: 40, asleep: 0.5, plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := s.profile()
			pg := open(t, p)
			for _, v := range views(s.slots, s.threads) {
				if s.plain && (v.Mode == graph.Waker || v.By == graph.ByCPU) {
					continue
				}
				pg.Eval("wprof.change("+v.forPage()+")", nil)
				counts := s.plain || v.To == 0
				compare(t, v.forPage(), shownRows(pg, counts), rowsOf(graph.Of(p, v.forGo(p)), counts))
			}
		})
	}
}

func TestPageOpensWithTheViewThatIsGiven(t *testing.T) {
	t.Parallel()
	p := sample{threads: 14, stacks: 100, depth: 12, functions: 60, cells: 30, slots: 40, asleep: 0.5}.profile()
	v := graph.View{Mode: graph.OffCPU, By: graph.ByThread, States: true, Reverse: true, NoIdleWaits: true, FoldIdle: true, From: 3, To: 20}
	v.Only = func(t *profile.Thread) bool { return t.TID%2 == 0 }
	pg := open(t, p, v)
	compare(t, "the first view", shownRows(pg, false), rowsOf(graph.Of(p, v), false))
	if got, want := pg.Text(`[...document.querySelectorAll('#controls :checked')].map((e) => e.id || e.value).join()`), "2,graph,1,reverse,states,fold"; got != want {
		t.Errorf("the controls say %s, want %s", got, want)
	}
	if got := pg.Text("document.querySelector('#range').textContent"); got != "0.3 s to 2.0 s (1.7 s)" {
		t.Errorf("the page says that %s is selected", got)
	}
}

func TestPageOfNothingHasAMessage(t *testing.T) {
	t.Parallel()
	empty := &profile.Profile{
		Frames: make([]profile.Frame, 1), Nodes: make([]profile.Node, 1), Labels: make([]profile.Label, 1), Wakes: make([]profile.Wake, 1),
	}
	pg := open(t, empty)
	pg.Wait("!document.querySelector('#nothing').hidden && document.querySelector('#time').hidden")
	for _, key := range []string{"ArrowUp", "ArrowLeft", "Enter", "r", "2", "n", "Home", "+", "Escape"} {
		pg.Key(key)
	}
	waitRendered(pg)
}
