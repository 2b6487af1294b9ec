package flamehtml

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/test/page"
)

// stacksOf is a profile of one thread that was on the CPU for a time in each of the stacks, their outermost frames first.
func stacksOf(ns func(i int) int64, stacks ...[]string) *profile.Profile {
	p := &profile.Profile{
		Frames: make([]profile.Frame, 1), Nodes: make([]profile.Node, 1), Wakes: make([]profile.Wake, 1),
		Labels: []profile.Label{{}, {PID: 7, TID: 7, Comm: "tool", Process: "tool"}},
	}
	t := &profile.Thread{PID: 7, TID: 7, Label: 1}
	for i, stack := range stacks {
		at := profile.NodeID(0)
		for _, name := range stack {
			p.Frames = append(p.Frames, profile.Frame{Functions: []profile.Function{{Name: name}}, Module: name})
			p.Nodes = append(p.Nodes, profile.Node{Parent: at, Frame: profile.FrameID(len(p.Frames) - 1)})
			at = profile.NodeID(len(p.Nodes) - 1)
		}
		key := profile.CellKey{Class: profile.ClassOnCPU, CPU: profile.NoCPU, Label: 1, Stack: at}
		t.Cells = append(t.Cells, profile.Cell{CellKey: key, Ns: ns(i), Count: 1})
		t.Lifetime += ns(i)
	}
	p.Threads = []*profile.Thread{t}
	p.About.Window, p.About.Span = t.Lifetime, t.Lifetime
	return p
}

// hostile are names that would be markup, script or other text if a page let them.
func hostile() []string {
	return []string{
		"</script><script>globalThis.hacked = 1</script>", "<img src=x onerror='globalThis.hacked=1'>", "<!--<script>", "]]>", "\"'&lt;&",
		"${globalThis.hacked=1}", "</title><h1>", "a\x00b\x1b[31m\r\n", "\xff\xfe\x80", "\u202edesrever\u2066", "__proto__", "constructor",
		strings.Repeat("std::vector<", 350), "日本語の関数", "🙂",
	}
}

func TestPageKeepsNamesWhereTheyBelong(t *testing.T) {
	t.Parallel()
	var stacks [][]string
	for _, name := range hostile() {
		stacks = append(stacks, []string{"main", name, name})
	}
	p := stacksOf(func(int) int64 { return 1e9 }, stacks...)
	p.About.Host = hostile()[0]
	p.Labels[1].Comm, p.Labels[1].Process = hostile()[0], hostile()[1]
	pg := open(t, p)
	pg.Prefer("reduced-motion", "reduce")
	for _, b := range boxes(pg) {
		if b.Deep == 3 {
			pg.Click(b.X+b.Width/2, b.Y) // moves the mouse there, too
			pg.Key("Escape")
		}
	}
	waitRendered(pg)
	var state struct {
		Hacked, Titles, Images, Headings int
	}
	pg.Eval(`({Hacked: globalThis.hacked ?? 0, Images: document.images.length, Headings: document.querySelectorAll('h1').length})`, &state)
	if state.Hacked != 0 || state.Images != 0 || state.Headings != 1 {
		t.Errorf("names have become part of the page: %+v", state)
	}
	got := make(map[string]bool)
	for _, r := range shownRows(pg, true) {
		got[r.Name] = true
	}
	for _, want := range []string{
		hostile()[0], hostile()[1], `a\x00b\x1b[31m\r\n`, `\xff\xfe\x80`, `\u202edesrever\u2066`, hostile()[12], "日本語の関数", "🙂",
	} {
		if !got[want] {
			t.Errorf("no frame is called %.60q", want)
		}
	}
	if len(got) != len(hostile())+2 {
		t.Errorf("%d names are shown, want %d", len(got), len(hostile())+2)
	}
	if title := pg.Text("document.title"); !strings.Contains(title, hostile()[0]) {
		t.Errorf("the title is %q", title)
	}
}

