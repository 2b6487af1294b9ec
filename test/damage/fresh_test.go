//go:build linux

package damage

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// A new capture of this recorder on this kernel is damaged like the committed one, at fewer places.
func TestDamageToAFreshCaptureCostsWhatItHitsOnly(t *testing.T) {
	tools.NeedPrivilege(t)
	name := filepath.Join(t.TempDir(), "fresh.wprof")
	tools.Run(t, "wprof-record", "-z1", "-o", name, "--", tools.Path("worker"), "2")
	stream, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c, rng := newCaptured(t, stream), seeded(t)
	t.Logf("%d bytes in %d blocks, %d events", len(stream), len(c.pieces), len(eventsOf(c.pieces)))
	places := edges(c)
	each(t, c, len(places), false, func(i int) damaged { return cutAt(stream, places[i]) })
	cuts, flips := rng.Perm(len(stream)), rng.Perm(len(stream))
	each(t, c, 100, false, func(i int) damaged { return cutAt(stream, cuts[i]) })
	each(t, c, 100, false, func(i int) damaged { return flipAt(stream, flips[i], byte(1+i)) })
}

// In traces that wprof-perfetto writes of damaged captures, Perfetto's own engine finds nothing wrong.
func TestTracesOfDamagedCapturesLoadInPerfetto(t *testing.T) {
	c, rng := committed(t), seeded(t)
	dir := t.TempDir()
	for i := range 12 {
		// The first thousand bytes are the first header: without one there is no trace.
		at := 1000 + rng.IntN(len(c.stream)-1000)
		d := flipAt(c.stream, at, 1)
		if i%2 == 0 {
			d = cutAt(c.stream, at)
		}
		in, trace := filepath.Join(dir, "in.wprof"), filepath.Join(dir, fmt.Sprint(i, ".pb"))
		if err := os.WriteFile(in, d.stream, 0o600); err != nil {
			t.Fatal(err)
		}
		r := tools.Try(t, hang, nil, "wprof-perfetto", "-e", "arrows,sched-extras,embed-stacks,timer-ticks", "-o", trace, in)
		if r.Status != 4 {
			t.Errorf("%s: status %d: %s", d.what, r.Status, r.Stderr)
			continue
		}
		engine.CheckStats(t, trace)
		if t.Failed() {
			t.Fatal(d.what)
		}
	}
}
