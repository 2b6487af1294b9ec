package svg

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/flame/web"
)

// tableOf reads the table of a file as another program would.
func tableOf(t testing.TB, file []byte) svgTable {
	t.Helper()
	var svg struct {
		Metadata string   `xml:"metadata"`
		Scripts  []string `xml:"script"`
		Title    string   `xml:"title"`
	}
	if err := xml.Unmarshal(file, &svg); err != nil {
		t.Fatal(err)
	}
	var table svgTable
	if err := json.Unmarshal([]byte(svg.Metadata), &table); err != nil {
		t.Fatal(err)
	}
	if len(svg.Scripts) != 1 {
		t.Fatalf("%d scripts", len(svg.Scripts))
	}
	return table
}

// record is a frame of the table.
type record struct {
	depth, symbol, kind int
	self, base          graph.Weight
}

func (table *svgTable) records(t testing.TB) []record {
	t.Helper()
	var all []record
	depth := -1
	for line := range strings.SplitSeq(strings.TrimSuffix(table.Frames, ";"), ";") {
		var v [11]uint64
		for i, field := range strings.Split(line, ",") {
			if field == "" {
				continue
			}
			n, err := strconv.ParseUint(field, 36, 64)
			if err != nil || i >= len(v) {
				t.Fatalf("the frame %q: %v", line, err)
			}
			v[i] = n
		}
		depth += 1 - int(v[0])
		all = append(all, record{
			depth: depth, symbol: int(v[1]), kind: int(v[2]),
			self: graph.Weight{On: int64(v[3]), Off: int64(v[4]), Unknown: int64(v[5]), Count: v[6], Waits: v[9]}, base: graph.Weight{On: int64(v[7]), Count: v[8], Waits: v[10]},
		})
	}
	return all
}

// TestSVGKeepsSumsAndSize: however many frames there are and however long their names.
func TestSVGKeepsSumsAndSize(t *testing.T) {
	t.Parallel()
	long := newSketch(9)
	for i := range 3000 { // 31 MB of names
		name := fmt.Sprintf("%d_%s", i, strings.Repeat("<long&name>", 400))
		long.add(graph.Weight{On: int64(i + 1), Off: 1, Unknown: 2, Count: 3, Waits: 4}, graph.Step{Name: "a", Kind: graph.KindRoot}, graph.Step{Name: name}, graph.Step{Name: name + "!", Module: name})
	}
	changes := flametest.Compared(manyStacks(20_000), manyStacks(15_000), 1.3)
	for name, g := range map[string]*graph.Graph{"many": manyStacks(30_000), "long": long.done(), "changes": changes, "few": lesson(), "notes": notesBesideFunctions()} {
		file := svgOf(t, g, usualPicture)
		if len(file) > 5_000_000 {
			t.Errorf("%s: the file has %d bytes", name, len(file))
		}
		var own, base graph.Weight
		together := 0
		table := tableOf(t, file)
		all := table.records(t)
		for _, r := range all {
			own.Add(r.self)
			base.Add(r.base)
			if r.kind == int(kindSmall) {
				together++
			}
		}
		if own != g.Total[0] {
			t.Errorf("%s: %+v in the file, %+v in the graph", name, own, g.Total[0])
		}
		if g.Base != nil && (base.Ns() != g.Base[0].Ns() || base.Count != g.Base[0].Count || base.Waits != g.Base[0].Waits) {
			t.Errorf("%s: before %+v in the file, %+v in the graph", name, base, g.Base[0])
		}
		if isSmall := len(g.Nodes) > mostShown || name == "long"; isSmall != (together > 0) || !isSmall && len(all) > len(g.Nodes) {
			t.Errorf("%s: %d of %d frames are small ones, of %d in the graph", name, together, len(all), len(g.Nodes))
		}
	}
}

// notesBesideFunctions has a function with a note above its time off the CPU, and another function above the rest.
func notesBesideFunctions() *graph.Graph {
	b := flametest.New()
	read := b.Calls("main", "read")
	b.Thread(10, 10, "app", flametest.Cell(profile.ClassBlocked, 0, read, 5e6, 1), flametest.Cell(profile.ClassRunnable, 0, read, 3e6, 1),
		flametest.Cell(profile.ClassOnCPU, 0, b.Calls("main", "read", "copy"), 2e6, 1))
	return graph.Of(b.Profile, graph.View{})
}

