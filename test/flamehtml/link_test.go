package flamehtml

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/test/page"
)

// shownState is all that a link restores, as the page shows it.
func shownState(pg *page.Page) string {
	still(pg)
	return pg.Text(`(() => {
		const {view, flame, profile} = wprof, at = (selector) => document.querySelector(selector);
		return JSON.stringify({view: {...view, threads: view.threads && [...view.threads].sort((a, b) => a - b)}, range: flame.range,
			zoomed: flame.graph.path(flame.zoomed).map((node) => flame.name(node)), found: at('#found').value, icicle: flame.isIcicle,
			filter: at('#threads input').value, order: at('#threads select').value, sort: wprof.functions.order, lanes: wprof.lanes.isOpen, chosen: wprof.functions.chosen, controls: [...document.querySelectorAll('#controls :checked')].map((e) => e.id + e.value),
			rows: [...document.querySelectorAll('.thread')].map((e) => e.textContent), search: at('#search').value, strip: at('#range').value});
	})()`)
}

// A link shows what was shown when it was copied, in another window with the same file.
func TestLinkShowsTheSameAgain(t *testing.T) {
	t.Parallel()
	path := write(t, usual(), graph.View{By: graph.ByThread})
	pg := openFile(t, path)
	first := shownState(pg)
	pg.Eval("wprof.change({mode: 2, by: 2, reverse: true, states: true, idle: false, from: 10, to: 31, threads: new Set([1, 2, 3, 7, 12, 13])})", nil)
	pg.Eval("wprof.threads.arrangeBy('1', 'blocked')", nil)
	pg.Eval("wprof.flip(true)", nil)
	pg.Eval("wprof.openLanes(true)", nil)
	pg.Eval("wprof.functions.choose(12)", nil)
	pg.Eval("wprof.functions.arrangeBy('total')", nil)
	b := wide(t, pg, 2)
	pg.Click(b.X+b.Width/2, b.Y)
	still(pg)
	pg.ClickOn("#search")
	pg.Type("fn 1&=%#")
	pg.ClickOn("#link")
	pg.Wait("document.querySelector('#link').textContent !== 'Copy link'")
	want := shownState(pg)
	if first == want {
		t.Fatal("nothing was changed")
	}
	fragment := pg.Text("location.hash")
	again := openAt(t, path, fragment)
	if got := shownState(again); got != want {
		t.Errorf("%s shows\n%s\nwant\n%s", fragment, got, want)
	}
	goTo(again, "#")
	if got := shownState(again); got != first {
		t.Errorf("without a fragment\n%s\nwant\n%s", got, first)
	}
}

// A link may be cut, old, or made up.
func TestPageOpensWithAnyLink(t *testing.T) {
	t.Parallel()
	pg := open(t, usual())
	first := shownState(pg)
	for _, fragment := range []string{
		"#", "#=", "#&&&", "#zoom=", "#zoom=nothing/%E0%A4%A", "#range=5-1", "#range=99999999999999999999-999999999999999999999", "#range=a-b",
		"#threads=", "#threads=x,-1,5-1,9999999-99999999999", "#time=bogus&by=bogus&order=bogus", "#time=constructor&by=__proto__", "#icicle=&states=0",
		"#threads=0-1e9999", "#" + strings.Repeat("%41&", 5000),
	} {
		pg.Eval("wprof.change({mode: 2, threads: new Set([1])})", nil)
		pg.Eval("wprof.link.write()", nil)
		goTo(pg, fragment)
		if got := shownState(pg); got != first {
			t.Errorf("%.60s shows\n%s\nwant\n%s", fragment, got, first)
		}
	}
}

// goTo changes the fragment, as a user does who edits the address.
func goTo(pg *page.Page, fragment string) {
	pg.Eval(fmt.Sprintf("(async () => { const changed = new Promise((done) => addEventListener('hashchange', done)); location.hash = %q; await changed; await wprof.rendered; return true; })()", fragment), nil)
}

func openAt(t *testing.T, path, fragment string) *page.Page {
	t.Helper()
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return openURL(t, (&url.URL{Scheme: "file", Path: absolute}).String()+fragment)
}
