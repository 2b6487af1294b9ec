package flamehtml

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/waits"
	"wprof/test/page"
)

// usual is a small profile of two processes.
func usual() *profile.Profile {
	return sample{threads: 20, stacks: 60, depth: 10, functions: 40, cells: 30, slots: 50, asleep: 0.3}.profile()
}

// box is a frame as it is drawn, in pixels of the window.
type box struct {
	Node, Count         int
	Name                string
	X, Y, Width         float64
	On, Off, Unknown    int64
	Parent, Total, Deep int64
}

// boxes are those that are drawn, the root's first.
func boxes(pg *page.Page) []box {
	var all []box
	pg.Eval(`(() => {
		const {flame} = wprof, g = flame.graph, at = flame.canvas.getBoundingClientRect();
		flame.drawNow();
		return flame.rows.flat().map((b) => ({Node: b.node, Count: b.count, Name: flame.text(b), X: at.left + b.x,
			Y: at.top + flame.top(b.depth) + 9, Width: b.width, On: g.on[b.node], Off: g.off[b.node], Unknown: g.unknown[b.node],
			Parent: g.parent[b.node], Total: b.ns, Deep: b.depth}));
	})()`, &all)
	return all
}

// wide is the first box of a depth that can be clicked.
func wide(t *testing.T, pg *page.Page, deep int64) box {
	t.Helper()
	for _, b := range boxes(pg) {
		if b.Deep == deep && b.Count == 1 && b.Width > 40 {
			return b
		}
	}
	t.Fatalf("no box of depth %d is wide enough", deep)
	return box{}
}

// text is what an element shows.
func text(pg *page.Page, selector string) string {
	return pg.Text(fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

// detail is the exact number of ns that the details show for Time, Self, On CPU, …; -1 for none.
func detail(pg *page.Page, what string) int64 {
	var ns int64
	pg.Eval(fmt.Sprintf(`(() => {
		const term = [...document.querySelectorAll('#details dt')].find((e) => e.textContent === %q);
		return term ? Number(term.nextSibling.querySelector('data').value) : -1;
	})()`, what), &ns)
	return ns
}

// still lets the page come to rest after a zoom.
func still(pg *page.Page) {
	pg.Wait("!wprof.flame.isAnimating")
	waitRendered(pg)
}

func TestPageZoomsByClickAndKey(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p)
	b := wide(t, pg, 3)
	pg.Click(b.X+b.Width/2, b.Y)
	still(pg)
	var zoomed int
	pg.Eval("wprof.flame.zoomed", &zoomed)
	if zoomed != b.Node {
		t.Fatalf("after a click on node %d, %d is zoomed into", b.Node, zoomed)
	}
	for _, now := range boxes(pg) {
		if now.Node == b.Node && now.Width < 600 {
			t.Errorf("the frame that was clicked on is %.0f px wide", now.Width)
		}
	}
	if got := detail(pg, "Time"); got != b.Total {
		t.Errorf("the details show %d ns of a frame of %d", got, b.Total)
	}
	if got := text(pg, "#details .name"); got != b.Name {
		t.Errorf("the details are of %q, want %q", got, b.Name)
	}
	var crumbs []string
	pg.Eval("[...document.querySelectorAll('#crumbs button')].map((e) => e.textContent)", &crumbs)
	if len(crumbs) != 4 || crumbs[0] != "all" || crumbs[3] != b.Name {
		t.Errorf("the way to the frame is %q, want four ending in %q", crumbs, b.Name)
	}
	pg.Key("Backspace")
	still(pg)
	if pg.Eval("wprof.flame.zoomed", &zoomed); zoomed != int(b.Parent) {
		t.Errorf("one step out is %d, want %d", zoomed, b.Parent)
	}
	pg.Key("Escape")
	still(pg)
	if pg.Eval("wprof.flame.zoomed", &zoomed); zoomed != 0 {
		t.Errorf("after Escape %d is zoomed into", zoomed)
	}
}

func TestPageIsUsedByKeysAlone(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p)
	var focused int
	for _, key := range []string{"ArrowUp", "ArrowUp", "ArrowRight", "ArrowLeft", "ArrowUp"} {
		pg.Key(key)
	}
	pg.Eval("wprof.flame.focused", &focused)
	var deep int
	pg.Eval("wprof.flame.graph.depth[wprof.flame.focused]", &deep)
	if deep != 3 {
		t.Fatalf("three steps up lead to depth %d", deep)
	}
	if said, name := text(pg, "#status"), text(pg, "#details .name"); !strings.HasPrefix(said, name) || !strings.Contains(said, "% of all") {
		t.Errorf("of %q is said %q", name, said)
	}
	pg.Key("Enter")
	still(pg)
	var zoomed int
	if pg.Eval("wprof.flame.zoomed", &zoomed); zoomed != focused {
		t.Errorf("Enter zooms into %d, want %d", zoomed, focused)
	}
	pg.Key("i")
	pg.Wait("wprof.isIcicle && wprof.flame.top(0) === -wprof.flame.scroller.scrollTop")
	pg.Key("ArrowUp") // the caller is above now
	if pg.Eval("wprof.flame.graph.depth[wprof.flame.focused]", &deep); deep != 2 {
		t.Errorf("up in an icicle leads to depth %d, want 2", deep)
	}
	pg.Key("?")
	pg.Wait("document.querySelector('#help').open")
	pg.Key("Escape")
	pg.Wait("!document.querySelector('#help').open")
	pg.Key("Home")
	still(pg)
	pg.Wait("wprof.flame.isWhole")
}

