//go:build linux

package loss

import (
	"fmt"
	"path/filepath"
	"sort"
	"testing"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/tools"
)

// drawn is a loss as the engine has it.
type drawn struct {
	track, name, cause, kind string
	ts, dur                  int64 // CLOCK_MONOTONIC ns
	count                    int64
}

// boottimeOffset is CLOCK_BOOTTIME less CLOCK_MONOTONIC, ns, as the trace's own snapshot has it.
const boottimeOffset = `(select clock_value from clock_snapshot where clock_name = 'BOOTTIME' limit 1) -
	(select clock_value from clock_snapshot where clock_name = 'MONOTONIC' limit 1)`

func drawnLosses(t *testing.T, trace string) map[drawn]int {
	t.Helper()
	rows := engine.Query(t, trace, `select `+boottimeOffset+` as ns`, `select t.name as track, s.name as name, s.ts as ts, s.dur as dur,
		coalesce(extract_arg(s.arg_set_id, 'debug.count'), 0) as count, extract_arg(s.arg_set_id, 'debug.cause') as cause,
		extract_arg(s.arg_set_id, 'debug.kind') as kind
		from slice s join track t on s.track_id = t.id where s.category = 'recording' and t.name != 'Session'`)
	offset, all := rows[0][0]["ns"].(int64), map[drawn]int{}
	for _, row := range rows[1] {
		text := func(column string) string { s, _ := row[column].(string); return s }
		all[drawn{text("track"), text("name"), text("cause"), text("kind"), row["ts"].(int64) - offset, row["dur"].(int64), row["count"].(int64)}]++
	}
	return all
}

// wantDrawn are the slices that losses are to be.
func wantDrawn(all []lost, from int64) map[drawn]int {
	names := map[format.Kind]string{0: "any"}
	for _, k := range format.Kinds() {
		names[k.Kind] = k.Name
	}
	want := map[drawn]int{}
	for _, l := range all {
		d := drawn{track: "All CPUs", cause: l.cause.String(), kind: names[l.kind], ts: max(l.from, from), count: int64(l.count)}
		d.dur, d.name = l.at-d.ts, "lost: "+d.cause
		if l.cpu != format.AllCPUs {
			d.track = fmt.Sprintf("CPU %d: lost and late", l.cpu)
		}
		if l.kind != 0 {
			d.name = "lost " + d.kind + ": " + d.cause
		}
		want[d]++
	}
	return want
}

func sameDrawn(t *testing.T, what string, got, want map[drawn]int) {
	t.Helper()
	wrong := 0
	for d, n := range want {
		if got[d] != n && wrong < 5 {
			wrong++
			t.Errorf("%s: %+v is drawn %d times, want %d", what, d, got[d], n)
		}
	}
	for d, n := range got {
		if want[d] == 0 && wrong < 10 {
			wrong++
			t.Errorf("%s: %+v is drawn %d times, want none", what, d, n)
		}
	}
}

func TestLossesAreDrawnInPlace(t *testing.T) {
	c := lossy(t)
	dir := t.TempDir()
	trace := tools.Convert(t, filepath.Join(dir, "all.pb"), "wprof-perfetto", c.path)
	engine.CheckStats(t, trace)
	sameDrawn(t, "all", drawnLosses(t, trace), wantDrawn(c.losses, c.session.Open))

	from, to := c.crossing(t, 5), c.crossing(t, 30)
	kept := tools.Convert(t, filepath.Join(dir, "kept.wprof"), "wprof-filter", "--start", c.offset(from), "--end", c.offset(to), c.path)
	trace = tools.Convert(t, filepath.Join(dir, "kept.pb"), "wprof-perfetto", kept)
	engine.CheckStats(t, trace)
	sameDrawn(t, "a range", drawnLosses(t, trace), wantDrawn(within(c.losses, from, to), from))
}

// stretch is a time on a CPU as the trace shows it, ns of CLOCK_MONOTONIC.
type stretch struct {
	what     string
	from, to int64
}

// stretches are what the trace shows of each CPU, in order of time.
func stretches(t *testing.T, trace string) map[int64][]stretch {
	t.Helper()
	rows := engine.Query(t, trace, `select `+boottimeOffset+` as ns`,
		`select cpu, ts, ts + dur as until, coalesce(name, '?') || ' runs' as what from sched join thread using (utid)
		where dur > 0 and coalesce(name, '') != '(lost)' order by ts`,
		`select cast(substr(s.name, 8) as int) as cpu, ts, ts + dur as until, thread.name || ' is ' || s.name as what
		from slice s join thread_track t on s.track_id = t.id join thread using (utid) where s.name glob 'on CPU *' order by ts`)
	offset, all := rows[0][0]["ns"].(int64), map[int64][]stretch{}
	for _, row := range append(rows[1], rows[2]...) {
		cpu := row["cpu"].(int64)
		all[cpu] = append(all[cpu], stretch{row["what"].(string), row["ts"].(int64) - offset, row["until"].(int64) - offset})
	}
	return all
}

func TestNothingIsDrawnThatALossHides(t *testing.T) {
	c := lossy(t)
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "all.pb"), "wprof-perfetto", "-e", "runs", c.path)
	gaps := map[int64][]lost{}
	for _, l := range c.losses {
		if l.kind == format.KindSwitch && l.at > l.from {
			gaps[int64(l.cpu)] = append(gaps[int64(l.cpu)], l)
		}
	}
	shown, wrong := stretches(t, trace), 0
	for cpu, all := range gaps {
		if len(shown[cpu]) == 0 {
			t.Errorf("CPU %d has no slices", cpu)
		}
		for _, s := range shown[cpu] {
			// The first gap that ends within the slice, or after it.
			i := sort.Search(len(all), func(i int) bool { return all[i].at > s.from })
			if i < len(all) && all[i].from < s.to {
				if wrong++; wrong < 5 {
					t.Errorf("CPU %d: %+v, and switches were lost: %+v", cpu, s, all[i])
				}
			}
		}
	}
	if len(gaps) == 0 {
		t.Error("no switches were lost: the test does not test")
	}
}
