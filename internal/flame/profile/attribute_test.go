package profile_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/timeline/simulate"
	"wprof/test/fromtext"
)

// run is a thread's time on the CPU without a break, in one function.
type run struct {
	tid, pid int
	name     string
	function string
	ns       int64
}

// sampledRuns is a capture of a CPU on which runs follow each other with a pause of 50 µs, sampled every 10 ms from phase on.
func sampledRuns(runs []run, phase int64) string {
	var text strings.Builder
	var at int64
	const pause = 50_000
	for _, r := range runs {
		at += pause + r.ns
	}
	fmt.Fprintf(&text, "section host=box boot_id=b open=10000000000 close=+%d\ncpu 0\nsource 1 name=timer period=10000000\n", at+pause)
	fmt.Fprintln(&text, `task 1 tid=0 pid=0 comm=swapper flags=2`)
	tasks, stacks := make(map[int]int), make(map[string]int)
	for _, r := range runs {
		if tasks[r.tid] == 0 {
			tasks[r.tid] = len(tasks) + 2
			fmt.Fprintf(&text, "task %d tid=%d pid=%d comm=%s process_comm=%[4]s ppid=1 start=5\n", tasks[r.tid], r.tid, r.pid, r.name)
		}
		if stacks[r.function] == 0 {
			n := len(stacks) + 1
			stacks[r.function] = n
			fmt.Fprintf(&text, "frame %d offset=%#x\n  line function=%q\nstack %[1]d frames=%[1]d\n", n, 0x1000*n, r.function)
		}
	}
	fmt.Fprintln(&text, "+0 cpu0 state_cpu 1 prio=120")
	at = 0
	for _, r := range runs {
		at += pause
		fmt.Fprintf(&text, "+%d cpu0 switch 1 next=%d prev_state=R prev_prio=120 next_prio=120\n", at, tasks[r.tid])
		for n := (at - phase + 9_999_999) / 10_000_000; phase+n*10_000_000 < at+r.ns; n++ {
			fmt.Fprintf(&text, "+%d cpu0 sample %d stack=%d source=1\n", phase+n*10_000_000, tasks[r.tid], stacks[r.function])
		}
		at += r.ns
		fmt.Fprintf(&text, "+%d cpu0 switch %d next=1 prev_state=S prev_prio=120 next_prio=120\n", at, tasks[r.tid])
	}
	fmt.Fprintf(&text, "end close=+%d\n", at+pause)
	return text.String()
}

// onCPUByFunction is a view's time on the CPU by the innermost function.
func onCPUByFunction(p *profile.Profile, v graph.View) map[string]int64 {
	times := make(map[string]int64)
	v.Mode = graph.OnCPU
	g := graph.Of(p, v)
	for i, w := range g.Self {
		if w.On > 0 {
			times[g.Nodes[i].Name] += w.On
		}
	}
	return times
}