func TestPageChoosesTimeByButtonAndKey(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p)
	whole := func(v graph.View) graph.Weight { return graph.Of(p, v).Total[0] }
	for _, step := range []struct {
		what string
		do   func()
		view graph.View
	}{
		{"on CPU", func() { pg.ClickOn("[name=mode][value='1']") }, graph.View{Mode: graph.OnCPU}},
		{"off CPU", func() { pg.Key("3") }, graph.View{Mode: graph.OffCPU}},
		{"no waits", func() { pg.ClickOn("#idle") }, graph.View{Mode: graph.OffCPU, NoIdleWaits: true}},
		{"reasons", func() { pg.Key("s") }, graph.View{Mode: graph.OffCPU, NoIdleWaits: true, States: true}},
		{"reverse", func() { pg.Key("r") }, graph.View{Mode: graph.OffCPU, NoIdleWaits: true, States: true, Reverse: true}},
		{"by thread", func() { pg.Key("b") }, graph.View{Mode: graph.OffCPU, NoIdleWaits: true, States: true, Reverse: true, By: graph.ByThread}},
		{"wakers", func() { pg.ClickOn("[name=mode][value='3']") },
			graph.View{Mode: graph.Waker, NoIdleWaits: true, States: true, Reverse: true, By: graph.ByThread}},
		{"wall", func() { pg.Key("1") }, graph.View{NoIdleWaits: true, States: true, Reverse: true, By: graph.ByThread}},
		{"waits", func() { pg.Key("w") }, graph.View{States: true, Reverse: true, By: graph.ByThread}},
		{"by name", func() {
			pg.Eval(`(() => {
			const by = document.querySelector('#by'); by.value = 2; by.dispatchEvent(new Event('change', {bubbles: true}));
		})()`, nil)
		}, graph.View{States: true, Reverse: true, By: graph.ByComm}},
	} {
		step.do()
		waitRendered(pg)
		compare(t, step.what, shownRows(pg, true), rowsOf(graph.Of(p, step.view), true))
		w := whole(step.view)
		if got := detail(pg, "Time"); got != w.Ns() {
			t.Errorf("%s: the page shows %d ns in all, want %d", step.what, got, w.Ns())
		}
		if got := detail(pg, "On CPU"); w.On > 0 && got != w.On {
			t.Errorf("%s: the page shows %d ns on CPU, want %d", step.what, got, w.On)
		}
		if got := detail(pg, "Off CPU"); w.Off > 0 && got != w.Off {
			t.Errorf("%s: the page shows %d ns off CPU, want %d", step.what, got, w.Off)
		}
	}
	if got := text(pg, "#details h3"); got != "Calls" {
		t.Errorf("in a reverse graph the way to the root is headed %q", got)
	}
	if title, _ := graph.Caption(p, graph.View{}); text(pg, "h1") != title {
		t.Errorf("the title is %q, want %q", text(pg, "h1"), title)
	}
}

func TestPageKeepsTheZoomWhereItCan(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	b := wide(t, pg, 2)
	pg.Click(b.X+b.Width/2, b.Y)
	still(pg)
	pg.Key("3")
	still(pg)
	if got := pg.Text("wprof.flame.name(wprof.flame.zoomed)"); got != b.Name {
		t.Errorf("off the CPU the page shows %q, before %q", got, b.Name)
	}
}

