package svg

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/test/page"
)

// lesson is a graph of 100 ms: foo and bar call each other on the CPU, and read blocks off it.
func lesson() *graph.Graph {
	s := newSketch(1)
	app := func(names ...string) []graph.Step {
		steps := []graph.Step{{Name: "app-1/1", Kind: graph.KindRoot}}
		for _, name := range names {
			at := graph.Step{Name: name, Module: "/bin/app"}
			if kernel, is := strings.CutPrefix(name, "k:"); is {
				at = graph.Step{Name: kernel, Kind: graph.KindKernel, Module: "[kernel]"}
			}
			steps = append(steps, at)
		}
		return steps
	}
	s.add(graph.Weight{On: 10e6, Count: 1}, app("main", "foo")...)
	s.add(graph.Weight{On: 20e6, Count: 2}, app("main", "foo", "bar")...)
	s.add(graph.Weight{On: 30e6, Count: 3}, app("main", "foo", "bar", "foo")...)
	s.add(graph.Weight{Off: 36e6, Count: 4, Waits: 3}, app("main", "read", "k:vfs_read")...)
	s.add(graph.Weight{On: 4e6, Count: 1}, app("main", "read", "k:vfs_read")...)
	return s.done()
}

// picturePage is a picture in a browser.
type picturePage struct {
	*page.Page
	t testing.TB
}

func openSVG(t *testing.T, g *graph.Graph, pic Picture) picturePage {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flame.svg")
	if err := os.WriteFile(file, svgOf(t, g, pic), 0o600); err != nil {
		t.Fatal(err)
	}
	p := picturePage{page.Open(t, file), t}
	t.Cleanup(func() {
		if e, r := p.ConsoleErrors(), p.Requests(); len(e)+len(r) > 0 {
			t.Errorf("the page has errors %q, and requested %q", e, r)
		}
	})
	return p
}

// spot is where a label's text begins and how its frame is drawn.
type spot struct{ X, Y float64 }

// label is where the n-th label of this text is.
func (p picturePage) label(text string, n int) spot {
	p.t.Helper()
	var s *spot
	p.Eval(fmt.Sprintf(`(() => {
		const label = [...document.querySelectorAll('.labels text')].filter((l) => l.textContent === %s)[%d];
		if (!label) return null;
		const box = label.getBoundingClientRect();
		return {x: box.x + 5, y: box.y + box.height / 2};
	})()`, strconv.Quote(text), n), &s)
	if s == nil {
		p.t.Fatalf("no label %d %q, there are %q", n, text, p.labels())
	}
	return *s
}

func (p picturePage) clickLabel(text string, n int) {
	p.t.Helper()
	s := p.label(text, n)
	p.Click(s.X, s.Y)
}

func (p picturePage) labels() []string {
	p.t.Helper()
	return p.texts(".labels text")
}

// details are the lines that are shown of a frame.
func (p picturePage) details() []string {
	p.t.Helper()
	if p.Text(`getComputedStyle(document.querySelector('.tip')).display`) == "none" {
		return nil
	}
	return p.texts(".details div")
}

