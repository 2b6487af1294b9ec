package filter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/around"
	"wprof/internal/timeline/simulate"
	"wprof/test/fromtext"
	"wprof/test/tools"
)

// planOf finds what surrounds the conditions.
func planOf(t testing.TB, file io.ReadSeeker, o around.Options, conditions ...string) *around.Plan {
	t.Helper()
	plan, err := planOrError(t, file, o, conditions...)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func planOrError(t testing.TB, file io.ReadSeeker, o around.Options, conditions ...string) (*around.Plan, error) {
	t.Helper()
	for _, text := range conditions {
		c, err := around.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Conditions = append(o.Conditions, c)
	}
	plan, err := around.Find(func() (*format.Reader, error) {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		return format.NewReader(file)
	}, o)
	if plan != nil {
		t.Cleanup(plan.Close)
	}
	return plan, err
}

// filteredFile filters a file.
func filteredFile(t testing.TB, file io.ReadSeeker, o Options) []byte {
	t.Helper()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	f, err := New(file, &out, false, o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := f.Run()
	if err != nil || result.Damage != nil {
		t.Fatalf("%v, damage %+v", err, result.Damage)
	}
	return out.Bytes()
}

// stretchContents are the parts of a stream that do not continue each other.
func stretchContents(t testing.TB, stream []byte) (all []contents) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	enter := func(s *format.Session) {
		if !s.Continues {
			all = append(all, contents{})
		}
		now := &all[len(all)-1]
		now.sections = append(now.sections, fmt.Sprint(s.Open, s.RangeStart, s.RangeEnd))
	}
	enter(r.Session())
	sections := r.Sections()
	r.OnNextSection(enter)
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		if r.Sections() != sections {
			sections = r.Sections()
		}
		now := &all[len(all)-1]
		now.events = append(now.events, occurrence{0, e.Time, e.Own, e.Kind, e.Flags, e.CPU, e.Task, e.Args, string(e.Data)})
		now.defs = append(now.defs, fmt.Sprint(r.Task(e.Task), r.Stack(e.Stack())))
	}
	if d := r.Damage(); d != nil {
		t.Fatalf("the filter wrote a damaged stream: %+v", d)
	}
	return slices.DeleteFunc(all, func(c contents) bool { return len(c.events) == 0 })
}

// Each stretch is what --start and --end write of the same time.
func TestStretchesAreWhatRangesOfTheSameTimeAre(t *testing.T) {
	stretches, epochs := 0, 0
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 7))
		stream := simulate.Stream(t, simulate.Options{
			Seed: seed, CPUs: 3, Threads: 14, Losses: seed%2 == 0, Epochs: seed%3 == 0, SilentRenames: seed%4 == 0, Interrupts: seed%5 == 0,
		}, 2000)
		file := bytes.NewReader(stream)
		limit := fmt.Sprintf("%dns", 1000+rng.IntN(40_000))
		plan := planOf(t, file, around.Options{Before: rng.Int64N(2000), After: rng.Int64N(2000), From: -format.MaxTime, To: format.MaxTime},
			[]string{"offcpu(w*) > ", "runq(*) > ", "offcpu(*) > "}[rng.IntN(3)]+limit)
		var one Options
		var list []condition
		for _, c := range conditions(rng) {
			var o Options
			if c.set(&o); !o.Start.set && !o.End.set {
				c.set(&one)
				list = append(list, c)
			}
		}
		one.Around = plan
		n, more := checkStretches(t, fmt.Sprintf("seed %d, %v", seed, names(list)), stream, one)
		stretches, epochs = stretches+n, epochs+more
	}
	t.Logf("%d stretches, with %d epochs", stretches, epochs)
	if stretches < 500 || epochs < 10 {
		t.Errorf("there were only %d stretches with %d epochs: the test covers too little", stretches, epochs)
	}
}