// A thread that waited longest, for nothing that is known, is not the one that worked most.
func TestPageListsUnknownWaitsLast(t *testing.T) {
	t.Parallel()
	b := flametest.New()
	known := flametest.Cell(profile.ClassBlocked, format.StateInterruptible, b.Calls("main", "recv"), 2e9, 1)
	known.Wait.Class = waits.Receive
	b.Thread(10, 10, "unknown", flametest.Cell(profile.ClassBlocked, format.StateInterruptible, b.Calls("main", "pause"), 5e9, 1))
	b.Thread(20, 20, "busy", flametest.Cell(profile.ClassOnCPU, 0, b.Calls("main", "work"), 1e9, 100))
	b.Thread(30, 30, "waiting", known)
	pg := open(t, b.Profile)
	const names = "[...document.querySelectorAll('.thread .name')].map((e) => e.textContent).join(' ')"
	if got, want := pg.Text(names), "waiting busy unknown"; got != want {
		t.Errorf("by time at work the threads are %q, want %q", got, want)
	}
	if got, want := pg.Text("document.querySelector('.thread:last-child').title"), "blocked: 5 s, 5 s of it unknown waits"; !strings.Contains(got, want) {
		t.Errorf("the hint is %q, want %q in it", got, want)
	}
	pg.Eval("document.querySelector('#threads select').value = 'blocked'; document.querySelector('#threads select').dispatchEvent(new Event('input'))", nil)
	if got, want := pg.Text(names), "unknown waiting busy"; got != want {
		t.Errorf("by blocked time the threads are %q, want %q", got, want)
	}
}

// Where there is next to nothing but waits for work, they are the picture.
func TestPageDoesNotFoldWaitsForWorkOfIdleProcesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		idle        int64 // ns, beside 1 s of work
		isFolded    bool
		share, work string
	}{{101e9, false, "0.990", "0.98% of all"}, {99e9, true, "0.060", "100.00% of all but [idle]"}} {
		b := flametest.New()
		b.About.Window, b.About.Span, b.Slot, b.Slots = c.idle, c.idle, c.idle/10, 10
		work := flametest.Cell(profile.ClassOnCPU, 0, b.Calls("main", "work"), 1e9, 100)
		work.Slots = []profile.SlotTime{{Slot: 3, Ns: 1e9}}
		idle := flametest.Cell(profile.ClassIdle, format.StateInterruptible, b.Calls("main", "poll"), c.idle, 1)
		for slot := range b.Slots {
			idle.Slots = append(idle.Slots, profile.SlotTime{Slot: uint32(slot), Ns: b.Slot})
		}
		b.Thread(10, 10, "server", work, idle)
		pg := open(t, b.Profile, graph.View{FoldIdle: true})
		var got struct {
			Share, Work string
			Above       bool
			Strip       float64
		}
		pg.Eval(`(() => {
			const {flame, strip} = wprof, {graph} = flame, named = (name) => flame.rows.flat().find((box) => flame.name(box.node) === name);
			const [ns, whole] = graph.whole(graph.child[graph.childFrom[0]] === graph.idle ? graph.child[graph.childFrom[0] + 1] : graph.child[graph.childFrom[0]]);
			return {
				share: (graph.width[graph.idle] / graph.width[0]).toFixed(3), above: named('poll') !== undefined,
				work: (100e9 / ns).toFixed(2) + '% of ' + whole, strip: strip.bands[3][5],
			};
		})()`, &got)
		if got.Share != c.share || got.Above == c.isFolded || got.Work != c.work || got.Strip > 0 == c.isFolded {
			t.Errorf("with %d ns of waits for work: %+v", c.idle, got)
		}
	}
}

