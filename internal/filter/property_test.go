package filter

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wprof/format"
	"wprof/format/check"
	"wprof/internal/timeline/simulate"
)

// contents is what a stream has, without its layout.
type contents struct {
	sections []string
	events   []occurrence
	defs     []string
}

// occurrence is an event of a section; its data is here and not in the event, so that two can be compared with ==.
type occurrence struct {
	epoch     uint32
	time, own int64
	kind      format.Kind
	flags     format.Flags
	cpu       uint32
	task      format.TaskID
	args      [format.MaxArgs]uint64
	data      string
}

func contentsOf(t testing.TB, stream []byte) contents {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all contents
	r.OnSectionEnd(func(*format.End) {
		s := r.Session()
		all.sections = append(all.sections, fmt.Sprint(s.Epoch, s.Open, s.RangeStart, s.RangeEnd))
		for id := range format.TaskID(20000) {
			if d := r.Task(id); d != nil {
				all.defs = append(all.defs, fmt.Sprintf("section %d: task %v", s.Epoch, d))
			}
		}
		for id := range uint32(1000) {
			if d := r.Stack(format.StackID(id)); d != nil {
				all.defs = append(all.defs, fmt.Sprintf("section %d: stack %v", s.Epoch, d))
			}
			if d := r.Frame(id); d != nil {
				all.defs = append(all.defs, fmt.Sprintf("section %d: frame %v", s.Epoch, d))
			}
			if d := r.Module(id); d != nil {
				all.defs = append(all.defs, fmt.Sprintf("section %d: module %v", s.Epoch, d))
			}
			if d := r.Command(id); d != nil {
				all.defs = append(all.defs, fmt.Sprintf("section %d: command %v", s.Epoch, d))
			}
		}
	})
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all.events = append(all.events, occurrence{r.Session().Epoch, e.Time, e.Own, e.Kind, e.Flags, e.CPU, e.Task, e.Args, string(e.Data)})
	}
	if d := r.Damage(); d != nil {
		t.Fatalf("the filter wrote a damaged stream: %+v", d)
	}
	return all
}

// difference names the first thing in which two streams differ.
func difference(a, b contents) string {
	return cmp.Or(firstDifference("sections", a.sections, b.sections), firstDifference("events", a.events, b.events),
		firstDifference("definitions", a.defs, b.defs))
}

func firstDifference[T comparable](what string, a, b []T) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%s, number %d:\n  %+v\n  %+v", what, i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d %s", len(a), len(b), what)
	}
	return ""
}

