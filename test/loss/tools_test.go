//go:build linux

package loss

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

var (
	lossyOnce sync.Once
	lossyFile string
)

// lossy is one recording of the whole machine for all tests: it has lost events of many kinds, over and over.
func lossy(t *testing.T) *capture {
	t.Helper()
	tools.NeedPrivilege(t)
	lossyOnce.Do(func() {
		w := workloadOf(t, "pingpong", 10_000, 0)
		file := tools.Record(t, filepath.Join(tools.Folder(), "lossy.wprof"), []string{"--ringbuf-size", "8kb", "-S+offcpu", "--offcpu-min", "0"}, func() {
			time.Sleep(50 * time.Millisecond)
			w.Send("\n")
			w.Until("done")
		})
		tools.Run(t, "wprof-info", "--check", file)
		lossyFile = file
	})
	if lossyFile == "" {
		t.Fatal("the recording that this test looks at failed")
	}
	c := read(t, lossyFile)
	if len(c.losses) < 100 {
		t.Fatalf("there are %d losses: the test does not test", len(c.losses))
	}
	return c
}

// inOrder sorts losses so that those of one time can be compared.
func inOrder(all []lost) []lost {
	slices.SortFunc(all, func(a, b lost) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.kind, b.kind), cmp.Compare(a.from, b.from), cmp.Compare(a.cause, b.cause))
	})
	return all
}

// sameLosses returns the first loss that differs in two captures.
func sameLosses(t *testing.T, what string, got, want []lost) {
	t.Helper()
	inOrder(got)
	inOrder(want)
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: loss %d is %+v, want %+v", what, i, got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d losses, want %d", what, len(got), len(want))
	}
}

// infoLosses is what wprof-info reports about losses.
type infoLosses struct {
	Recordings []struct {
		Lost   uint64
		Losses []struct {
			CPU         *uint32
			Kind, Cause string
			Count       uint64
		}
	}
}

func TestInfoReportsEveryLoss(t *testing.T) {
	c := lossy(t)
	var info infoLosses
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", c.path), &info); err != nil {
		t.Fatal(err)
	}
	names := map[string]format.Kind{"any": 0}
	for _, k := range format.Kinds() {
		names[k.Name] = k.Kind
	}
	type by struct {
		where
		cause string
	}
	want, got, total := map[by]uint64{}, map[by]uint64{}, uint64(0)
	for _, l := range c.losses {
		want[by{l.where, l.cause.String()}] += l.count
		total += l.count
	}
	for _, l := range info.Recordings[0].Losses {
		cpu := uint32(format.AllCPUs)
		if l.CPU != nil {
			cpu = *l.CPU
		}
		got[by{where{cpu, names[l.Kind]}, l.Cause}] += l.Count
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || info.Recordings[0].Lost != total {
		t.Errorf("wprof-info --json has %d: %v, the events %d: %v", info.Recordings[0].Lost, got, total, want)
	}
	text := string(tools.Run(t, "wprof-info", c.path))
	_, after, _ := strings.Cut(text, "\nlost ")
	line, rows, _ := strings.Cut(after, "\n")
	if count := strings.ReplaceAll(strings.Fields(line)[0], ",", ""); count != fmt.Sprint(total) {
		t.Errorf("wprof-info has %s lost events, want %d", count, total)
	}
	for _, word := range []string{"cpu0", "switch", "waking", "ring"} {
		if !strings.Contains(rows, word) {
			t.Errorf("wprof-info does not say %s of the losses: %s", word, rows)
		}
	}
}

func TestFiltersKeepEveryLoss(t *testing.T) {
	c := lossy(t)
	for i, args := range []string{"-p 1", "-n nobody-is-called-so", "--tid 999999", "--cpu 999", "-k exec", "-K switch,waking,sample", "--no-idle --no-kthread", "--idle", "-p 1 --children", "--start 0", "-N *"} {
		kept := tools.Convert(t, filepath.Join(t.TempDir(), fmt.Sprint(i)), "wprof-filter", append(strings.Fields(args), c.path)...)
		f := read(t, kept)
		sameLosses(t, "wprof-filter "+args, f.losses, slices.Clone(c.losses))
		if fmt.Sprint(f.inEnds) != fmt.Sprint(c.inEnds) {
			t.Errorf("wprof-filter %s: the end has %v, want %v", args, f.inEnds, c.inEnds)
		}
		tools.Run(t, "wprof-info", "--check", kept)
	}
	named := tools.Convert(t, filepath.Join(t.TempDir(), "named"), "wprof-symbolize", "--again", c.path)
	sameLosses(t, "wprof-symbolize", read(t, named).losses, slices.Clone(c.losses))
}

// within is what a time range keeps of losses: those that lie in it at all, with their true beginning; one that goes on
// beyond its end is open there.
func within(all []lost, from, to int64) []lost {
	var kept []lost
	for _, l := range all {
		switch {
		case l.at < from || l.from >= to && l.at >= to:
			continue
		case l.at >= to:
			l.at, l.open = to, true
		}
		kept = append(kept, l)
	}
	return kept
}