// TestSVGPutsTogetherTheSmallest: a frame that is shown is wider than all that are not.
func TestSVGPutsTogetherTheSmallest(t *testing.T) {
	g := manyStacks(300)
	const most = 500
	shown := simplified(g, most)
	own, least := 0, int64(1)<<62
	seen := make(map[int32]bool)
	for _, f := range shown {
		if f.together == 0 {
			own++
			seen[f.node] = true
			least = min(least, f.own.Ns())
		}
	}
	if own > most || own < most*9/10 {
		t.Errorf("%d frames are shown by themselves, at most %d may", own, most)
	}
	for i := range g.Nodes {
		if ns := g.Total[i].Ns(); !seen[int32(i)] && ns >= least {
			t.Fatalf("%s has %d ns and is not shown, another has %d and is", g.Nodes[i].Name, ns, least)
		}
	}
}

func TestPrintableNames(t *testing.T) {
	for name, want := range map[string]string{
		"std::map<int>": "std::map<int>", "": "", "日本語": "日本語", "a\x00b\nc": `a\x00b\nc`, "\xff\xfe": `\xff\xfe`,
		"right\u202eleft": `right\u202eleft`, "\ufffe": `\ufffe`, "\ufffd": "\ufffd",
		strings.Repeat("é", 1000): strings.Repeat("é", 150) + "…" + strings.Repeat("é", 50),
	} {
		if got := web.ShortName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// hostile are names with markup and script syntax.
func hostile() []string {
	return []string{
		"</script><script>throw 1</script>", "]]>", "<!--", "&amp;&lt;", `"'` + "`${1}`", "a\x00\x01\x1b[31m", "\xff\xfe\xc0", "\u2028\u2029",
		"\u202eabc", "</metadata></svg>", "\ufffe\uffff", strings.Repeat("x", 4096), strings.Repeat("<&>", 1365), "constructor", "__proto__", ";,;",
		"", " ", "$&", "日本語の関数名がここにある",
	}
}

func TestSVGEscapesAnyBytes(t *testing.T) {
	t.Parallel()
	for _, name := range hostile() {
		checkNames(t, name, name, name)
	}
	s := newSketch(1)
	for _, name := range hostile() {
		s.add(graph.Weight{On: 1e9, Count: 1}, graph.Step{Name: name, Kind: graph.KindRoot}, graph.Step{Name: name, Module: name})
	}
	g := s.done()
	p := openSVG(t, g, Picture{Title: strings.Join(hostile(), ""), Subtitle: strings.Join(hostile(), graph.CaptionSep)})
	p.Key("ArrowUp")
	for range g.Children(0) {
		p.Key("ArrowLeft")
	}
	for _, child := range g.Children(0) {
		name := web.ShortName(g.Nodes[child].Name)
		if got := p.details(); len(got) == 0 || got[0] != name {
			t.Errorf("details %q, want those of %q", got, name)
		}
		p.Key("ArrowRight")
	}
	if got := p.search(`</script><script>throw 1`); got != "5% of time" {
		t.Errorf("found %q", got)
	}
}

// checkNames checks that a picture with these names is well-formed and has them.
func checkNames(t *testing.T, name, module, title string) {
	t.Helper()
	s := newSketch(1)
	s.add(graph.Weight{On: 5}, graph.Step{Name: "root", Kind: graph.KindRoot}, graph.Step{Name: name, Module: module})
	file := svgOf(t, s.done(), Picture{Title: title, Subtitle: title + graph.CaptionSep + title})
	if !utf8.Valid(file) {
		t.Errorf("%q: the file is no UTF-8", name)
	}
	table := tableOf(t, file)
	if !slices.Contains(table.Names, web.ShortName(name)) {
		t.Errorf("%q is not among %q", name, table.Names)
	}
	if module != "" && !slices.Contains(table.Modules, web.ShortName(module)) {
		t.Errorf("%q is not among %q", module, table.Modules)
	}
}

func FuzzSVGNames(f *testing.F) {
	for _, name := range hostile() {
		f.Add(name, name, name)
	}
	f.Fuzz(func(t *testing.T, name, module, title string) {
		checkNames(t, name, module, title)
	})
}
