//go:build linux

package damage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/check"
	"wprof/format/textform"
	"wprof/internal/filter"
	"wprof/test/tools"
)

// TestImpossibleContentsAreNotPassedOn changes the contents of a capture, with right checksums: times, CPUs, ids, states, sums,
// sessions, and the order and number of lines and blocks. What wprof-filter makes of it is sound, and so is what
// wprof-symbolize makes of some. WPROF_UNTRUE_RUNS is the number of changed captures; with WPROF_UNTRUE_FRESH=1 a new
// recording is among them.
func TestImpossibleContentsAreNotPassedOn(t *testing.T) {
	runs := 300
	if text := os.Getenv("WPROF_UNTRUE_RUNS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil {
			t.Fatalf("WPROF_UNTRUE_RUNS: %v", err)
		}
	}
	captures := soundCaptures(t)
	var texts []string
	for _, c := range captures {
		var text bytes.Buffer
		if err := textform.Dump(&text, bytes.NewReader(c)); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text.String())
	}
	rng := seeded(t)
	failures, untrue, symbolized := 0, 0, 0
	for i := range runs {
		k := rng.IntN(len(captures))
		var changed []byte
		var what string
		if rng.IntN(3) == 0 {
			changed, what = shuffledBlocks(rng, captures[k], dissect(t, captures[k]))
		} else {
			changed, what = untrueText(rng, texts[k])
		}
		if changed == nil {
			continue
		}
		untrue++
		wrong := passedOn(rng, changed)
		if wrong == "" && untrue%symbolizeEvery == 0 {
			symbolized++
			wrong = symbolizedUntrue(t, changed)
		}
		if wrong == "" {
			continue
		}
		failures++
		if dir := os.Getenv("WPROF_UNTRUE_KEEP"); dir != "" {
			_ = os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".wprof")), changed, 0o600)
		}
		if failures <= 20 {
			t.Errorf("run %d: %s: %.1500s", i, what, wrong)
		}
	}
	t.Logf("soak: %d captures that cannot be true through a filter, %d of them through wprof-symbolize: %d unsound outputs", untrue, symbolized, failures)
}

func soundCaptures(t *testing.T) [][]byte {
	t.Helper()
	names := []string{"testdata/capture.wprof"}
	if os.Getenv("WPROF_UNTRUE_FRESH") != "" {
		tools.NeedPrivilege(t)
		fresh := filepath.Join(t.TempDir(), "fresh.wprof")
		tools.Run(t, "wprof-record", "-z1", "-o", fresh, "--", tools.Path("worker"), "2")
		names = append(names, fresh)
	}
	var captures [][]byte
	for _, name := range names {
		stream, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		captures = append(captures, stream)
	}
	return captures
}

// symbolizeEvery is how many captures there are to one that wprof-symbolize gets, which takes as long as 20 of them.
const symbolizeEvery = 15

// symbolizedUntrue returns what is wrong with the output of wprof-symbolize for a capture; "": nothing.
func symbolizedUntrue(t *testing.T, stream []byte) string {
	t.Helper()
	got := tools.Try(t, hang, stream, "wprof-symbolize")
	if got.Status != 0 && got.Status != 1 && got.Status != 4 {
		return fmt.Sprintf("wprof-symbolize: status %d: %s", got.Status, got.Stderr)
	}
	return findingsIn("wprof-symbolize", got.Stdout)
}

// findingsIn returns the findings of the checker in an output, which may be empty; "": nothing.
func findingsIn(what string, out []byte) string {
	if len(out) == 0 {
		return ""
	}
	var findings []string
	if _, err := check.Stream(bytes.NewReader(out), func(f check.Finding) { findings = append(findings, f.Text) }); err != nil || len(findings) > 0 {
		return fmt.Sprintf("%s: %v %q", what, err, findings)
	}
	return ""
}

// passedOn returns what is wrong with the output of a random filter for a capture; "": nothing.
func passedOn(rng *rand.Rand, stream []byte) string {
	var o filter.Options
	var flags []string
	set := func(format string, args ...any) { flags = append(flags, fmt.Sprintf(format, args...)) }
	o.Kinds = filter.MakeKindSet(nil, nil)
	bound := func() (filter.Bound, string) {
		text := fmt.Sprintf("%dms", 48000+rng.IntN(13000))
		if rng.IntN(4) == 0 {
			text = fmt.Sprintf("%dms", rng.IntN(2000))
		}
		b, err := filter.ParseBound(text)
		if err != nil {
			panic(err)
		}
		return b, text
	}
	var text string
	if rng.IntN(4) == 0 {
		o.Start, text = bound()
		set("--start %s", text)
	}
	if rng.IntN(4) == 0 {
		o.End, text = bound()
		set("--end %s", text)
	}
	switch rng.IntN(8) {
	case 0:
		o.CPUs, _ = filter.ParseCPUs([]string{"0"})
		set("--cpu 0")
	case 1:
		o.Threads.NoIdle = true
		set("--no-idle")
	case 2:
		o.Kinds = filter.MakeKindSet(nil, []string{"waking"})
		set("-K waking")
	case 3:
		o.Threads.Names = []string{"*o*"}
		set("-n *o*")
	}
	isPipe := rng.IntN(2) == 0
	var in io.Reader = bytes.NewReader(stream)
	if isPipe {
		in = struct{ io.Reader }{in}
		set("from a pipe")
	}
	var out bytes.Buffer
	f, err := filter.New(in, &out, isPipe, o)
	if err != nil {
		return ""
	}
	result, err := f.Run()
	if err != nil && !errors.Is(err, format.ErrOverlap) && !errors.Is(err, format.ErrNewer) {
		return fmt.Sprintf("%v: %v", flags, err)
	}
	return findingsIn(fmt.Sprintf("%v (%v)", flags, result.Damage), out.Bytes())
}