// crossing is a moment that lies within a loss of switches, so that a range can begin or end there.
func (c *capture) crossing(t *testing.T, nth int) int64 {
	t.Helper()
	for _, l := range c.losses {
		if l.kind == format.KindSwitch && l.at-l.from > 10_000 {
			if nth--; nth < 0 {
				return l.from + (l.at-l.from)/2
			}
		}
	}
	t.Fatal("no loss is long enough to cut it")
	return 0
}

func (c *capture) offset(at int64) string { return fmt.Sprintf("%dns", at-c.session.Open) }

func TestTimeRangesCutLosses(t *testing.T) {
	c := lossy(t)
	first, last := c.crossing(t, 5), c.crossing(t, 30)
	for _, r := range [][2]int64{{first, last}, {first, 1 << 62}, {0, last}, {0, first}, {last, 1 << 62}} {
		var args []string
		if r[0] != 0 {
			args = append(args, "--start", c.offset(r[0]))
		}
		if r[1] != 1<<62 {
			args = append(args, "--end", c.offset(r[1]))
		}
		kept := tools.Convert(t, filepath.Join(t.TempDir(), "kept"), "wprof-filter", append(args, c.path)...)
		sameLosses(t, strings.Join(args, " "), read(t, kept).losses, within(c.losses, r[0], r[1]))
		tools.Run(t, "wprof-info", "--check", kept)
	}
}

func TestLossIsAnExitStatusOfEveryToolWithTheFlag(t *testing.T) {
	c := lossy(t)
	dir := t.TempDir()
	from, to := c.quiet(t)
	whole := tools.Convert(t, filepath.Join(dir, "whole"), "wprof-filter", "--start", c.offset(from), "--end", c.offset(to), c.path)
	if losses := read(t, whole).losses; len(losses) > 0 {
		t.Fatalf("from %s to %s there is the loss %+v", c.offset(from), c.offset(to), losses[0])
	}
	for _, one := range []struct {
		tool         string
		args         []string
		lossy, whole int
	}{
		{"wprof-info", nil, 5, 5}, // what the recorder lost in its whole window
		{"wprof-info", []string{"--json"}, 5, 5},
		{"wprof-info", []string{"--check"}, 5, 0},
		{"wprof-filter", nil, 5, 0},
		{"wprof-filter", []string{"--start", c.offset(from), "--end", c.offset(to)}, 0, 0},
		{"wprof-filter", []string{"-p", "1"}, 5, 0},
		{"wprof-symbolize", nil, 5, 0},
		{"wprof-perfetto", nil, 5, 0},
		{"wprof-perfetto", []string{"-e", "no-threads"}, 5, 0},
		{"wprof-flame", nil, 5, 0},
		{"wprof-flame", []string{"-K", "waking", "--svg"}, 5, 0},
		{"wprof-json", nil, 5, 0},
		{"wprof-json", []string{"--stream", "-k", "switch"}, 5, 0},
		{"wprof-json", []string{"--chrome"}, 5, 0},
		{"wprof-json", []string{"--firefox"}, 5, 0},
		{"wprof-json", []string{"--start", c.offset(from), "--end", c.offset(to)}, 0, 0},
	} {
		for file, want := range map[string]int{c.path: one.lossy, whole: one.whole} {
			out := filepath.Join(dir, "out")
			got := tools.Try(t, time.Minute, nil, one.tool, append(one.args, "--fail-on-loss", "-o", out, file)...)
			if got.Status != want || want == 5 && !strings.Contains(string(got.Stderr), "--fail-on-loss was given") {
				t.Errorf("%s %v %s: status %d, want %d: %s", one.tool, one.args, filepath.Base(file), got.Status, want, got.Stderr)
			}
			// The output is there whatever the status says.
			if plain := tools.Try(t, time.Minute, nil, one.tool, append(one.args, "-o", out+"2", file)...); plain.Status != 0 {
				t.Errorf("%s %v without the flag: status %d: %s", one.tool, one.args, plain.Status, plain.Stderr)
			}
			if a, b := size(t, out), size(t, out+"2"); a == 0 || one.tool == "wprof-perfetto" && a != b {
				t.Errorf("%s %v: the output has %d bytes, without the flag %d", one.tool, one.args, a, b)
			}
		}
	}
	for _, tool := range []string{"wprof-record", "wprof-info", "wprof-filter", "wprof-symbolize", "wprof-perfetto", "wprof-flame", "wprof-json"} {
		if page := string(tools.Run(t, tool, "--man")); !strings.Contains(page, "events were lost and") {
			t.Errorf("the manual page of %s does not mention the exit status 5", tool)
		}
	}
	if got := tools.Try(t, time.Minute, nil, "wprof-info", "--dump", "--fail-on-loss", c.path); got.Status != 2 {
		t.Errorf("wprof-info --dump --fail-on-loss: status %d: %s", got.Status, got.Stderr)
	}
}

// quiet is the longest time within the window in which nothing was lost.
func (c *capture) quiet(t *testing.T) (from, to int64) {
	t.Helper()
	all := slices.Clone(c.losses)
	slices.SortFunc(all, func(a, b lost) int { return cmp.Compare(a.from, b.from) })
	until := c.session.Open
	for _, l := range all {
		if l.from-until > to-from {
			from, to = until+1, l.from
		}
		until = max(until, l.at)
	}
	if to <= from {
		t.Fatal("something was being lost all the time")
	}
	return from, to
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