func (p picturePage) texts(selector string) []string {
	p.t.Helper()
	var all []string
	p.Eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.textContent)`, selector), &all)
	return all
}

func (p picturePage) search(term string) string {
	p.t.Helper()
	p.Key("/")
	p.Type(term)
	return p.Text(`document.querySelector('.found').textContent`)
}

func (p picturePage) wantDetails(when string, want ...string) {
	p.t.Helper()
	if got := p.details(); !slices.Equal(got, want) {
		p.t.Errorf("%s: details %q, want %q", when, got, want)
	}
}

func (p picturePage) wantLabels(when string, want ...string) {
	p.t.Helper()
	got := p.labels()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		p.t.Errorf("%s: labels %q, want %q", when, got, want)
	}
}

func TestSVGShowsDetailsUnderTheMouse(t *testing.T) {
	t.Parallel()
	p := openSVG(t, lesson(), usualPicture)
	foo := p.label("foo", 0)
	p.Hover(foo.X, foo.Y)
	p.wantDetails("over foo", "foo", "Function in /bin/app", "60 ms, 60% of all", "10 ms of it itself", "All of it on CPU", "6 samples")
	vfs := p.label("vfs_read", 0)
	p.Hover(vfs.X, vfs.Y)
	p.wantDetails("over vfs_read", "vfs_read", "Kernel function in [kernel]", "40 ms, 40% of all",
		"4 ms on CPU (10%), 36 ms off CPU (90%)", "5 events: samples, off-CPU intervals, 3 waits for a CPU")
	p.Hover(vfs.X, vfs.Y+300)
	p.wantDetails("beside all frames")

	var inside bool
	p.Resize(page.Size{Width: 500, Height: 300}, 1)
	p.Eval("scrollTo(0, 1000)", nil)
	vfs = p.label("vfs_read", 0)
	p.Hover(480, vfs.Y)
	p.Eval(`(() => { const b = document.querySelector('.details').getBoundingClientRect();
		return b.left >= 0 && b.right <= innerWidth && b.top >= 0 && b.bottom <= innerHeight; })()`, &inside)
	if !inside || len(p.details()) == 0 {
		t.Errorf("the details %q are not inside a small window", p.details())
	}
}

func TestSVGZoomsByClick(t *testing.T) {
	t.Parallel()
	p := openSVG(t, lesson(), usualPicture)
	all := []string{"all", "app-1/1", "main", "foo", "bar", "foo", "read", "vfs_read"}
	p.wantLabels("at first", all...)
	p.clickLabel("read", 0)
	p.wantLabels("in read", "all", "app-1/1", "main", "read", "vfs_read")
	vfs := p.label("vfs_read", 0)
	p.Hover(vfs.X+1000, vfs.Y) // it is as wide as the window now
	if got := p.details(); len(got) < 3 || got[2] != "40 ms, 40% of all, 100% of zoomed" {
		t.Errorf("details in the zoomed read: %q", got)
	}
	p.clickLabel("main", 0)
	p.wantLabels("back in main", all...)
	p.clickLabel("bar", 0)
	p.wantLabels("in bar", "all", "app-1/1", "main", "foo", "bar", "foo")
	p.ClickOn(".reset")
	p.wantLabels("after the reset", all...)
	p.Wait(`document.querySelector('.reset').disabled`)
	p.clickLabel("bar", 0)
	p.Key("Escape")
	p.wantLabels("after Escape", all...)
}

func TestSVGWorksByKeyboard(t *testing.T) {
	t.Parallel()
	p := openSVG(t, lesson(), usualPicture)
	steps := []struct{ key, frame string }{
		{"ArrowUp", "app-1/1"}, {"ArrowUp", "main"}, {"ArrowUp", "foo"}, {"ArrowRight", "read"}, {"ArrowRight", "read"},
		{"ArrowLeft", "foo"}, {"ArrowUp", "bar"}, {"ArrowDown", "foo"}, {"Enter", "foo"}, {"ArrowUp", "bar"}, {"i", "bar"},
		{"ArrowDown", "foo"}, {"ArrowUp", "bar"}, {"Home", "foo"}, {"Backspace", "main"}, {"Escape", "all"}, {"ArrowUp", "all"},
		{"ArrowDown", "app-1/1"},
	}
	for _, s := range steps {
		p.Key(s.key)
		label, _, _ := strings.Cut(p.Text(`document.querySelector('.focus').getAttribute('aria-label')`), ".")
		if label != s.frame {
			t.Fatalf("after %s the focus is on %q, want %q", s.key, label, s.frame)
		}
		if !strings.HasPrefix(s.key, "Arrow") {
			continue
		}
		if got := p.Text(`document.activeElement.getAttribute('class') + ' ' + getComputedStyle(document.querySelector('.focus .ring')).stroke`); got != "focus rgb(19, 20, 23)" {
			t.Fatalf("after %s the focus is %s", s.key, got)
		}
		if d := p.details(); len(d) == 0 || d[0] != s.frame {
			t.Fatalf("after %s the details are of %q, want %q", s.key, d, s.frame)
		}
	}
}

func TestSVGSearchCountsTimeOnce(t *testing.T) {
	t.Parallel()
	p := openSVG(t, lesson(), usualPicture)
	for _, c := range []struct{ term, want string }{
		{"foo", "60% of time"}, {"FOO", "not found"}, {"bar", "50% of time"}, {"^(bar|read)$", "90% of time"}, {"o(", "not found"},
		{"app-1", "100% of time"}, {"vfs", "40% of time"},
	} {
		if got := p.search(c.term); got != c.want {
			t.Errorf("%s: %q, want %q", c.term, got, c.want)
		}
		p.Key("Escape")
		if got := p.Text(`document.querySelector('.found').textContent`); got != "" {
			t.Errorf("after Escape the result of %s still is %q", c.term, got)
		}
	}
	p.search("foo")
	hits := func() string {
		return p.Text(`[...document.querySelectorAll('.labels .on-hit')].map((l) => l.textContent).sort().join()`)
	}
	if got := hits(); got != "foo,foo" {
		t.Errorf("found %s", got)
	}
	p.clickLabel("bar", 0)
	if got := p.Text(`document.querySelector('.found').textContent`); got != "60% of time, 100% of zoomed" {
		t.Errorf("in bar, which foo called: %q", got)
	}
	if got := hits(); got != "foo,foo" {
		t.Errorf("after zooming found %s", got)
	}
	p.Key("Escape")
	if got := p.Text(`document.querySelector('.found').textContent`); got != "60% of time" {
		t.Errorf("after zooming out: %q", got)
	}
	p.Key("Control+f")
	if got := p.Text(`document.activeElement.className`); got != "search" {
		t.Errorf("Ctrl-F goes to %q", got)
	}
	p.Key("Enter")
	if got := p.Text(`document.querySelector('.focus').getAttribute('aria-label')`); !strings.HasPrefix(got, "foo. ") {
		t.Errorf("Enter goes to %q", got)
	}
}

func TestSVGSearchesNamesAsShown(t *testing.T) {
	t.Parallel()
	g := flametest.Graph(map[string]int64{"main;[runnable]": 1e9, "main;std::vector<int>::operator[]": 2e9, "main;reader": 3e9, "main;writer": 4e9})
	p := openSVG(t, g, usualPicture)
	for _, c := range []struct{ term, found, how string }{
		{"[runnable]", "10% of time", "searched as text"},
		{"std::vector<int>::operator[]", "20% of time", "searched as text"},
		{"^(read|writ)er$", "70% of time", "searched as a regular expression"},
		{"(?:(?:(?:[a-z:<>\\[\\]]+)+)+)+!", "this regular expression takes too long; make it simpler", "searched as a regular expression"},
	} {
		if found := p.search(c.term); found != c.found {
			t.Errorf("%s: %q, want %q", c.term, found, c.found)
		}
		if how := p.Text(`document.querySelector('.found').title`); how != c.how {
			t.Errorf("%s: %q, want %q", c.term, how, c.how)
		}
		p.Key("Escape")
	}
}

// picture is the drawn bars and labels of frames.
type picture struct {
	Paths []struct {
		Class string `xml:"class,attr"`
		D     string `xml:"d,attr"`
	} `xml:"path"`
	Labels []struct {
		X    int    `xml:"x,attr"`
		Y    int    `xml:"y,attr"`
		Text string `xml:",chardata"`
	} `xml:"text"`
}

// staticOf returns what a file shows without its script.
func staticOf(t *testing.T, file []byte) picture {
	t.Helper()
	var svg struct {
		Groups []struct {
			picture
			Class string `xml:"class,attr"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(file, &svg); err != nil {
		t.Fatal(err)
	}
	var all picture
	for _, g := range svg.Groups {
		switch g.Class {
		case "frames":
			all.Paths = g.Paths
		case "labels":
			all.Labels = g.Labels
		}
	}
	return all
}