func TestPageChoosesThreads(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p)
	// The list has the threads that were at work longest first.
	first := func() int {
		var i int
		pg.Eval("Number(document.querySelector('.thread').id.slice('thread-'.length))", &i)
		return i
	}
	i := first()
	worked := func(t *profile.Thread) (ns int64) {
		for j := range t.Cells {
			c := &t.Cells[j]
			isUnknownWait := c.Class == profile.ClassBlocked && c.Wait.Class == waits.Unknown
			if c.Class != profile.ClassIdle && c.Class != profile.ClassUnknown && !isUnknownWait {
				ns += c.Ns
			}
		}
		return ns
	}
	for _, other := range p.Threads {
		if worked(other) > worked(p.Threads[i]) {
			t.Errorf("thread %d is the first in the list, but %d was longer at work", p.Threads[i].TID, other.TID)
		}
	}
	pg.ClickOn(".thread")
	waitRendered(pg)
	only := func(tids ...int32) graph.View {
		return graph.View{Only: func(t *profile.Thread) bool {
			for _, tid := range tids {
				if t.TID == tid {
					return true
				}
			}
			return false
		}}
	}
	compare(t, "one thread", shownRows(pg, true), rowsOf(graph.Of(p, only(p.Threads[i].TID)), true))
	pg.Key("t")
	pg.Type("worker-3")
	pg.Wait("document.querySelectorAll('.thread').length === 2")
	pg.Eval("document.querySelector('#threads [role=listbox]').focus()", nil)
	pg.Key("ArrowDown")
	pg.Key("Enter")
	waitRendered(pg)
	var chosen []int
	pg.Eval("[...wprof.view.threads]", &chosen)
	if len(chosen) != 1 || p.Labels[p.Threads[chosen[0]].Label].Comm != "worker-3" {
		t.Fatalf("threads %v are chosen", chosen)
	}
	pg.Key("Control+a")
	waitRendered(pg)
	compare(t, "both worker-3", shownRows(pg, true), rowsOf(graph.Of(p, only(1003, 1103)), true))
	if got := text(pg, "#threads .counts"); got != "2 of 20 threads, 2 chosen" {
		t.Errorf("the list says %q", got)
	}
	pg.Key("t")
	pg.Key("Escape")
	pg.Wait("document.querySelector('#threads input').value === '' && wprof.view.threads.size === 2")
	pg.ClickOn("#threads .all")
	waitRendered(pg)
	compare(t, "all", shownRows(pg, true), rowsOf(graph.Of(p, graph.View{}), true))
}

func TestPageSelectsARangeOfTime(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p)
	var strip struct{ X, Y, Width, Height float64 }
	pg.Eval("document.querySelector('#strip').getBoundingClientRect().toJSON()", &strip)
	at := func(slot float64) float64 { return strip.X + slot/float64(p.Slots)*strip.Width }
	y := strip.Y + 20
	selected := func(what string, from, to int, said string) {
		t.Helper()
		waitRendered(pg)
		v := graph.View{From: from, To: to}
		compare(t, what, shownRows(pg, false), rowsOf(graph.Of(p, v), false))
		if got := text(pg, "#range"); got != said {
			t.Errorf("%s: the page says %q, want %q", what, got, said)
		}
		total := graph.Of(p, v).Total[0].Ns()
		if got := detail(pg, "Time"); got != total {
			t.Errorf("%s: the page shows %d ns, want %d", what, got, total)
		}
	}
	pg.Drag(at(10.4), y, at(19.6), y)
	selected("a drag", 10, 20, "1.0 s to 2.0 s (1 s)")
	pg.Drag(at(20), y, at(29.7), y)
	selected("the right edge", 10, 30, "1.0 s to 3.0 s (2 s)")
	pg.Drag(at(15), y, at(20), y)
	selected("moved", 15, 35, "1.5 s to 3.5 s (2 s)")
	pg.Eval("document.querySelector('#strip').focus()", nil)
	pg.Key("ArrowLeft")
	selected("the left arrow", 14, 34, "1.4 s to 3.4 s (2 s)")
	pg.Key("Shift+ArrowRight")
	selected("Shift and the right arrow", 14, 35, "1.4 s to 3.5 s (2.1 s)")
	pg.Key("End")
	selected("the end", 29, 50, "2.9 s to 5.0 s (2.1 s)")
	pg.Key("Escape")
	selected("Escape", 0, 0, "")
	pg.Drag(at(44.5), y, at(5.5), y)
	selected("leftwards", 5, 45, "0.5 s to 4.5 s (4 s)")
	pg.Click(at(48), y)
	selected("a click", 0, 0, "")
	pg.Key("PageDown")
	selected("by keys alone", 0, 5, "0.0 s to 0.5 s (500 ms)")
	pg.ClickOn("#whole")
	selected("the button", 0, 0, "")
}