// Blocks are taken out, repeated and swapped at random. Whatever is found in the rest, the output is sound, or the input refused.
func TestStretchesOfDamagedStreamsAreSound(t *testing.T) {
	t.Parallel()
	n := damagedStreams(t)
	for name, blocks := range streamsToDamage(t) {
		rng := rand.New(rand.NewPCG(3, 4))
		kept, refused := 0, 0
		for i := range n {
			all, what := slices.Clone(blocks), ""
			for range rng.IntN(4) {
				at := rng.IntN(len(all) - 1)
				switch rng.IntN(3) {
				case 0:
					all, what = slices.Delete(all, at, at+1), what+fmt.Sprint(" without ", at)
				case 1:
					all, what = slices.Insert(all, at, all[at]), what+fmt.Sprint(" ", at, " twice")
				case 2:
					all[at], all[at+1] = all[at+1], all[at]
					what += fmt.Sprint(" ", at, " swapped")
				}
			}
			file := bytes.NewReader(bytes.Join(all, nil))
			o := around.Options{Before: rng.Int64N(5000), After: rng.Int64N(5000), From: -format.MaxTime, To: format.MaxTime}
			plan, err := planOrError(t, file, o, []string{"runq(*) > p90", "offcpu(*) > p90", "event(waking)", "event(lost)"}[i%4])
			if err != nil && !errors.Is(err, format.ErrOverlap) {
				t.Fatalf("%s:%s: %v", name, what, err)
			}
			if err != nil || plan == nil {
				refused++
				continue
			}
			var out bytes.Buffer
			file.Seek(0, io.SeekStart)
			f, err := New(file, &out, false, Options{Around: plan})
			if err == nil {
				_, err = f.Run()
			}
			if err != nil {
				t.Fatalf("%s:%s: %v", name, what, err)
			}
			kept += len(plan.Stretches)
			checkFindings(t, uint64(i), out.Bytes())
			if t.Failed() {
				t.Fatalf("%s:%s", name, what)
			}
			stretchContents(t, out.Bytes())
		}
		t.Logf("%s: %d stretches of %d streams, %d refused", name, kept, n, refused)
		if kept < n {
			t.Errorf("%s: only %d stretches", name, kept)
		}
	}
}