// marks are all bars and labels, wherever they begin: the height of the head depends on fonts.
func (s picture) marks() []string {
	type mark struct {
		y    int
		text string
	}
	var all []mark
	for _, path := range s.Paths {
		for bar := range strings.SplitSeq(strings.TrimPrefix(path.D, "M"), "M") {
			var x, y, width int
			if _, err := fmt.Sscanf(bar, "%d %dh%dv17", &x, &y, &width); err != nil {
				panic(fmt.Sprintf("%s: %v", bar, err))
			}
			all = append(all, mark{y, fmt.Sprintf("%s from %d, %d wide", path.Class, x, width)})
		}
	}
	for _, l := range s.Labels {
		all = append(all, mark{l.Y - 13, fmt.Sprintf("%q at %d", l.Text, l.X)})
	}
	top := 1 << 30
	for _, m := range all {
		top = min(top, m.y)
	}
	var texts []string
	for _, m := range all {
		texts = append(texts, fmt.Sprintf("%04d %s", m.y-top, m.text))
	}
	slices.Sort(texts)
	return texts
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("number %d is %s, not %s", i, got[i], want[i])
		}
	}
	return "one has more"
}

// sketchOfPaths has boxes of many widths for names with paths and for one without.
func sketchOfPaths() *graph.Graph {
	s := newSketch(1)
	names := []string{
		"std::chrono::duration<long, std::ratio<1, 1000> >::count", "wprof/internal/format.(*Reader).Next", "JS:*handle /srv/app/main.js:3:1",
		"tcp_rcv_established.isra.0", "<alloc::vec::Vec as core::iter::Iterator>::next (mod.rs:12)", "非常::長い::名前::です",
		"get_or_make<handle(int)::<lambda(const std::string&)> > (svc.cpp:22)", "shop::非常 (svc.cpp:7)",
	}
	path := []graph.Step{{Name: "kworker/0:1", Kind: graph.KindRoot}}
	for i := range 240 {
		path = append(path, graph.Step{Name: names[i%len(names)], Module: "/bin/app"})
		s.add(graph.Weight{On: 1e6, Count: 1}, path...)
	}
	return s.done()
}