func TestPagePutsSmallFramesTogether(t *testing.T) {
	t.Parallel()
	const small = 20_000
	stacks := [][]string{{"main", "big"}}
	for i := range small {
		stacks = append(stacks, []string{"main", fmt.Sprintf("small_%05d", i), "leaf"})
	}
	pg := open(t, stacksOf(func(i int) int64 {
		if i == 0 {
			return small * 1000
		}
		return 1000
	}, stacks...))
	find := func() (found box) {
		for _, b := range boxes(pg) {
			if b.Count > found.Count && b.Count > 1 {
				found = b
			}
		}
		return found
	}
	b := find()
	if b.Count != small || b.Name != "(20,000 small frames)" || b.Total != small*1000 {
		t.Fatalf("small frames are shown as %+v", b)
	}
	pg.Hover(b.X+b.Width/2, b.Y)
	pg.Wait("!document.querySelector('#tooltip').hidden")
	if shown := text(pg, "#tooltip"); !strings.Contains(shown, "(20,000 small frames)") || !strings.Contains(shown, "50% of all") {
		t.Errorf("the tooltip of small frames is %q", shown)
	}
	// Zoomed in far enough each of them is seen.
	pg.Click(b.X+b.Width/2, b.Y)
	still(pg)
	for range 8 {
		pg.Key("+")
	}
	waitRendered(pg)
	seen := 0
	for _, b := range boxes(pg) {
		if strings.HasPrefix(b.Name, "small_") {
			seen++
		}
	}
	if seen < 50 {
		t.Errorf("zoomed in, %d of the small frames are seen", seen)
	}
	pg.Key("Home")
	still(pg)
	// They are found though they are too small to be drawn.
	pg.Eval("wprof.search('small_0')", nil)
	if got := text(pg, "#found"); got != "25% of time" {
		t.Errorf("a search for a half of them finds %s", got)
	}
}

func TestPageTooltipStaysInTheWindow(t *testing.T) {
	t.Parallel()
	p := stacksOf(func(int) int64 { return 1e9 }, []string{"main", strings.Repeat("long::name<", 200)}, []string{"main", "b", "c"})
	pg := open(t, p)
	for _, size := range []page.Size{{Width: 1280, Height: 800}, {Width: 500, Height: 420}} {
		pg.Resize(size, 1)
		pg.Wait(fmt.Sprintf("innerWidth === %d", size.Width))
		waitRendered(pg)
		for _, b := range boxes(pg) {
			for _, x := range []float64{b.X + 1, b.X + b.Width/2, b.X + b.Width - 2} {
				if b.Y < 0 || b.Y >= float64(size.Height) {
					continue
				}
				pg.Hover(x, b.Y)
				var inside, shown bool
				pg.Eval(`(() => {
					const r = document.querySelector('#tooltip').getBoundingClientRect();
					return r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight;
				})()`, &inside)
				pg.Eval("!document.querySelector('#tooltip').hidden", &shown)
				if !shown || !inside {
					t.Errorf("at %v, beside %q: shown %t, inside %t", size, b.Name, shown, inside)
				}
			}
		}
	}
}

func TestPageFitsItsWindow(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	for _, c := range []struct {
		size  page.Size
		scale float64
	}{{page.Size{Width: 1600, Height: 1000}, 2}, {page.Size{Width: 700, Height: 900}, 1.5}, {page.Size{Width: 1280, Height: 800}, 1}} {
		pg.Resize(c.size, c.scale)
		pg.Wait(fmt.Sprintf("innerWidth === %d && devicePixelRatio === %g", c.size.Width, c.scale))
		pg.Wait("Math.abs(wprof.flame.canvas.width - wprof.flame.scroller.clientWidth * devicePixelRatio) <= 1")
		var overflow bool
		pg.Eval("document.documentElement.scrollWidth > innerWidth", &overflow)
		if overflow {
			t.Errorf("at %v the page is wider than the window", c)
		}
		var width float64
		pg.Eval("wprof.flame.scroller.clientWidth", &width)
		if root := boxes(pg)[0]; root.Width != width {
			t.Errorf("at %v the root is %.0f px wide, want %.0f", c, root.Width, width)
		}
	}
}

