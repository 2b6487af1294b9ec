//go:build linux

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// recordRequests records a program of which a few requests are slow.
func recordRequests(t *testing.T) *capture {
	t.Helper()
	return record(t, []string{`uspan:request (arg:0:s32/name(number)) | id:req |`, `uspan:session | id:session |`}, tools.Path("requests"), "400", "50")
}

// part is a stretch of time, ns after the opening; to is excluded.
type part struct{ from, to int64 }

// surroundingsOf joins what surrounds events that took longer.
func surroundingsOf(events []event, limit, before, after int64) (all []part) {
	for _, e := range events {
		if e.Dur <= limit {
			continue
		}
		from, to := max(0, e.TS-e.Dur-before), e.TS+after+1
		for len(all) > 0 && all[len(all)-1].to >= from {
			from = min(from, all[len(all)-1].from)
			all = all[:len(all)-1]
		}
		all = append(all, part{from, to})
	}
	return all
}

// gapsOf are the gaps in JSON lines, and the lines without the first, whose header has the command.
func gapsOf(t *testing.T, args ...string) (gaps []part, lines []string) {
	t.Helper()
	_, rest, _ := bytes.Cut(tools.Run(t, "wprof-json", append([]string{"--time", "ns"}, args...)...), []byte("\n"))
	for line := range strings.Lines(string(rest)) {
		lines = append(lines, line)
		if strings.Contains(line, `"t":"gap"`) {
			var g event
			if err := json.Unmarshal([]byte(line), &g); err != nil {
				t.Fatal(err)
			}
			gaps = append(gaps, part{g.Start, g.TS})
		}
	}
	return gaps, lines
}

// gapsBetween are those between stretches.
func gapsBetween(stretches []part) (gaps []part) {
	for i := 1; i < len(stretches); i++ {
		gaps = append(gaps, part{stretches[i-1].to, stretches[i].from})
	}
	return gaps
}

func (p *part) overlaps(from, to int64) bool { return from < p.to && to >= p.from }

// Exactly what surrounds the slow requests survives, as every tool shows it.
func TestAroundKeepsSlowRequestsAndTheirSurroundings(t *testing.T) {
	whole := recordRequests(t)
	requests := whole.of("req")
	var slow []string
	for _, e := range requests {
		if e.Dur > 50e6 {
			slow = append(slow, e.arg(t, "number"))
		}
	}
	for _, n := range whole.said["slow"] { // on a busy machine others may be slow too
		if !slices.Contains(slow, n) {
			t.Errorf("request %s slept, and its span is short", n)
		}
	}
	file := filepath.Join(t.TempDir(), "slow.wprof")
	tools.Run(t, "wprof-filter", "--around", "span(req) > 50ms", "--before", "20ms", "--after", "5ms", "-o", file, whole.file)
	stretches := surroundingsOf(requests, 50e6, 20e6, 5e6)

	t.Run("sound", func(t *testing.T) {
		tools.Run(t, "wprof-info", "--check", file)
		about := string(tools.Run(t, "wprof-info", file))
		want := fmt.Sprintf("%d stretches, ", len(stretches))
		if !strings.Contains(about, want) || !strings.Contains(about, "lost        nothing") {
			t.Errorf("wprof-info does not say %q and that nothing is lost:\n%s", want, about)
		}
		_, all := gapsOf(t, whole.file)
		_, left := gapsOf(t, file)
		t.Logf("%d requests, %d slow; %d lines of %d", len(requests), len(slow), len(left), len(all))
		if len(stretches) < 5 || len(left) > len(all)/2 {
			t.Errorf("%d stretches, %d lines of %d", len(stretches), len(left), len(all))
		}
	})
	t.Run("stretches", func(t *testing.T) {
		gaps, _ := gapsOf(t, file)
		check(t, texts(gaps), texts(gapsBetween(stretches)))
	})
	t.Run("requests", func(t *testing.T) {
		var want, got []string
		for _, e := range requests {
			for i := range stretches {
				s := &stretches[i]
				if from := e.TS - e.Dur; s.overlaps(from, e.TS) && from < s.to {
					if from < s.from {
						from = 0 // JSON has no start before the window
					}
					want = append(want, fmt.Sprint(e.arg(t, "number"), " from ", from, " open ", e.TS >= s.to))
				}
			}
		}
		for _, e := range read(t, file).of("req") {
			got = append(got, fmt.Sprint(e.arg(t, "number"), " from ", e.Start, " open ", e.Open != ""))
		}
		check(t, got, want)
	})
	t.Run("pipe", func(t *testing.T) {
		piped := filepath.Join(t.TempDir(), "piped.wprof")
		cmd := exec.Command("sh", "-c", `cat "$1" | "$2" --around 'span(req) > 50ms' --before 20ms --after 5ms | cat > "$3"`, "sh", whole.file, tools.Path("wprof-filter"), piped)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_, a := gapsOf(t, file)
		_, b := gapsOf(t, piped)
		if !slices.Equal(a, b) {
			t.Errorf("from a file %d lines, through pipes %d, or others", len(a), len(b))
		}
	})
	t.Run("with others", func(t *testing.T) { testAroundWithOthers(t, whole, file, stretches) })
	t.Run("flame", func(t *testing.T) { testAroundInFlame(t, whole.file, file, stretches) })
	t.Run("perfetto", func(t *testing.T) { testAroundInPerfetto(t, file, len(stretches)) })
}

func texts(parts []part) (all []string) {
	for _, p := range parts {
		all = append(all, fmt.Sprint(p.from, "-", p.to))
	}
	return all
}

