package flamehtml

import (
	"fmt"
	"strings"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/web"
	"wprof/internal/waits"
)

// By what threads waited for, a class has its colour in the graph and in the legend, in any range and with any filter; search finds objects,
// and the table has the functions.
func TestPageShowsWhatThreadsWaitedFor(t *testing.T) {
	t.Parallel()
	p := usual()
	pg := open(t, p, graph.View{Mode: graph.OffCPU, By: graph.ByWait, From: 10, To: 30})
	compare(t, "a range", shownRows(pg, false), rowsOf(graph.Of(p, graph.View{Mode: graph.OffCPU, By: graph.ByWait, From: 10, To: 30}), false))
	legend := func() string {
		return pg.Text(`[...document.querySelectorAll('#colours > span')].map((item) => item.textContent + ' ' + item.querySelector('i')?.style.background).join('; ')`)
	}
	tone := web.WaitTones()[waits.Receive]
	var red, green, blue int
	if _, err := fmt.Sscanf(tone.Hex[web.Light], "#%02x%02x%02x", &red, &green, &blue); err != nil {
		t.Fatal(err)
	}
	if got, want := legend(), fmt.Sprintf("; receive rgb(%d, %d, %d); ", red, green, blue); !strings.Contains(got, want) {
		t.Errorf("the legend is %q; it lacks %q", got, want)
	}
	fill := pg.Text(`(() => {
		const {flame} = wprof, box = flame.rows.flat().find((b) => flame.name(b.node) === 'receive');
		return flame.palette.box(flame.graph.name[box.node], wprof.profile.nameKind[flame.graph.name[box.node]], 0, 1).fill;
	})()`)
	if fill != tone.Hex[web.Light] {
		t.Errorf("receive is drawn in %s, want %s", fill, tone.Hex[web.Light])
	}
	pg.Eval("wprof.change({from: 0, to: 0})", nil)
	pg.Eval("wprof.search('recv 10.0.0.3')", nil)
	if got, want := text(pg, "#found"), foundShare(graph.Of(p, graph.View{Mode: graph.OffCPU, By: graph.ByWait}), "recv 10.0.0.3"); got != want || got == "not found" {
		t.Errorf("the search says %q, want %q", got, want)
	}
	pg.Eval("wprof.search(''); wprof.turnTo('table')", nil)
	waitRendered(pg)
	if got, want := timesOnPage(pg).Self, timesInGo(p, graph.View{Mode: graph.OffCPU}).Self; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the table has %v, want %v", got, want)
	}
	pg.Eval("wprof.change({by: 0})", nil)
	if got := legend(); strings.Contains(got, "receive") {
		t.Errorf("by process, the legend is %q", got)
	}
}