// A window that is made smaller or larger keeps in sight what was in sight, and the page does not scroll by itself.
func TestPageKeepsItsRootInSmallerWindows(t *testing.T) {
	t.Parallel()
	deep := []string{"main"}
	for i := range 50 {
		deep = append(deep, fmt.Sprintf("level_%d", i))
	}
	for name, p := range map[string]*profile.Profile{"few levels": usual(), "many": stacksOf(func(int) int64 { return 1e9 }, deep)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pg := open(t, p)
			isSeen := func(when, node string) {
				t.Helper()
				var is bool
				pg.Eval(fmt.Sprintf(`(() => {
					const {flame} = wprof, {graph} = flame, top = flame.top(graph.depth[%[1]s]);
					flame.drawNow();
					return Boolean(flame.boxOf(%[1]s)) && top >= 0 && top + 19 <= flame.height && flame.height === flame.scroller.clientHeight;
				})()`, node), &is)
				if !is {
					t.Errorf("%s node %s is out of sight", when, node)
				}
			}
			sizes := []page.Size{{Width: 1400, Height: 900}, {Width: 1400, Height: 500}, {Width: 900, Height: 700}, {Width: 1400, Height: 900}, {Width: 1400, Height: 420}}
			for _, icicle := range []bool{false, true} {
				pg.Eval(fmt.Sprintf("wprof.flip(%v)", icicle), nil)
				for _, size := range sizes {
					pg.Resize(size, 1)
					isSeen(fmt.Sprintf("icicle %v, at %v", icicle, size), "0")
				}
			}
			if name != "many" {
				return
			}
			pg.Eval("wprof.flip(false); wprof.flame.focus(40)", nil)
			pg.Resize(page.Size{Width: 1400, Height: 410}, 1)
			pg.Resize(page.Size{Width: 1400, Height: 600}, 1)
			isSeen("far from the root", "40")
		})
	}
}

// notes is a profile of a thread with notes of each kind: on the CPU, off it, and a rare one among the others.
func notes() *profile.Profile {
	p := stacksOf(func(i int) int64 { return []int64{454e6, 197e3, 500e6, 300e6}[i] }, []string{"main", "read"}, []string{"main", "read"}, []string{"[not sampled]"}, []string{"poll"})
	for i, f := range p.Frames {
		if i > 0 && f.Functions[0].Name == "[not sampled]" {
			p.Frames[i].Note = true
		}
	}
	cells := p.Threads[0].Cells
	cells[0].Class, cells[0].Count, cells[0].Waits = profile.ClassRunnable, 60, 71
	cells[1].Stack, cells[1].Count = cells[0].Stack, 4812
	cells[2].Count = 0
	cells[3].Class = profile.ClassIdle
	return p
}

// Notes stand for much time at times: their colours show where, as in the SVG.
func TestPageDistinguishesNotesOnAndOffTheCPU(t *testing.T) {
	t.Parallel()
	pg := open(t, notes(), graph.View{States: true})
	var fills map[string]string
	pg.Eval(`(() => {
		const {flame} = wprof;
		flame.drawNow();
		const {width, height} = flame.canvas, pixels = flame.context.getImageData(0, 0, width, height).data;
		const at = (x, y) => [...pixels.slice(4 * (Math.round(y) * width + Math.round(x))).slice(0, 3)];
		const hex = (b) => '#' + at(b.x + 2, flame.top(b.depth) + 2).map((v) => v.toString(16).padStart(2, '0')).join('');
		return Object.fromEntries(flame.rows.flat().map((b) => [flame.text(b), hex(b)]));
	})()`, &fills)
	for note, property := range map[string]string{"[not sampled]": "--note-on", "[runnable]": "--delay", "[idle]": "--note-off"} {
		got := fills[note]
		if want := strings.TrimSpace(pg.Text(fmt.Sprintf("getComputedStyle(document.documentElement).getPropertyValue(%q)", property))); got != want {
			t.Errorf("%s is drawn in %s, want %s", note, got, want)
		}
	}
	var legend []struct {
		Text  string
		Fills int
	}
	pg.Eval("[...document.querySelectorAll('#colours > span')].map((e) => ({Text: e.textContent, Fills: e.querySelectorAll('i').length}))", &legend)
	found := false
	for _, item := range legend {
		found = found || item.Text == "[note]" && item.Fills == 3
	}
	if !found {
		t.Errorf("the legend has no [note] of three colours: %+v", legend)
	}
}