func TestLabelsKeepTheEndOfAPath(t *testing.T) {
	var labels []string
	for _, l := range staticOf(t, svgOf(t, sketchOfPaths(), usualPicture)).Labels {
		labels = append(labels, l.Text)
	}
	for _, want := range []string{"…count", "…Next", "…(*Reader).Next", "JS:*handle …main.js:3:1", "tcp_rcv_est…"} {
		if !slices.Contains(labels, want) {
			t.Errorf("no label %q", want)
		}
	}
}

func TestLabelsKeepFileAndLine(t *testing.T) {
	for _, c := range []struct {
		name string
		room int
		want string
	}{
		{"shop::storage::load (svc.cpp:22)", 28, "…storage::load (svc.cpp:22)"},
		{"shop::storage::load (svc.cpp:22)", 27, "…load (svc.cpp:22)"},
		{"shop::storage::load (svc.cpp:22)", 16, "lo… (svc.cpp:22)"},
		{"shop::storage::load (svc.cpp:22)", 15, "l… (svc.cpp:22)"},
		{"shop::storage::load (svc.cpp:22)", 14, "(svc.cpp:22)"},
		{"shop::storage::load (svc.cpp:22)", 12, "(svc.cpp:22)"},
		{"shop::storage::load (svc.cpp:22)", 11, "load"},
		{"get_or_make<handle(int)::<lambda(int)> > (svc.cpp:22)", 39, "get_or_make<handle(int)::… (svc.cpp:22)"},
		{"main (svc.cpp:78)", 16, "ma… (svc.cpp:78)"},
		{"名前 (svc.cpp:78)", 16, "名… (svc.cpp:78)"},
		{"名前 (svc.cpp:78)", 15, "(svc.cpp:78)"},
		{"main (svc.cpp)", 12, "main (svc.c…"},
	} {
		if got := fittedFunction(c.name, c.room); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.name, c.room, got, c.want)
		}
	}
}

// TestSVGScriptDrawsTheStillPicture: Go and JavaScript draw the same picture.
func TestSVGScriptDrawsTheStillPicture(t *testing.T) {
	for name, g := range map[string]*graph.Graph{
		"few": lesson(), "many": sketchOfThreads(20), "small": manyStacks(6000), "changes": sketchOfChanges(), "nothing": newSketch(1).done(),
		"paths": sketchOfPaths(), "idle": idleGraph(28e9), "little idle": idleGraph(1e6),
	} {
		for _, icicle := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/icicle=%v", name, icicle), func(t *testing.T) {
				t.Parallel()
				pic := usualPicture
				pic.Icicle = icicle
				p := openSVG(t, g, pic)
				p.Resize(page.Size{Width: staticWidth, Height: 800}, 1)
				var script picture
				p.Eval(`({
					paths: [...document.querySelectorAll('.frames path')].map((e) => ({class: e.getAttribute('class'), d: e.getAttribute('d')})),
					labels: [...document.querySelectorAll('.labels text')].map((e) => ({x: +e.getAttribute('x'), y: +e.getAttribute('y'), text: e.textContent})),
				})`, &script)
				got, want := script.marks(), staticOf(t, svgOf(t, g, pic)).marks()
				if !slices.Equal(got, want) {
					t.Errorf("the script draws %d things and the file %d:\n%s", len(got), len(want), firstDifference(got, want))
				}
			})
		}
	}
}