// Times count from the opening of the recording, also where a filter has cut off its beginning.
func TestPageCountsTimeFromTheRecordingsStart(t *testing.T) {
	t.Parallel()
	p := usual()
	p.About.From = 5e9
	pg := open(t, p, graph.View{From: 10, To: 20})
	if got := text(pg, "#range"); got != "6.0 s to 7.0 s (1 s)" {
		t.Errorf("the page says that %s is selected", got)
	}
}

func TestPageCopiesNamesAndStacks(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	b := wide(t, pg, 2)
	pg.Click(b.X+b.Width/2, b.Y)
	still(pg)
	pg.Eval("document.addEventListener('copy', () => { globalThis.copied = getSelection().toString() || document.activeElement.value; })", nil)
	var path []string
	pg.Eval("wprof.flame.graph.path(wprof.flame.focused).map((n) => wprof.flame.name(n))", &path)
	pg.Eval("Object.defineProperty(navigator, 'clipboard', {value: undefined})", nil) // as on a server without TLS
	pg.Key("c")
	pg.Wait("document.querySelector('.copy-name').textContent === 'Copied'")
	if got := pg.Text("globalThis.copied"); got != b.Name {
		t.Errorf("copied %q, want %q", got, b.Name)
	}
	pg.ClickOn(".copy-stack")
	pg.Wait("document.querySelector('.copy-stack').textContent === 'Copied'")
	if got := pg.Text("globalThis.copied"); got != strings.Join(path, ";") {
		t.Errorf("copied %q, want %q", got, path)
	}
}

// What the strip draws is what the slots have: on the CPU, waiting for one, blocked, waiting for work, unknown.
func TestPageStripAddsUpSlots(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p)
	want := make([][]float64, 5)
	for i := range want {
		want[i] = make([]float64, p.Slots)
	}
	band := map[profile.Class]int{profile.ClassOnCPU: 0, profile.ClassRunnable: 1, profile.ClassPreempted: 1, profile.ClassBlocked: 2,
		profile.ClassNew: 2, profile.ClassIdle: 3, profile.ClassUnknown: 4}
	for _, thread := range p.Threads {
		for i := range thread.Cells {
			for _, s := range thread.Cells[i].Slots {
				want[band[thread.Cells[i].Class]][s.Slot] += float64(s.Ns)
			}
		}
	}
	var got [][]float64
	pg.Eval("wprof.strip.bands.map((band) => [...band])", &got)
	for i := range want {
		for slot := range want[i] {
			if got[i][slot] != want[i][slot] {
				t.Fatalf("band %d of slot %d has %v ns, want %v", i, slot, got[i][slot], want[i][slot])
			}
		}
	}
	// A red column is as high as its share.
	share := want[0][7] / float64(p.Slot*int64(len(p.Threads)))
	var red float64
	pg.Eval(`(() => {
		const strip = document.querySelector('#strip'), context = strip.getContext('2d');
		const tone = getComputedStyle(document.documentElement).getPropertyValue('--time-0').trim();
		const column = context.getImageData(Math.round((7.5 / 50) * strip.width), 0, 1, strip.height).data;
		let n = 0;
		for (let y = 0; y < strip.height; y++) {
			const [r, g, b] = column.slice(4 * y);
			if ('#' + [r, g, b].map((v) => v.toString(16).padStart(2, '0')).join('') === tone) n++;
		}
		return n / (strip.height - 17);
	})()`, &red)
	if math.Abs(red-share) > 0.05 {
		t.Errorf("the red column is %.3f of the strip's height, want %.3f", red, share)
	}
}

func TestPageSearchShowsTheShare(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p)
	for _, term := range []string{"commit_lookup", "^(merge|flush)_", "engine::", "operator()(", "nothing like it", "_1"} {
		pg.Key("/")
		pg.Eval("document.querySelector('#search').select()", nil)
		pg.Type(term)
		got := text(pg, "#found")
		if want := foundShare(graph.Of(p, graph.View{}), term); got != want {
			t.Errorf("%q: the page says %q, want %q", term, got, want)
		}
		pg.Eval("document.querySelector('#search').blur()", nil)
	}
	// Matches are drawn in a colour of their own.
	var colours []string
	pg.Eval(`(() => {
		wprof.search('engine::');
		const {flame} = wprof, context = flame.context;
		flame.drawNow();
		const {width, height} = flame.canvas, pixels = context.getImageData(0, 0, width, height).data;
		const at = (x, y) => pixels.slice(4 * (Math.round(y) * width + Math.round(x)));
		const hex = ([r, g, b]) => '#' + [r, g, b].map((v) => v.toString(16).padStart(2, '0')).join('');
		return flame.rows.flat().filter((b) => b.width > 8 && b.count === 1 && flame.name(b.node).includes('engine::') && flame.top(b.depth) > 0)
			.map((b) => hex(at(b.x + 2, flame.top(b.depth) + 2)));
	})()`, &colours)
	hit := strings.TrimSpace(pg.Text("getComputedStyle(document.documentElement).getPropertyValue('--hit')"))
	if len(colours) < 3 {
		t.Fatalf("only %d frames are found", len(colours))
	}
	for _, c := range colours {
		if c != hit {
			t.Errorf("a frame that is found is drawn in %s, want %s", c, hit)
		}
	}
	pg.Key("Escape")
	if got := text(pg, "#found"); got != "" {
		t.Errorf("after Escape the page still says %q", got)
	}
}

