package speedscope

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/test/page"
)

// Speedscope's own importer has the threads under their names, and the same times in the same functions.
func TestSpeedscopeItselfReadsTheFile(t *testing.T) {
	t.Parallel()
	b := withTrails(3, 300)
	text := speedscopeOf(t, b.Profile, graph.View{})
	p := page.Speedscope(t, "box.speedscope.json", text)
	p.Wait(`document.body.innerText.includes('(1/2)')`)
	ours, theirs := readSpeedscope(t, text), readSpeedscope(t, p.SavedBySpeedscope())
	if theirs.Name != ours.Name || len(theirs.Profiles) != len(ours.Profiles) {
		t.Fatalf("speedscope has %d profiles of %q, want %d of %q", len(theirs.Profiles), theirs.Name, len(ours.Profiles), ours.Name)
	}
	for i, got := range theirs.Profiles {
		want := ours.Profiles[i]
		if got.Name != want.Name || got.EndValue-got.StartValue != want.EndValue-want.StartValue {
			t.Errorf("speedscope has %s of %d ns, want %s of %d", got.Name, got.EndValue, want.Name, want.EndValue-want.StartValue)
		}
		if g, w := theirs.byStack(t, got), ours.byStack(t, want); !reflect.DeepEqual(g, w) {
			t.Errorf("%s: speedscope has\n%v, want\n%v", got.Name, g, w)
		}
	}
	if !strings.Contains(p.Text(`document.body.innerText`), ours.Profiles[0].Name) {
		t.Errorf("speedscope does not show %s first: %s", ours.Profiles[0].Name, p.Text(`document.body.innerText`))
	}
	p.Key("n")
	p.Wait(fmt.Sprintf(`document.body.innerText.includes(%q)`, ours.Profiles[1].Name+" (2/2)"))
}

// byStack adds up a profile's time.
func (f *speedscopeFile) byStack(t testing.TB, p speedscopeProfile) map[string]int64 {
	all := make(map[string]int64)
	for _, i := range f.intervals(t, p) {
		all[i.stack] += i.to - i.from
	}
	return all
}

// Its table of functions shows their total times.
func TestSpeedscopeItselfShowsTotals(t *testing.T) {
	t.Parallel()
	b := flametest.Box()
	thread := b.Threads[0]
	thread.Trail = flametest.TrailOf(thread,
		profile.Piece{From: 0, To: 300e6, Class: profile.ClassOnCPU, Stack: b.Calls("main", "work", "spin")},
		profile.Piece{From: 300e6, To: 375e6, Class: profile.ClassBlocked, State: format.StateUninterruptible, Stack: b.Calls("main", "save", "k_fsync")},
		profile.Piece{From: 375e6, To: 400e6, Class: profile.ClassRunnable, Stack: b.Calls("main", "save", "k_fsync")})
	p := page.Speedscope(t, "box.speedscope.json", speedscopeOf(t, b.Profile, graph.View{}))
	p.Wait(`document.body.innerText.includes('Sandwich')`)
	p.Key("3")
	p.Wait(`document.body.innerText.includes('k_fsync')`)
	text := p.Text(`[...document.querySelectorAll('tr')].map((row) => row.innerText.replace(/\s+/g, ' ')).join('\n')`)
	for _, want := range []string{"300.00ms (75%) 300.00ms (75%) spin", "75.00ms (19%) 75.00ms (19%) [unknown (uninterruptible)]", "100.00ms (25%) 0.00ns (<0.01%) k_fsync", "25.00ms (6.3%) 25.00ms (6.3%) [runnable]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no row %q in\n%s", want, text)
		}
	}
}

func TestSpeedscopeItselfReadsOddNames(t *testing.T) {
	t.Parallel()
	b := flametest.New()
	flametest.OddNames(func(args ...any) {
		name := args[0].(string)
		f := b.Frame(profile.Frame{Functions: []profile.Function{{Name: name, File: name}}, Module: name})
		thread := b.Thread(1, int32(1+len(b.Threads)), name, flametest.Cell(profile.ClassOnCPU, 0, 0, 10, 1))
		thread.Trail = flametest.TrailOf(thread, profile.Piece{From: 0, To: 10, Class: profile.ClassOnCPU, Stack: b.Stack(f, f)})
	})
	p := page.Speedscope(t, "odd.json", speedscopeOf(t, b.Profile, graph.View{}))
	p.Wait(fmt.Sprintf(`document.body.innerText.includes('/%d)')`, len(b.Threads)))
	if got := readSpeedscope(t, p.SavedBySpeedscope()); len(got.Profiles) != len(b.Threads) {
		t.Errorf("speedscope has %d threads, want %d", len(got.Profiles), len(b.Threads))
	}
}