// Samples and off-CPU intervals are two numbers, and shares of a whole add up to it.
func TestPageSharesAddUp(t *testing.T) {
	t.Parallel()
	pg := open(t, notes())
	pg.Eval("wprof.search('read')", nil)
	shown := pg.Text("wprof.boxText.lines({node: wprof.flame.graph.path(wprof.flame.rows.flat().find((b) => wprof.flame.text(b) === 'main').node).at(-1), count: 1}).join('; ')")
	if want := "197 µs on CPU (0.04%), 454 ms off CPU (99.96%); 4,812 samples, 60 off-CPU intervals, 71 waits for a CPU"; !strings.HasSuffix(shown, want) {
		t.Errorf("the page shows %q, want it to end in %q", shown, want)
	}
}

// A label that does not fit keeps the file and line of its name.
func TestLabelsKeepFileAndLine(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	const load = "shop::storage::load (svc.cpp:22)"
	for _, c := range []struct{ name, want string }{
		{load, load}, {load, "…storage::load (svc.cpp:22)"}, {load, "…load (svc.cpp:22)"}, {load, "lo… (svc.cpp:22)"},
		{load, "l… (svc.cpp:22)"}, {load, "(svc.cpp:22)"}, {load, "load"},
		{"get_or_make<handle(int)::<lambda(int)> > (svc.cpp:22)", "get_or_make<handle(int)::… (svc.cpp:22)"},
		{"main (svc.cpp:78)", "m… (svc.cpp:78)"}, {"main (svc.cpp)", "main (svc…"}, {load, ""},
	} {
		// The width of a label in parts is not exactly that of the whole.
		got := pg.Text(fmt.Sprintf("wprof.flame.labels.fit(%q, true, wprof.flame.context.measureText(%q).width + 0.5)", c.name, c.want))
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}

// Merging large profiles takes a while, in which the graph is of the page's colour already.
func TestPageHasItsBackgroundBeforeTheGraph(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	for _, scheme := range []string{"light", "dark"} {
		pg.Prefer("color-scheme", scheme)
		pg.Wait("wprof.flame.palette.page === getComputedStyle(document.documentElement).getPropertyValue('--page').trim()")
		var shown []int
		pg.Eval(`(async () => {
			const [scroller, space, canvas] = ['div', 'div', 'canvas'].map((tag) => document.createElement(tag));
			scroller.style = 'position: fixed; inset: 0';
			space.append(canvas);
			scroller.append(space);
			const flame = new wprof.flame.constructor(wprof.profile, scroller, canvas, space);
			flame.paint(wprof.flame.palette);
			document.body.append(scroller);
			await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
			scroller.remove();
			return [...flame.context.getImageData(canvas.width / 2, canvas.height - 1, 1, 1).data].slice(0, 3);
		})()`, &shown)
		colour := fmt.Sprintf("#%02x%02x%02x", shown[0], shown[1], shown[2])
		if want := pg.Text("wprof.flame.palette.page"); colour != want {
			t.Errorf("%s: without a graph the canvas is %s, want %s", scheme, colour, want)
		}
	}
}

// Every text and every frame's label has the contrast that WCAG requires at level AA.
func TestPageIsReadableOnLightAndDark(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	b := wide(t, pg, 2)
	pg.Click(b.X+b.Width/2, b.Y)
	still(pg)
	pages := make(map[string]string)
	for _, scheme := range []string{"light", "dark"} {
		pg.Prefer("color-scheme", scheme)
		pg.Wait(fmt.Sprintf("matchMedia('(prefers-color-scheme: %s)').matches", scheme))
		pg.Wait("wprof.flame.palette.page === getComputedStyle(document.documentElement).getPropertyValue('--page').trim()")
		waitRendered(pg)
		var texts []struct{ Of, Text, Behind string }
		pg.Eval(`(() => {
			const rgb = (hex) => 'rgb(' + [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join(', ') + ')';
			const seen = [];
			for (const e of document.querySelectorAll('body *')) {
				const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
				if (!own || e.closest('script, noscript, [hidden], dialog:not([open]), option')) continue;
				let behind = e;
				while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
				seen.push({Of: e.tagName + '.' + e.className + '#' + e.id, Text: getComputedStyle(e).color,
					Behind: getComputedStyle(behind ?? document.documentElement).backgroundColor});
			}
			const {palette} = wprof.flame;
			for (const tone of Object.values(palette.tones)) {
				seen.push({Of: 'label on ' + tone.fill, Text: rgb(tone.ink), Behind: rgb(tone.fill)});
			}
			seen.push({Of: 'axis', Text: rgb(palette.faint), Behind: rgb(palette.page)});
			return seen;
		})()`, &texts)
		if len(texts) < 60 {
			t.Fatalf("only %d texts are found", len(texts))
		}
		for _, s := range texts {
			ratio, err := page.Contrast(s.Text, s.Behind)
			if err != nil || ratio < 4.5 {
				t.Errorf("%s: %s has %s on %s: contrast %.2f %v", scheme, s.Of, s.Text, s.Behind, ratio, err)
			}
		}
		pages[scheme] = texts[len(texts)-1].Behind
	}
	if pages["light"] == pages["dark"] {
		t.Errorf("light and dark are both %s", pages["light"])
	}
}

func TestPageRespectsReducedMotion(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	pg.Prefer("reduced-motion", "reduce")
	b := wide(t, pg, 2)
	pg.Click(b.X+b.Width/2, b.Y)
	var now struct{ From, To float64 }
	pg.Eval("wprof.flame.range", &now)
	if now.To-now.From != float64(b.Total) {
		t.Errorf("right after a click %v ns are shown, want %d at once", now.To-now.From, b.Total)
	}
}

func TestPageReportsWhyItCannotShowAProfile(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(write(t, usual()))
	if err != nil {
		t.Fatal(err)
	}
	policy := []byte("default-src 'none'; img-src data:; script-src")
	for name, c := range map[string]struct{ from, to, want string }{
		"an old browser": {"globalThis.DecompressionStream", "globalThis.noSuchThing", "use a version from 2023"},
		"a damaged file": {`<script type="application/octet-stream">`, `<script type="application/octet-stream">AAAA`, "Cannot show this profile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !bytes.Contains(whole, []byte(c.from)) || !bytes.Contains(whole, policy) {
				t.Fatalf("the page has no %s", c.from)
			}
			file := bytes.Replace(whole, []byte(c.from), []byte(c.to), 1)
			file = bytes.Replace(file, policy, []byte("script-src 'unsafe-inline'; x-script-src"), 1)
			path := filepath.Join(t.TempDir(), "page.html")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			pg := page.Open(t, path)
			pg.Wait("document.querySelector('#trouble').textContent.includes(" + fmt.Sprintf("%q", c.want) + ")")
		})
	}
}

