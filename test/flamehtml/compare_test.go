package flamehtml

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/html"
	"wprof/internal/flame/profile"
	"wprof/test/page"
)

func openCompared(t *testing.T, p, base *profile.Profile, v graph.View) *page.Page {
	t.Helper()
	var file bytes.Buffer
	out := bufio.NewWriter(&file)
	if err := html.WriteCompared(out, p, base, v, "10 s of <b>other.wprof"); err != nil {
		t.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "difference.html")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return openFile(t, path)
}

// sides are two profiles, of which the second one's recording was longer. Each call returns new ones.
func sides() (p, base *profile.Profile) {
	p = sample{threads: 20, stacks: 60, depth: 10, functions: 40, cells: 30, slots: 50, asleep: 0.3}.profile()
	base = sample{threads: 14, stacks: 90, depth: 10, functions: 50, cells: 25, slots: 70, asleep: 0.3}.profile()
	p.About.Window, base.About.Window = 5e9, 7e9
	return p, base
}

// change is a frame of a difference.
type change struct {
	Depth       int
	Name        string
	Mark        int
	Now, Before int64
}

func TestPageComparesAsGoDoes(t *testing.T) {
	t.Parallel()
	pg := openCompared(t, first(sides()), second(sides()), graph.View{By: graph.ByComm})
	if got := text(pg, "#subtitle"); got[len(got)-len("compared with 10 s of <b>other.wprof"):] != "compared with 10 s of <b>other.wprof" {
		t.Errorf("the subtitle is %s", got)
	}
	for _, v := range []graph.View{
		{By: graph.ByComm}, {By: graph.ByProcess, Mode: graph.OnCPU}, {By: graph.ByNone, Mode: graph.OffCPU, Reverse: true, States: true}, {By: graph.ByThread, FoldIdle: true},
		{By: graph.ByComm, NoIdleWaits: true},
	} {
		pg.Eval("wprof.change("+view{View: v}.forPage()+")", nil)
		p, base := sides()
		g := graph.Compare(p, base, v, 5.0/7)
		var want, got []change
		var visit func(i int32)
		visit = func(i int32) {
			if n := &g.Nodes[i]; i > 0 && g.Total[i].Ns()+g.Base[i].Ns() > 0 {
				want = append(want, change{int(n.Depth), n.Name, int(n.Mark), g.Total[i].Ns(), g.Base[i].Ns()})
			}
			for _, c := range g.Children(i) {
				visit(c)
			}
		}
		visit(0)
		pg.Eval(`(() => {
			const {graph: g} = wprof.flame, all = [];
			const visit = (i) => {
				if (i > 0 && g.total[i] + g.before[i] > 0) all.push({Depth: g.depth[i], Name: wprof.flame.name(i), Mark: g.mark[i], Now: g.total[i], Before: g.before[i]});
				for (let at = g.childFrom[i]; at < g.childFrom[i + 1]; at++) visit(g.child[at]);
			};
			visit(0);
			return all;
		})()`, &got)
		if len(want) < 50 || len(got) != len(want) {
			t.Fatalf("%+v: the page has %d frames, want %d", v, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%+v: frame %d is %+v, want %+v", v, i, got[i], want[i])
			}
		}
	}
}

// A part of the time is compared with the whole of the other recording, which is scaled to its length; chosen threads with those of their names.
func TestComparedPageScalesToItsRange(t *testing.T) {
	t.Parallel()
	pg := openCompared(t, first(sides()), second(sides()), graph.View{By: graph.ByComm})
	before := func() (ns float64) {
		pg.Eval("wprof.flame.graph.before[0]", &ns)
		return ns
	}
	all := before()
	pg.Eval("wprof.change({from: 10, to: 20})", nil)
	if got := before() / all; got < 0.199 || got > 0.201 {
		t.Errorf("1 s of 5 is compared with %.4f of the other recording's time, want a fifth", got)
	}
	pg.Eval("wprof.change({from: 0, to: 0, threads: new Set([3])})", nil)
	p, base := sides()
	name := p.Labels[p.Threads[3].Label].Comm
	want := int64(0)
	for _, thread := range base.Threads {
		if base.Labels[thread.Label].Comm != name {
			continue
		}
		for _, c := range thread.Cells {
			want += c.Ns
		}
	}
	if got := before() * 7 / 5; want == 0 || got < float64(want)*0.999 || got > float64(want)*1.001 {
		t.Errorf("thread %s is compared with %.0f ns, want %d", name, got, want)
	}
	if n := text(pg, "#threads .counts"); n != "20 threads, 1 chosen" {
		t.Errorf("the list has %s: those of the other recording are in it", n)
	}
	lines := pg.Text("wprof.boxText.lines({node: wprof.flame.rows[1][0].node, count: 1}).map((line) => line.split(' ')[0]).slice(2, 4).join()")
	if lines != "Now,Before" {
		t.Errorf("the tooltip has lines %s", lines)
	}
	pg.Key("v")
	waitRendered(pg)
	if got := pg.Text("getComputedStyle(document.querySelector('#table [data-order=change]')).display"); got == "none" {
		t.Error("the table of functions has no changes")
	}
}

func first(p, _ *profile.Profile) *profile.Profile     { return p }
func second(_, base *profile.Profile) *profile.Profile { return base }