// On average over many recordings each function has the time that it ran, whether in short runs or long ones, in threads of one name
// that live long or shortly.
func TestTimeOfFunctionsIsRightOnAverage(t *testing.T) {
	const recordings = 100
	bursts := func(random *rand.Rand) (all []run) {
		for range 400 {
			all = append(all, run{100, 100, "app", "short", 1_000_000})
		}
		for range 20 {
			all = append(all, run{100, 100, "app", "long", 20_000_000})
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all
	}
	// 20 threads of a server that serve one request, some of them with more work, and one that lives.
	threads := func(random *rand.Rand) (all []run) {
		for i := range 200 {
			all = append(all, run{200 + i, 100, "app", "short", 2_000_000})
		}
		for i := range 5 {
			all = append(all, run{500 + i, 100, "app", "long", 40_000_000})
		}
		for range 20 {
			all = append(all, run{100, 100, "app", "main", 10_000_000})
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all
	}
	processes := func(random *rand.Rand) []run {
		all := threads(random)
		for i := range all {
			all[i].pid = all[i].tid
		}
		return all
	}
	for name, c := range map[string]struct {
		runs func(*rand.Rand) []run
		by   graph.Root
		o    profile.Options
		want map[string]float64
	}{
		"bursts":           {bursts, graph.ByThread, profile.Options{Threads: true}, map[string]float64{"short": 0.5, "long": 0.5}},
		"threads":          {threads, graph.ByProcess, profile.Options{}, map[string]float64{"short": 0.5, "long": 0.25, "main": 0.25}},
		"threads by tid":   {threads, graph.ByNone, profile.Options{Threads: true}, map[string]float64{"short": 0.5, "long": 0.25, "main": 0.25}},
		"processes":        {processes, graph.ByComm, profile.Options{}, map[string]float64{"short": 0.5, "long": 0.25, "main": 0.25}},
		"processes by CPU": {processes, graph.ByCPU, profile.Options{CPUs: true, Threads: true}, map[string]float64{"short": 0.5, "long": 0.25, "main": 0.25}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			sums := make(map[string]float64)
			var standardError float64
			for range recordings {
				c.o.Spread = true
				p := collected(t, fromtext.Stream(t, sampledRuns(c.runs(random), random.Int64N(10_000_000))), c.o)
				times := onCPUByFunction(p, graph.View{By: c.by})
				var all int64
				for _, ns := range times {
					all += ns
				}
				if all != 800_000_000 {
					t.Fatalf("%d ns, want 800,000,000", all)
				}
				for function, ns := range times {
					sums[function] += float64(ns) / float64(all) / recordings
				}
				v := graph.View{By: c.by}
				q := v.Sampling(p)
				standardError += q.StandardError() / recordings
			}
			// That of the mean of all recordings.
			limit := 3.5 * standardError / math.Sqrt(recordings)
			for function, want := range c.want {
				if got := sums[function]; math.Abs(got-want) > limit {
					t.Errorf("%s has %.1f%% of the time, want %.1f%% ± %.1f", function, 100*got, 100*want, 100*limit)
				}
			}
			if got := sums["[not sampled]"]; got > 0.001 {
				t.Errorf("%.2f%% of the time is not sampled", 100*got)
			}
			if standardError < 0.04 || standardError > 0.08 { // 80 samples: 0.5/sqrt(80) = 0.056
				t.Errorf("the standard error is given as %.3f", standardError)
			}
		})
	}
}

// borrowers are a process with two threads of a name, one of which has no samples, and one of another name without samples, and
// another process with a thread of the same name without samples.
const borrowers = `
section host=box boot_id=b open=10000000000 close=+200000000
  cpu 0
  source 1 name=timer period=10000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=app process_comm=app ppid=1 start=5
task 3 tid=101 pid=100 comm=app process_comm=app ppid=1 start=6
task 4 tid=102 pid=100 comm=gc process_comm=app ppid=1 start=7
task 5 tid=200 pid=200 comm=app process_comm=app ppid=1 start=8
frame 1 offset=0x1100
  line function="work"
frame 2 offset=0x1200
  line function="rest"
stack 1 frames=1
stack 2 frames=2
+0 cpu0 state_cpu 2 prio=120 since=-50
+10000000 cpu0 sample 2 stack=1 source=1
+20000000 cpu0 sample 2 stack=1 source=1
+30000000 cpu0 sample 2 stack=2 source=1
+35000000 cpu0 switch 2 next=3 prev_state=S prev_prio=120 next_prio=120
+38000000 cpu0 switch 3 next=4 prev_state=S prev_prio=120 next_prio=120
+42000000 cpu0 switch 4 next=5 prev_state=S prev_prio=120 next_prio=120
+50000000 cpu0 switch 5 next=1 prev_state=S prev_prio=120 next_prio=120
end close=+200000000
`

// A thread without samples has the stacks of the others that the view does not tell apart from it.
func TestThreadsWithoutSamplesBorrow(t *testing.T) {
	for by, want := range map[graph.Root]string{
		graph.ByThread: `
			app-100/100;rest 11666667
			app-100/100;work 23333333
			app-100/101;[not sampled] 3000000
			app-200/200;[not sampled] 8000000
			gc-100/102;[not sampled] 4000000`,
		graph.ByProcess: `
			app-100;[not sampled] 4000000
			app-100;rest 12666667
			app-100;work 25333333
			app-200;[not sampled] 8000000`,
		graph.ByComm: `
			app;rest 15333334
			app;work 30666666
			gc;[not sampled] 4000000`,
		graph.ByNone: `
			[not sampled] 4000000
			rest 15333334
			work 30666666`,
	} {
		for _, threads := range []bool{false, true} {
			if by == graph.ByThread && !threads {
				continue
			}
			o := profile.Options{Spread: true, Threads: threads}
			compareLines(t, foldedText(t, borrowers, o, graph.View{Mode: graph.OnCPU, By: by}), want)
		}
	}
	p := collected(t, fromtext.Stream(t, borrowers), profile.Options{Spread: true})
	for by, want := range map[graph.Root]profile.Quality{
		graph.ByProcess: {OnCPU: 50e6, NotSampled: 12e6, Borrowed: 3e6, Samples: 3},
		graph.ByComm:    {OnCPU: 50e6, NotSampled: 4e6, Borrowed: 11e6, Samples: 3},
	} {
		v := graph.View{By: by}
		q := v.Sampling(p)
		if e := q.StandardError(); math.Abs(e-0.5/math.Sqrt(3)) > 1e-9 {
			t.Errorf("by %d: a standard error of %v", by, e)
		}
		if q.OnCPU != want.OnCPU || q.NotSampled != want.NotSampled || q.Borrowed != want.Borrowed || q.Samples != want.Samples {
			t.Errorf("by %d: %+v, want %+v", by, q, want)
		}
	}
	_, caption := graph.Caption(p, graph.View{})
	for _, part := range []string{
		"100 Hz timer, 3 samples", "6% of the time on CPU from samples of other threads of the same name", "24% of the time on CPU not sampled",
		"shares of the time on CPU ± 28.9 points (standard error)",
	} {
		if !strings.Contains(caption, graph.CaptionSep+part+graph.CaptionSep) {
			t.Errorf("%q is missing in %q", part, caption)
		}
	}
}

// Whatever a machine does and whatever is kept apart, all views of all ranges have the same time on the CPU of each root, and the same stacks
// whether or not threads were kept apart.
func TestAttributionAddsUp(t *testing.T) {
	for seed := range uint64(40) {
		o := simulate.Options{Seed: seed, CPUs: 1 + int(seed%4), Threads: 6, Losses: seed%3 == 0, Epochs: seed%2 == 0, SilentRenames: seed%5 == 0, Interrupts: seed%7 > 3}
		stream := simulate.Stream(t, o, 400)
		apart := collected(t, stream, profile.Options{Threads: true, CPUs: true, Slot: 7, MaxSlots: 50, Stretch: true, Spread: true})
		old := collected(t, stream, profile.Options{Threads: true, CPUs: true, Slot: apart.Slot, MaxSlots: 50, Stretch: true})
		merged := collected(t, stream, profile.Options{Spread: true})
		for by := graph.ByProcess; by <= graph.ByNone; by++ {
			for _, v := range []graph.View{{By: by}, {By: by, From: 3, To: 4}, {By: by, From: 10, To: apart.Slots}} {
				if got, want := graph.Of(apart, v).Total[0].On, graph.Of(old, v).Total[0].On; got != want {
					t.Fatalf("seed %d, by %d, slots %d to %d: %d ns on the CPU, want %d", seed, by, v.From, v.To, got, want)
				}
				if got, want := onCPU(apart, v), onCPU(old, v); by != graph.ByNone && !maps.Equal(got, want) {
					t.Fatalf("seed %d, by %d, slots %d to %d: %v, want %v", seed, by, v.From, v.To, got, want)
				}
			}
			v := graph.View{By: by, Mode: graph.OnCPU}
			if by == graph.ByThread || by == graph.ByCPU {
				continue
			}
			if got, want := onCPUByFunction(merged, v), onCPUByFunction(apart, v); !maps.Equal(got, want) {
				t.Fatalf("seed %d, by %d: %v of merged threads, want %v", seed, by, got, want)
			}
		}
	}
}

// Each moment of a trail has the stack of the nearest sample in the thread's time on the CPU, also across switches.
func TestTrailHasStacksOfTheNearestSamples(t *testing.T) {
	p := collected(t, fromtext.Stream(t, bursts), profile.Options{Trail: true, Spread: true})
	thread := p.Threads[len(p.Threads)-1]
	for _, one := range p.Threads {
		if one.TID == 100 {
			thread = one
		}
	}
	var got strings.Builder
	if err := thread.Trail.Each(func(piece *profile.Piece) error {
		if piece.Class == profile.ClassOnCPU {
			fmt.Fprintf(&got, "%d to %d %s\n", piece.From, piece.To, p.Frames[p.Nodes[piece.Stack].Frame].Functions[0].Name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	// The samples are after 400 and 605 µs on the CPU.
	compareLines(t, got.String(), `
		0 to 502500 app::work
		502500 to 600000 a;b
		700000 to 710000 a;b
		800000 to 830000 a;b`)
	none := collected(t, fromtext.Stream(t, strings.ReplaceAll(bursts, " sample 2 ", " sample 4 ")), profile.Options{Trail: true, Spread: true})
	for _, one := range none.Threads {
		if err := one.Trail.Each(func(piece *profile.Piece) error {
			if piece.Class == profile.ClassOnCPU && !none.IsNotSampled(piece.Stack) {
				t.Errorf("%+v has a stack", piece)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}