// Conditions on threads and a time range leave the same as filters after and before it.
func testAroundWithOthers(t *testing.T, whole *capture, slow string, stretches []part) {
	folder := t.TempDir()
	pid := strconv.Itoa(whole.of("req")[0].Task.PID)
	filter := func(name string, args ...string) string {
		file := filepath.Join(folder, name)
		tools.Run(t, "wprof-filter", append(args, "-o", file)...)
		return file
	}
	_, one := gapsOf(t, filter("one", "-p", pid, "--around", "span(req) > 50ms", "--before", "20ms", "--after", "5ms", whole.file))
	_, two := gapsOf(t, filter("two", "-p", pid, slow))
	if !slices.Equal(one, two) {
		t.Errorf("-p has %d lines in the same tool, and %d behind it, or others", len(one), len(two))
	}
	start, end := stretches[1].from+25_000_000, stretches[len(stretches)-2].to-1000
	ranged := filter("range", "--around", "span(req) > 50ms", "--before", "20ms", "--after", "5ms",
		"--start", fmt.Sprintf("%dns", start), "--end", fmt.Sprintf("%dns", end), whole.file)
	tools.Run(t, "wprof-info", "--check", ranged)
	want := slices.Clone(stretches[1 : len(stretches)-1])
	want[0].from, want[len(want)-1].to = start, end
	gaps, _ := gapsOf(t, ranged)
	check(t, texts(gaps), texts(gapsBetween(want)))
}

// The times of a wall-clock profile are those of the same ranges, added up.
func testAroundInFlame(t *testing.T, whole, slow string, stretches []part) {
	sum := func(args ...string) (ns int64) {
		for line := range strings.Lines(string(tools.Run(t, "wprof-flame", append([]string{"--folded"}, args...)...))) {
			n, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			ns += n
		}
		return ns
	}
	var want int64
	lines := 0
	for _, s := range stretches {
		want += sum("--start", fmt.Sprintf("%dns", s.from), "--end", fmt.Sprintf("%dns", s.to), whole)
		lines += 2000
	}
	if got := sum(slow); math.Abs(float64(got-want)) > float64(lines) { // each line is rounded
		t.Errorf("the times are %d together, and those of the ranges %d", got, want)
	}
}

// No slice reaches into a gap, and what goes on at the end of a stretch ends there.
func testAroundInPerfetto(t *testing.T, file string, stretches int) {
	engine.Need(t)
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "trace.pb"), "wprof-perfetto", file)
	engine.CheckStats(t, trace)
	const gap = `(select ts, ts + dur as till from slice where name = 'not recorded')`
	answers := engine.Query(t, trace,
		`select count(*) as n from `+gap,
		`select s.name, s.ts, s.dur, g.ts as gap from slice s join `+gap+` g where s.name != 'not recorded' and s.dur > 0 and s.ts < g.till and s.ts + s.dur > g.ts limit 5`,
		`select s.ts, s.dur from slice s where s.dur < 0 limit 5`,
		`select s.ts, s.dur, t.name, g.ts as gap from sched s join `+gap+` g join thread t using (utid) where t.tid != 0 and s.ts < g.till and (s.dur < 0 or s.ts + s.dur > g.ts + 1) limit 5`,
		`select s.ts, s.dur, s.state, t.name, g.ts as gap from thread_state s join `+gap+` g join thread t using (utid) where t.tid between 1 and 1 << 22 and s.state is not null
		and s.ts < g.till and (s.dur < 0 or s.ts + s.dur > g.ts + 1) limit 5`,
		`select count(*) as n from slice where name = 'session (open)'`,
		`select count(*) as n from slice where name = 'request' and dur > 50000000`)
	for i, want := range []string{fmt.Sprintf("[map[n:%d]]", stretches-1), "[]", "[]", "[]", "[]", fmt.Sprintf("[map[n:%d]]", stretches), ""} {
		if got := fmt.Sprint(answers[i]); want != "" && got != want {
			t.Errorf("query %d: %s, want %s", i+1, got, want)
		}
	}
	if n := answers[6][0]["n"].(int64); n < int64(stretches) {
		t.Errorf("%d slow requests in %d stretches", n, stretches)
	}
}

// Quantiles are those of the values that the JSON lines have.
func TestAroundQuantiles(t *testing.T) {
	whole := recordRequests(t)
	var durations []int64
	for _, e := range whole.of("req") {
		if e.Open == "" {
			durations = append(durations, e.Dur)
		}
	}
	slices.Sort(durations)
	for word, share := range map[string]float64{"p99": 0.99, "p99.9": 0.999, "median": 0.5, "p98": 0.98} {
		limit := durations[int(math.Ceil(share*float64(len(durations))-1e-9))-1]
		longer := len(durations) - 1 - slices.Index(durations, limit)
		for longer > 0 && durations[len(durations)-longer] == limit {
			longer--
		}
		file := filepath.Join(t.TempDir(), "slow.wprof")
		cmd := exec.Command(tools.Path("wprof-filter"), "--around", "span(req) > "+word, "-o", file, whole.file)
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		found := regexp.MustCompile(`: (\d+) of (\d+) durations are longer`).FindSubmatch(said)
		if found == nil || string(found[1]) != strconv.Itoa(longer) || string(found[2]) != strconv.Itoa(len(durations)) {
			t.Errorf("%s: %s, want %d of %d", word, said, longer, len(durations))
		}
		gaps, _ := gapsOf(t, file)
		check(t, texts(gaps), texts(gapsBetween(surroundingsOf(whole.of("req"), limit, 10e6, 10e6))))
	}
}
