package flamehtml

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/test/page"
)

// functionTimes are the times of functions, and of pairs of caller and callee, by name.
type functionTimes struct {
	Self, Total      map[string]int64
	Callers, Callees map[string]int64 // by function and neighbour
}

// timesInGo adds them up from the stacks of a view, one at a time.
func timesInGo(p *profile.Profile, v graph.View) functionTimes {
	v.By, v.Reverse, v.States = graph.ByNone, false, false
	g := graph.Of(p, v)
	all := functionTimes{map[string]int64{}, map[string]int64{}, map[string]int64{}, map[string]int64{}}
	for i := range g.Nodes {
		ns := g.Self[i].Ns()
		if ns == 0 {
			continue
		}
		var path []string
		for at := int32(i); at > 0; at = g.Nodes[at].Parent {
			path = append(path, g.Nodes[at].Name)
		}
		slices.Reverse(path)
		if len(path) == 0 {
			continue
		}
		all.Self[path[len(path)-1]] += ns
		seen := map[string]bool{}
		for at, name := range path {
			if seen[name] {
				continue
			}
			seen[name] = true
			all.Total[name] += ns
			caller := "all"
			if at > 0 {
				caller = path[at-1]
			}
			all.Callers[name+" < "+caller] += ns
			if at+1 < len(path) {
				all.Callees[name+" > "+path[at+1]] += ns
			}
		}
	}
	return all
}

// timesOnPage are those that the table shows. Functions of the kernel and of programs with the same name are added up here.
func timesOnPage(pg *page.Page) functionTimes {
	var all functionTimes
	pg.Eval(`(() => {
		const {sums} = wprof.functions, all = {Self: {}, Total: {}, Callers: {}, Callees: {}};
		const name = (n) => n === 0 ? 'all' : wprof.profile.name[n];
		const add = (to, key, ns) => { if (ns > 0) to[key] = (to[key] ?? 0) + ns; };
		sums.total.forEach((ns, n) => {
			if (ns === 0) return;
			add(all.Total, name(n), ns);
			add(all.Self, name(n), sums.self[n]);
			wprof.functions.choose(n);
			const {callers, callees} = wprof.functions.neighbours;
			for (const [m, ns] of callers) add(all.Callers, name(n) + ' < ' + name(m), ns);
			for (const [m, ns] of callees) add(all.Callees, name(n) + ' > ' + name(m), ns);
		});
		return all;
	})()`, &all)
	return all
}

func TestTableAddsUpFunctions(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p)
	pg.Key("v")
	waitRendered(pg)
	for _, v := range []view{
		{}, {View: graph.View{Mode: graph.OnCPU, By: graph.ByThread, Reverse: true}}, {View: graph.View{Mode: graph.OffCPU, NoIdleWaits: true, States: true, From: 5, To: 22}},
		{View: graph.View{By: graph.ByComm}, threads: []int{1, 4}},
	} {
		pg.Eval("wprof.change("+v.forPage()+")", nil)
		got, want := timesOnPage(pg), timesInGo(p, v.forGo(p))
		for what, both := range map[string][2]map[string]int64{"self": {got.Self, want.Self}, "total": {got.Total, want.Total}, "callers": {got.Callers, want.Callers}, "callees": {got.Callees, want.Callees}} {
			if !maps.Equal(both[0], both[1]) || len(both[1]) == 0 {
				t.Errorf("%s: %s: the page has %d, want %d: %v, want %v", v.forPage(), what, len(both[0]), len(both[1]), both[0], both[1])
			}
		}
	}
	// Folded waits for work are not in it.
	pg.Eval("wprof.change({mode: 0, by: 0, from: 0, to: 0, threads: null, idle: true, fold: true})", nil)
	if got, want := timesOnPage(pg).Total, timesInGo(p, graph.View{NoIdleWaits: true}).Total; !maps.Equal(got, want) {
		t.Errorf("folded: %v, want %v", got, want)
	}
}

func TestTableIsUsedByMouseAndKeys(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	pg.ClickOn("#shows [value=table]")
	waitRendered(pg)
	if shown := pg.Text("[...document.querySelectorAll('#graph > :not([hidden])')].map((e) => e.id).join()"); shown != "table" {
		t.Fatalf("the page shows %s", shown)
	}
	selfs := func() (all []float64) {
		pg.Eval("[...document.querySelectorAll('.function')].map((e) => wprof.functions.sums.self[e.dataset.name])", &all)
		return all
	}
	if all := selfs(); len(all) < 10 || !slices.IsSortedFunc(all, func(a, b float64) int { return int(b - a) }) {
		t.Errorf("the functions' own times are %v", all)
	}
	pg.ClickOn("#table [data-order=total]")
	if all := selfs(); slices.IsSortedFunc(all, func(a, b float64) int { return int(b - a) }) {
		t.Errorf("the functions' own times are %v, in order of the total", all)
	}
	pg.ClickOn(".function")
	pg.Key("ArrowDown")
	chosen := pg.Text("document.querySelector('.function[aria-selected=true] .name').textContent")
	if row := pg.Text("document.querySelectorAll('.function')[1].querySelector('.name').textContent"); chosen != row || text(pg, "#table h2") != row {
		t.Errorf("%s is chosen and %s described, want %s", chosen, text(pg, "#table h2"), row)
	}
	caller := text(pg, "#table .callers button:enabled .name, #table .callees button:enabled .name")
	pg.ClickOn("#table .callers button:enabled, #table .callees button:enabled")
	if got := text(pg, "#table h2"); got != caller {
		t.Errorf("after a click on %s the table describes %s", caller, got)
	}
	pg.ClickOn("#table .find")
	still(pg)
	var found int
	pg.Eval(fmt.Sprintf("wprof.flame.rows.flat().filter((b) => wprof.finder.has(b) && wprof.flame.text(b) === %q).length", caller), &found)
	if found == 0 || pg.Text("document.querySelector('#search').value") != caller {
		t.Errorf("%s is not found in the graph", caller)
	}
	pg.Key("v")
	waitRendered(pg)
	var names []string
	pg.Eval("[...document.querySelectorAll('.function .name')].map((e) => e.textContent)", &names)
	if !slices.Contains(names, caller) || len(names) > 12 {
		t.Errorf("a search for %s leaves %q", caller, names)
	}
}