// checkStretches compares the output of a filter with those of filters with --start and --end of each stretch.
func checkStretches(t *testing.T, what string, stream []byte, o Options) (stretches, epochs int) {
	t.Helper()
	file := bytes.NewReader(stream)
	out := filteredFile(t, file, o)
	checkFindings(t, 0, out)
	got := stretchContents(t, out)
	var want []contents
	open := openOf(t, stream)
	for _, s := range o.Around.Stretches {
		one := o
		one.Around = nil
		one.Start, one.End = Bound{set: true, offset: time.Duration(s.From - open)}, Bound{set: true, offset: time.Duration(s.To - open)}
		var c contents
		for _, part := range stretchContents(t, filteredFile(t, file, one)) {
			c.events, c.defs = append(c.events, part.events...), append(c.defs, part.defs...)
		}
		if len(c.events) > 0 {
			want = append(want, c)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d stretches have events, and %d ranges", what, len(got), len(want))
	}
	for i := range got {
		epochs += len(got[i].sections) - 1
		if d := firstDifference("events", want[i].events, got[i].events) + firstDifference("definitions", want[i].defs, got[i].defs); d != "" {
			t.Fatalf("%s, stretch %d of %d: %s", what, i, len(got), d)
		}
	}
	return len(got), epochs
}

// What later events show of the end of a stretch is there: spans that end in the same section and in a later one, a loss, and the stack
// of a thread that is blocked.
func TestWhatLaterEventsShowOfTheEndOfAStretch(t *testing.T) {
	const types = `
eventtype 1 name=work group=probe probe=work shape=span
  field what type=text
eventtype 2 name=mark group=probe
`
	stream := fromtext.Stream(t, testTasks+types+`
100 cpu0 switch 2 next=3 prev_state=S
200 cpu0 typed 3 type=2
300 cpu0 lost from=150 count=2 cause=ring what=waking
400 cpu0 typed 3 type=2
module 1 path=/bin/ping kind=file
frame 1 module=1 offset=5
stack 1 frames=1
500 cpu0 switch 3 next=2 prev_state=S since=100 next_state=S stack=1
text 1 text=late
600 cpu0 typed 2 type=1 start=120 .what=1
700 cpu0 typed 2 type=1 start=650 .what=1
1000 cpu0 typed 2 type=2
end close=2000 last=false
section id=0x1 boot_id=b open=0 close=10000 continues epoch=1
  source 1 name=timer
`+strings.SplitAfterN(testTasks, "\n", 5)[4]+types+`
task 9 tid=20 pid=20 comm=ping process_comm=ping start=5
2000 cpu0 state_cpu 9 since=500
text 7 text=later
3000 cpu0 typed 9 type=1 start=130 .what=7
4000 cpu0 typed 9 type=2
5000 cpu0 typed 9 type=1 start=190 .what=7
end close=10000`)
	for _, around := range []int64{0, 10, 70} {
		o := Options{Around: planOf(t, bytes.NewReader(stream), optionsAround(around, around), "event(mark)")}
		checkStretches(t, "all", stream, o)
		o.Threads = Spec{PIDs: []int32{20}}
		checkStretches(t, "-p 20", stream, o)
		o.Kinds = MakeKindSet(nil, []string{"work"})
		checkStretches(t, "-p 20 -K work", stream, o)
	}
	o := Options{Around: planOf(t, bytes.NewReader(stream), optionsAround(10, 10), "event(mark)")}
	var spans, stacks, texts int
	tools.Walk(t, bytes.NewReader(filteredFile(t, bytes.NewReader(stream), o)), func(r *format.Reader, e *format.Event) {
		switch {
		case e.Kind == format.KindTyped && e.Flags&format.FlagOpen != 0:
			spans++
			if strings.HasPrefix(string(r.Text(uint32(e.Data[0])).GetText()), "late") {
				texts++
			}
		case e.Kind == format.KindStateThread && e.Flags&format.FlagOpen != 0 && len(r.Stack(e.Stack()).GetFrames()) == 1:
			stacks++
		}
	})
	// The stretches at 200 and 400 have two spans that end in the later section and one that ends in their own, that at 1000 has two, and
	// that at 4000 one.
	if spans != 3+3+2+1 || texts != spans || stacks != 2 {
		t.Errorf("%d open spans, %d texts, %d stacks", spans, texts, stacks)
	}
}

func optionsAround(before, after int64) around.Options {
	return around.Options{Before: before, After: after, From: -format.MaxTime, To: format.MaxTime}
}

func openOf(t testing.TB, stream []byte) int64 {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.FirstOpen()
}

// A time range may begin and end anywhere in a stream of stretches, also between two of them.
func TestRangesOfStretches(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 9))
		stream := simulate.Stream(t, simulate.Options{Seed: seed, CPUs: 2, Threads: 10, Losses: seed%2 == 0, Epochs: seed%3 == 0, Interrupts: true}, 1000)
		plan := planOf(t, bytes.NewReader(stream), optionsAround(rng.Int64N(3000), rng.Int64N(3000)), "runq(*) > p90")
		part := filteredFile(t, bytes.NewReader(stream), Options{Around: plan})
		open := openOf(t, stream)
		var edges []int64
		for _, s := range plan.Stretches {
			edges = append(edges, s.From-open-5, s.From-open, s.From-open+5, s.To-open-5, s.To-open, s.To-open+5)
		}
		for range 20 {
			from, to := edges[rng.IntN(len(edges))], edges[rng.IntN(len(edges))]
			o := Options{Start: Bound{set: true, offset: time.Duration(min(from, to))}, End: Bound{set: true, offset: time.Duration(max(from, to) + 1)}}
			out := filteredFile(t, bytes.NewReader(part), o)
			checkFindings(t, seed, out)
			if d := difference(contentsOf(t, out), contentsOf(t, filtered(t, part, true, o))); d != "" {
				t.Fatalf("seed %d, from %d to %d, from a file and from a pipe: %s", seed, from, to, d)
			}
			// Each event of the stretches is there, but for states and what is open at the ends.
			want, got := 0, 0
			tools.Walk(t, bytes.NewReader(part), func(_ *format.Reader, e *format.Event) {
				if at := e.Time - open; at >= int64(o.Start.offset) && at < int64(o.End.offset) && !isState(e) {
					want++
				}
			})
			tools.Walk(t, bytes.NewReader(out), func(_ *format.Reader, e *format.Event) {
				if e.Time-open < int64(o.End.offset) && !isState(e) {
					got++
				}
			})
			if got != want {
				t.Fatalf("seed %d, from %d to %d: %d events, want %d", seed, from, to, got, want)
			}
		}
	}
}