func TestSVGOfADifference(t *testing.T) {
	t.Parallel()
	now := flametest.Graph(map[string]int64{"main;same": 40e6, "main;grew": 40e6, "main;new": 10e6, "main;shrank": 10e6})
	before := flametest.Graph(map[string]int64{"main;same": 80e6, "main;grew": 20e6, "main;gone;deep": 60e6, "main;shrank": 40e6})
	now = flametest.Compared(now, before, 0.5)
	p := openSVG(t, now, usualPicture)
	p.wantLabels("the larger of both", "all", "main", "same", "grew", "new", "gone", "deep", "shrank")
	for _, c := range []struct {
		frame, class string
		details      []string
	}{
		{"same", "d6", []string{"Now 40 ms, 40% of all, 1 time", "Before 40 ms, 40% of all, 1 time", "The same, the same share"}},
		{"grew", "d12", []string{"Now 40 ms, 40% of all, 1 time", "Before 10 ms, 10% of all, 1 time", "+30 ms (+300%), +30 points"}},
		{"shrank", "d2", []string{"Now 10 ms, 10% of all, 1 time", "Before 20 ms, 20% of all, 1 time", "−10 ms (−50%), −10 points"}},
		{"new", "d10", []string{"Now 10 ms, 10% of all, 1 time", "Before 0 ns, 0% of all, 0 times", "New"}},
		{"gone", "d0", []string{"Now 0 ns, 0% of all, 0 times", "Before 30 ms, 30% of all, 1 time", "Gone"}},
	} {
		at := p.label(c.frame, 0)
		p.Hover(at.X, at.Y)
		p.wantDetails("over "+c.frame, append([]string{c.frame, "Function"}, c.details...)...)
		if class := p.classAt(c.frame); class != c.class {
			t.Errorf("%s is filled as %s, want %s", c.frame, class, c.class)
		}
	}
	if legend := strings.Join(p.texts(".legend text"), "; "); !strings.Contains(legend, "now 100 ms, 10 ms of it new; before 100 ms, 30 ms of it gone") {
		t.Errorf("the legend is %s", legend)
	}
	if got := p.search("grew|gone"); got != "40% of time, before 40%" {
		t.Errorf("found %q", got)
	}
	p.Key("Escape")
	p.Key("w")
	p.wantLabels("now", "all", "main", "same", "grew", "new", "shrank")
	p.ClickOn(".widths")
	p.wantLabels("before", "all", "main", "same", "grew", "gone", "deep", "shrank")
}

// classAt returns the fill of the frame with a label.
func (p picturePage) classAt(label string) string {
	p.t.Helper()
	s := p.label(label, 0)
	return p.Text(fmt.Sprintf(`[...document.querySelectorAll('.frames path')].find((path) => {
		const at = new DOMPoint(%v, %v).matrixTransform(path.getScreenCTM().inverse());
		return path.isPointInFill(at);
	}).getAttribute('class')`, s.X, s.Y))
}

func TestSVGFlowsIntoTheWindow(t *testing.T) {
	t.Parallel()
	p := openSVG(t, sketchOfThreads(30), usualPicture)
	for _, width := range []int{1900, 900, 400} {
		p.Resize(page.Size{Width: width, Height: 900}, 1)
		var right []float64
		p.Eval(`[...document.querySelectorAll('.frames path, .labels text, .head text, .tools > *:not(.unseen)')].map((e) => e.getBoundingClientRect().right)`, &right)
		if most := slices.Max(right); most > float64(width)-margin+2 {
			t.Errorf("in a window of %d something ends at %v", width, most)
		}
		if bars := slices.Max(right); bars < float64(width)-margin-2 {
			t.Errorf("in a window of %d nothing reaches beyond %v", width, bars)
		}
	}
}

func TestSVGShowsTheRootOfDeepStacks(t *testing.T) {
	t.Parallel()
	s := newSketch(1)
	var deep []graph.Step
	for i := range 100 {
		deep = append(deep, graph.Step{Name: fmt.Sprintf("level_%d", i)})
	}
	s.add(graph.Weight{On: 1e9}, deep...)
	p := openSVG(t, s.done(), usualPicture)
	seen := func(label string) bool {
		at := p.label(label, 0)
		var head float64
		p.Eval(`document.querySelector('.head').getBoundingClientRect().bottom`, &head)
		return at.Y > head && at.Y < 800
	}
	if !seen("all") || seen("level_99") {
		t.Error("the picture does not open at its root")
	}
	for range 100 {
		p.Key("ArrowUp")
	}
	if !seen("level_99") || seen("all") {
		t.Error("the focus is out of sight")
	}
	if x, y := p.At(".search"); y < 0 || y > 100 || x < 0 {
		t.Errorf("the search is at %v, %v of the window", x, y)
	}
}

// Events have no time on and off the CPU; without spans their number is shown.
func TestDetailsOfEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pic  Picture
		want []string
	}{
		{Picture{IsEvents: true}, []string{"foo", "Function in /bin/app", "60 ms, 60% of all", "10 ms of it itself", "6 events"}},
		{Picture{IsEvents: true, IsCount: true}, []string{"foo", "Function in /bin/app", "60,000,000 events, 60% of all", "10,000,000 events of it itself"}},
	} {
		p := openSVG(t, lesson(), c.pic)
		foo := p.label("foo", 0)
		p.Hover(foo.X, foo.Y)
		p.wantDetails("over foo", c.want...)
	}
}