// Waits for work are in one narrow, grey frame; a click shows them.
func TestPageFoldsWaitsForWork(t *testing.T) {
	t.Parallel()
	b := flametest.New()
	b.Thread(10, 10, "server", flametest.Cell(profile.ClassOnCPU, 0, b.Calls("main", "serve"), 1e9, 100))
	b.Thread(20, 20, "pool", flametest.Cell(profile.ClassIdle, format.StateInterruptible, b.Calls("start", "next", "k_futex"), 9e9, 7))
	pg := open(t, b.Profile, graph.View{FoldIdle: true})
	names := func() (all []string) {
		for _, b := range boxes(pg) {
			all = append(all, b.Name)
		}
		return all
	}
	if got, want := fmt.Sprint(names()), "[all [idle] server-10 main serve]"; got != want {
		t.Errorf("at first the page shows %s, want %s", got, want)
	}
	drawn := boxes(pg)
	all, idle := drawn[0], drawn[1]
	if share := idle.Width / all.Width; share < 0.055 || share > 0.065 {
		t.Errorf("waits for work have %.1f%% of the width", 100*share)
	}
	if got := pg.Text("wprof.boxText.lines({node: wprof.flame.rows[3][0].node, count: 1}).join('; ')"); !strings.Contains(got, "1 s, 100% of all but [idle]") {
		t.Errorf("serve has %s", got)
	}
	pg.Click(idle.X+idle.Width/2, idle.Y)
	still(pg)
	if got, want := fmt.Sprint(names()), "[all [idle] pool-20 start next k_futex]"; got != want {
		t.Errorf("after a click the page shows %s, want %s", got, want)
	}
	if got := detail(pg, "Time"); got != 9e9 {
		t.Errorf("the details show %d ns", got)
	}
	pg.Key("Escape")
	still(pg)
	pg.Key("f")
	still(pg)
	if got, want := fmt.Sprint(names()), "[all pool-20 server-10 start main next serve k_futex [idle]]"; got != want {
		t.Errorf("unfolded the page shows %s, want %s", got, want)
	}
}