func filtered(t testing.TB, stream []byte, isPipe bool, o Options) []byte {
	t.Helper()
	var out bytes.Buffer
	var in io.Reader = bytes.NewReader(stream)
	if isPipe {
		in = io.MultiReader(in)
	}
	f, err := New(in, &out, isPipe, o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := f.Run()
	if err != nil {
		t.Fatal(err)
	}
	if result.Kept > 0 && result.Missed != MissNone {
		t.Errorf("%d events were kept of a range that misses the window", result.Kept)
	}
	return out.Bytes()
}

// condition is one flag; with joins the flags of several into one tool.
type condition struct {
	name string
	set  func(*Options)
}

func conditions(rng *rand.Rand) []condition {
	ids := func() []int32 {
		var some []int32
		for range 1 + rng.IntN(20) {
			some = append(some, int32(11+rng.IntN(60)))
		}
		return some
	}
	globs := func() []string {
		all := []string{"foo", "ba?", "f*", "worker", "food", "*"}
		return all[rng.IntN(5):][:1]
	}
	kinds := func() []string {
		names, schema := KindNames()
		names = append(names, schema...)
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return names[:1+rng.IntN(4)]
	}
	at := func() Bound { return Bound{set: true, offset: time.Duration(rng.IntN(2_200_000))} }
	p, nop, tid, notid, n, non, th, noth := ids(), ids(), ids(), ids(), globs(), globs(), globs(), globs()
	k, nok, cpus := kinds(), kinds(), fmt.Sprintf("%d,%d", rng.IntN(3), rng.IntN(3))
	start, end := at(), at()
	if start.offset > end.offset {
		start, end = end, start
	}
	end.offset++
	idle, kthread := rng.IntN(2) == 0, rng.IntN(2) == 0
	all := []condition{
		{fmt.Sprint("-p ", p, " idle ", idle, " kthread ", kthread), func(o *Options) { o.Threads.PIDs, o.Threads.Idle, o.Threads.Kthread = p, idle, kthread }},
		{fmt.Sprint("-P ", nop), func(o *Options) { o.Threads.NoPIDs = nop }},
		{fmt.Sprint("--tid ", tid), func(o *Options) { o.Threads.TIDs = tid }},
		{fmt.Sprint("--no-tid ", notid), func(o *Options) { o.Threads.NoTIDs = notid }},
		{fmt.Sprint("-n ", n), func(o *Options) { o.Threads.Names = n }},
		{fmt.Sprint("-N ", non), func(o *Options) { o.Threads.NoNames = non }},
		{fmt.Sprint("--thread-name ", th), func(o *Options) { o.Threads.ThreadNames = th }},
		{fmt.Sprint("--no-thread-name ", noth), func(o *Options) { o.Threads.NoThreadNames = noth }},
		{"--cgroup /slice0", func(o *Options) { o.Threads.Cgroups = []string{"/slice0"} }},
		{"--no-cgroup */unit4", func(o *Options) { o.Threads.NoCgroups = []string{"*/unit4"} }},
		{"--container unit?", func(o *Options) { o.Threads.Containers = []string{"*/unit?"} }},
		{"--no-container unit1", func(o *Options) { o.Threads.NoContainers = []string{"*/unit1"} }},
		{"--no-idle", func(o *Options) { o.Threads.NoIdle = true }},
		{"--no-kthread", func(o *Options) { o.Threads.NoKthread = true }},
		{"--cpu " + cpus, func(o *Options) { o.CPUs, _ = ParseCPUs([]string{cpus}) }},
		{fmt.Sprint("-k ", k), func(o *Options) { o.Kinds = join(o.Kinds, MakeKindSet(k, nil)) }},
		{fmt.Sprint("-K ", nok), func(o *Options) { o.Kinds = join(o.Kinds, MakeKindSet(nil, nok)) }},
		{fmt.Sprint("--start ", start.offset), func(o *Options) { o.Start = start }},
		{fmt.Sprint("--end ", end.offset), func(o *Options) { o.End = end }},
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:2+rng.IntN(2)]
}

func join(a, b KindSet) KindSet {
	for i := range a.dropped {
		a.dropped[i] = a.dropped[i] || b.dropped[i]
	}
	return a
}

// checkFindings checks a filter's output as wprof-info --check does. Contradictions and losses of the
// simulated machine cause no findings.
func checkFindings(t testing.TB, seed uint64, stream []byte) {
	t.Helper()
	_, err := check.Stream(bytes.NewReader(stream), func(found check.Finding) {
		t.Errorf("seed %d: check of the output: at byte %d: %s", seed, found.Offset, found.Text)
	})
	if err != nil {
		t.Errorf("seed %d: check of the output: %v", seed, err)
	}
}

// rounds is the number of random captures. After a change of the rules for threads, run some thousands by hand.
const rounds = 150

func TestFiltersOfDifferentKindsAgreeInOneToolInAChainAndInAnyOrder(t *testing.T) {
	kept := 0
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 3))
		stream := simulate.Stream(t, simulate.Options{
			Seed: seed / 3, CPUs: 3, Threads: 14, Losses: seed%2 == 0, Epochs: seed%3 == 0, SilentRenames: seed%4 == 0,
		}, 2000)
		list := conditions(rng)
		var one Options
		for _, c := range list {
			c.set(&one)
		}
		out := filtered(t, stream, true, one)
		checkFindings(t, seed, out)
		want := contentsOf(t, out)
		kept += len(want.events)
		if d := difference(want, contentsOf(t, filtered(t, stream, false, one))); d != "" {
			t.Errorf("seed %d, %v: from a pipe and from a file: %s", seed, names(list), d)
		}
		for order := range permutations(len(list)) {
			out := stream
			var chain []condition
			for _, i := range order {
				var o Options
				list[i].set(&o)
				out = filtered(t, out, rng.IntN(2) == 0, o)
				chain = append(chain, list[i])
			}
			if d := difference(want, contentsOf(t, out)); d != "" {
				t.Fatalf("seed %d: in one tool, and as a chain of %v: %s", seed, names(chain), d)
			}
		}
	}
	if kept < 20000 {
		t.Errorf("only %d events were kept in all: the test covers too little", kept)
	}
}

func names(list []condition) []string {
	var all []string
	for _, c := range list {
		all = append(all, c.name)
	}
	return all
}

func permutations(n int) func(func([]int) bool) {
	return func(yield func([]int) bool) {
		var grow func(order []int) bool
		grow = func(order []int) bool {
			if len(order) == n {
				return yield(order)
			}
			for i := range n {
				if !slices.Contains(order, i) && !grow(append(slices.Clone(order), i)) {
					return false
				}
			}
			return true
		}
		grow(nil)
	}
}