// shuffledBlocks is a stream with blocks swapped, repeated, left out or moved; their numbers are those of their places, or
// stay as they were.
func shuffledBlocks(rng *rand.Rand, stream []byte, pieces []piece) ([]byte, string) {
	all := slices.Clone(pieces)
	var what []string
	for range 1 + rng.IntN(3) {
		i, j := rng.IntN(len(all)), rng.IntN(len(all))
		switch rng.IntN(4) {
		case 0:
			all[i], all[j] = all[j], all[i]
			what = append(what, fmt.Sprintf("blocks %d and %d swapped", i, j))
		case 1:
			all = slices.Insert(all, j, all[i])
			what = append(what, fmt.Sprintf("block %d again at %d", i, j))
		case 2:
			all = slices.Delete(all, i, i+1)
			what = append(what, fmt.Sprintf("block %d left out", i))
		case 3:
			p := all[i]
			all = slices.Insert(slices.Delete(all, i, i+1), min(j, len(all)-1), p)
			what = append(what, fmt.Sprintf("block %d moved to %d", i, j))
		}
		if len(all) == 0 {
			return nil, ""
		}
	}
	out := join(stream, all)
	if rng.IntN(2) == 0 {
		what = append(what, "renumbered")
		renumber(out, all)
	}
	return out, strings.Join(what, ", ")
}

// renumber gives the blocks of a stream the numbers of their places, and the section of the header before them.
func renumber(stream []byte, pieces []piece) {
	at, section, sequence := 0, uint32(0), uint32(0)
	for _, p := range pieces {
		h, err := format.ParseBlockHeader(stream[at:])
		if err != nil {
			panic(err)
		}
		if h.Type == format.BlockHeaderType || at == 0 {
			section, sequence = h.Section, 0
		}
		h.Section, h.Sequence = section, sequence
		copy(stream[at:], h.AppendTo(nil))
		sequence++
		at += p.size
	}
}

// untrueText is a stream of a dump in which some lines are not as they were; nil if it is none any more.
func untrueText(rng *rand.Rand, text string) ([]byte, string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var what []string
	for range 1 + rng.IntN(4) {
		i := rng.IntN(len(lines))
		if rng.IntN(3) == 0 { // sessions and ends are few
			rare := rareLines(lines)
			i = rare[rng.IntN(len(rare))]
		}
		was := lines[i]
		switch rng.IntN(10) {
		case 0:
			lines = slices.Delete(lines, i, i+1)
			what = append(what, fmt.Sprintf("without %.80q", was))
		case 1:
			lines = slices.Insert(lines, rng.IntN(len(lines)), was)
			what = append(what, fmt.Sprintf("twice %.80q", was))
		case 2:
			j := rng.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
			what = append(what, fmt.Sprintf("swapped %.80q and %.80q", was, lines[i]))
		default:
			lines[i] = untrueLine(rng, was)
			what = append(what, fmt.Sprintf("%.120q", lines[i]))
		}
		if len(lines) == 0 {
			return nil, ""
		}
	}
	var out bytes.Buffer
	if err := textform.Undump(&out, strings.NewReader(strings.Join(lines, "\n")+"\n")); err != nil {
		return nil, ""
	}
	return out.Bytes(), strings.Join(what, "; ")
}

func rareLines(lines []string) (rare []int) {
	for i, line := range lines {
		if !strings.HasPrefix(line, "  +") && !strings.HasPrefix(line, "  task") {
			rare = append(rare, i)
		}
	}
	return rare
}

// values are the numbers, times, CPUs and states of a line.
func values() *regexp.Regexp {
	return regexp.MustCompile(`[+-]\d+\.\d+|cpu\d+|\b0x[0-9a-f]+\b|\b\d+\b|prev_state=\S+|state=\S+|cause=\S+|what=\S+| continues\b| last=false`)
}

func untrueLine(rng *rand.Rand, line string) string {
	places := values().FindAllStringIndex(line, -1)
	if len(places) == 0 {
		return line + " open"
	}
	p := places[rng.IntN(len(places))]
	return line[:p[0]] + untrueValue(rng, line[p[0]:p[1]]) + line[p[1]:]
}

func untrueValue(rng *rand.Rand, was string) string {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	number := func() string {
		return pick("0", "1", "2", "3", "4294967295", "4294967296", "9223372036854775807", "18446744073709551615", strconv.Itoa(rng.IntN(300)))
	}
	name, _, valued := strings.Cut(was, "=")
	switch {
	case valued && strings.HasSuffix(name, "state"):
		return name + "=" + pick("R", "R+", "X", "Z", "0x8000", "0xffffffff", "0x100000000")
	case valued && was != " last=false":
		return name + "=" + number()
	case valued, was == " continues":
		return ""
	case was[0] == '+' || was[0] == '-':
		return pick("+0.0", "-5.0", "+100.0", "+48.3", "+9223372036.854775807", "-1", fmt.Sprintf("+%d.%09d", 47+rng.IntN(16), rng.IntN(1e9)))
	case strings.HasPrefix(was, "cpu"):
		return pick("cpu0", "cpu1", "cpu65535", "cpu65536", "cpu4294967294", "all")
	}
	return number()
}