// Names are taken as they are shown, though all of them may be regular expressions too.
func TestPageSearchTakesNamesAsTheyAreShown(t *testing.T) {
	t.Parallel()
	pg := open(t, stacksOf(func(i int) int64 { return int64(i+1) * 1e9 },
		[]string{"main", "[runnable]"}, []string{"main", "std::vector<int>::operator[]"}, []string{"main", "reader"}, []string{"main", "writer"}))
	for _, c := range []struct{ term, found, how string }{
		{"[runnable]", "10% of time", "1 s in 1 frame, searched as text"},
		{"[Runnable]", "100% of time", "10 s in 6 frames, searched as a regular expression"},
		{"std::vector<int>::operator[]", "20% of time", "2 s in 1 frame, searched as text"},
		{"^(read|writ)er$", "70% of time", "7 s in 2 frames, searched as a regular expression"},
		{"[wr]", "100% of time", "10 s in 4 frames, searched as a regular expression"},
		{"(", "not found", "0 ns in 0 frames, searched as text"},
	} {
		pg.Eval(fmt.Sprintf("wprof.search(%q)", c.term), nil)
		if found, how := text(pg, "#found"), pg.Text("document.querySelector('#found').title"); found != c.found || how != c.how {
			t.Errorf("%s: the page says %q, %q, want %q, %q", c.term, found, how, c.found, c.how)
		}
	}
}

// A regular expression may take years to match; the page gives up, says so, and stays responsive.
func TestPageGivesUpSlowRegularExpressions(t *testing.T) {
	t.Parallel()
	var stacks [][]string
	for i := range 200 {
		stacks = append(stacks, []string{"main", fmt.Sprintf("%s_%d", strings.Repeat("abc_", 1+i%20), i)})
	}
	pg := open(t, stacksOf(func(int) int64 { return 1e9 }, stacks...))
	for _, term := range []string{"(?:[a-z_]+)+x1", "^(a|b|ab|bc|abc|c|c_|_)*!", `([a-z_]*)*\1x1`} {
		pg.Eval(fmt.Sprintf("wprof.search(%q)", term), nil)
		if got, want := text(pg, "#found"), "this regular expression takes too long; make it simpler"; got != want {
			t.Errorf("%s: the page says %q, want %q", term, got, want)
		}
	}
	pg.Eval("wprof.search('c__[12]$')", nil)
	if got := text(pg, "#found"); got != "1% of time" {
		t.Errorf("after it the page finds %q", got)
	}
}

// foundShare is how much of a graph's time has a frame on its stack that a search finds, as the page shows it.
func foundShare(g *graph.Graph, term string) string {
	has := func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(term)) }
	matches := has
	if !slices.ContainsFunc(g.Nodes[1:], func(n graph.GraphNode) bool { return has(n.Name) }) {
		if pattern, err := regexp.Compile("(?i)" + term); err == nil {
			matches = pattern.MatchString
		}
	}
	var ns int64
	under := make([]bool, len(g.Nodes))
	for i := 1; i < len(g.Nodes); i++ {
		n := &g.Nodes[i]
		found := matches(n.Name)
		if found && !under[n.Parent] {
			ns += g.Total[i].Ns()
		}
		under[i] = found || under[n.Parent]
	}
	if ns == 0 {
		return "not found"
	}
	percent := 100 * float64(ns) / float64(g.Total[0].Ns())
	digits := 1
	if percent < 10 {
		digits = 2
	}
	text := strconv.FormatFloat(percent, 'f', digits, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "% of time"
}
