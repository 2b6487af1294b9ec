package pprof

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gprofile "github.com/google/pprof/profile"

	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

func parsePprof(t testing.TB, p *profile.Profile, v graph.View) *gprofile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p, v); err != nil {
		t.Fatal(err)
	}
	file, err := gprofile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// stackText is a sample's stack, the outermost function first.
func stackText(s *gprofile.Sample) string {
	var names []string
	for _, l := range slices.Backward(s.Location) {
		for _, line := range slices.Backward(l.Line) {
			names = append(names, line.Function.Name)
		}
	}
	return strings.Join(names, ";")
}

// sums adds up the values of samples by a text derived from each.
func sums(file *gprofile.Profile, by func(*gprofile.Sample) string) map[string][pprofValues]int64 {
	all := make(map[string][pprofValues]int64)
	for _, s := range file.Sample {
		sum := all[by(s)]
		for i, v := range s.Value {
			sum[i] += v
		}
		all[by(s)] = sum
	}
	return all
}

func label(key string) func(*gprofile.Sample) string {
	return func(s *gprofile.Sample) string {
		if numbers := s.NumLabel[key]; len(numbers) > 0 {
			return strconv.FormatInt(numbers[0], 10)
		}
		return strings.Join(s.Label[key], " ")
	}
}

func TestPprofTimesAddUpToLifetimes(t *testing.T) {
	b := flametest.Box()
	threads := sums(parsePprof(t, b.Profile, graph.View{}), label("tid"))
	if len(threads) != len(b.Threads) {
		t.Errorf("%d threads, want %d", len(threads), len(b.Threads))
	}
	for _, thread := range b.Threads {
		got := threads[strconv.Itoa(int(thread.TID))]
		parts := got[pprofOnCPU] + got[pprofOffCPU] + got[pprofDelay] + got[pprofUnknown]
		if got[pprofWall] != thread.Lifetime || parts != thread.Lifetime {
			t.Errorf("thread %d: wall %d, parts %d, want its lifetime %d", thread.TID, got[pprofWall], parts, thread.Lifetime)
		}
	}
	want := [pprofValues]int64{30, 301e6, 10, 500e6, 99e6, 100e6, 1000e6}
	if got := threads["10"]; got != want {
		t.Errorf("thread 10: %v, want %v", got, want)
	}
}

func TestPprofStacksAndLabels(t *testing.T) {
	file := parsePprof(t, flametest.Box().Profile, graph.View{})
	stacks := sums(file, stackText)
	for stack, ns := range map[string][pprofValues]int64{
		"main;work;spin":                         {pprofSamples: 30, pprofOnCPU: 300e6, pprofDelay: 90e6, pprofWall: 390e6},
		"main;work;lock;k_futex;k_schedule":      {pprofWaits: 7, pprofOffCPU: 400e6, pprofDelay: 9e6, pprofWall: 409e6},
		"main;[not sampled]":                     {pprofOnCPU: 1e6, pprofWall: 1e6},
		"start_thread;serve;k_epoll_wait;[idle]": {pprofWaits: 12, pprofOffCPU: 900e6, pprofWall: 900e6},
		"start_thread;serve;k_epoll_wait":        {pprofDelay: 1e6, pprofWall: 1e6},
		"[unknown]":                              {pprofUnknown: 100e6, pprofWall: 100e6},
		"[new]":                                  {pprofWaits: 1, pprofOffCPU: 49e6, pprofWall: 49e6},
	} {
		if stacks[stack] != ns {
			t.Errorf("%s: %v, want %v", stack, stacks[stack], ns)
		}
	}
	states := sums(file, label("state"))
	for state, wall := range map[string]int64{
		"": 351e6, "unknown (interruptible)": 400e6, "unknown (uninterruptible)": 100e6, "runnable": 10e6, "preempted": 90e6, "idle": 900e6, "unknown": 100e6, "new": 49e6,
	} {
		if states[state][pprofWall] != wall {
			t.Errorf("state %q: %d, want %d", state, states[state][pprofWall], wall)
		}
	}
	if got := sums(file, label("cpu"))["0"][pprofOnCPU]; got != 50e6 {
		t.Errorf("on CPU 0: %d", got)
	}
	if got := sums(file, label("comm"))["server"][pprofWall]; got != 1000e6 {
		t.Errorf("the server's wall: %d", got)
	}
}

func TestPprofFollowsTheView(t *testing.T) {
	for _, c := range []struct {
		name string
		view graph.View
		sort string
		want [pprofValues]int64
	}{
		{"on", graph.View{Mode: graph.OnCPU}, "on_cpu", [pprofValues]int64{35, 351e6, 0, 0, 0, 0, 351e6}},
		{"off", graph.View{Mode: graph.OffCPU}, "off_cpu", [pprofValues]int64{0, 0, 23, 1449e6, 100e6, 0, 1549e6}},
		{"no idle waits", graph.View{NoIdleWaits: true}, "on_cpu", [pprofValues]int64{35, 351e6, 11, 549e6, 100e6, 100e6, 1100e6}},
		{"one thread", graph.View{Only: func(t *profile.Thread) bool { return t.TID == 11 }}, "on_cpu", [pprofValues]int64{5, 50e6, 13, 949e6, 1e6, 0, 1000e6}},
	} {
		file := parsePprof(t, flametest.Box().Profile, c.view)
		got := sums(file, func(*gprofile.Sample) string { return "" })[""]
		if got != c.want || file.DefaultSampleType != c.sort {
			t.Errorf("%s: %v by %s, want %v by %s", c.name, got, file.DefaultSampleType, c.want, c.sort)
		}
	}
	states := sums(parsePprof(t, flametest.Box().Profile, graph.View{States: true}), stackText)
	for _, stack := range []string{"main;work;lock;k_futex;k_schedule;[unknown (interruptible)]", "main;save;k_fsync;[unknown (uninterruptible)]", "main;work;spin;[preempted]"} {
		if states[stack][pprofWall] == 0 {
			t.Errorf("no %s in %v", stack, states)
		}
	}
}

// pprof finds code in files by address - Start + Offset, and by the file's name and build-id.
func TestPprofAddressesLeadToTheCode(t *testing.T) {
	b := flametest.New()
	frames := []profile.Frame{
		{Module: "/bin/a", BuildID: "aa", Offset: 0x1234},
		{Module: "/bin/a", BuildID: "aa", Offset: 0x7fffff},
		{Module: "/bin/a", BuildID: "bb", Offset: 0x1234}, // another version
		{Module: "/lib/b.so", Offset: 0},
		{Module: "/tmp/perf-1.map", Offset: 0x7f1234567890},
		{Module: "[kernel]", BuildID: "ee", Kernel: true, Offset: 0x2b0},
		{Module: "[nf_tables]", Kernel: true, Offset: 0x10},
		{Module: "[xfs]", Kernel: true, Offset: 0x20},
		{Module: "[kernel]", Kernel: true, Offset: 0x2b0}, // one whose build-id is not known
		{Offset: 0xdeadbeef},
		{Module: "//anon", Offset: 0},
		{Module: "//anon", Offset: ^uint64(0)},
	}
	var cells []profile.Cell
	for i, f := range frames {
		f.Functions = []profile.Function{{Name: "f" + strconv.Itoa(i)}}
		cells = append(cells, flametest.Cell(profile.ClassOnCPU, 0, b.Stack(b.Frame(f)), 1, 1))
	}
	b.Thread(1, 1, "a", cells...)
	file := parsePprof(t, b.Profile, graph.View{})
	seen := 0
	for _, l := range file.Location {
		i, _ := strconv.Atoi(l.Line[0].Function.Name[1:])
		f, m := frames[i], l.Mapping
		seen++
		if f.Module == "" || f.Module == "//anon" {
			if l.Address != 0 {
				t.Errorf("%+v: its address is made up: %#x", f, l.Address)
			}
			continue
		}
		name := f.Module
		if name == "[kernel]" {
			name = "[kernel.kallsyms]"
		}
		if m.File != name || m.BuildID != f.BuildID || !m.HasFunctions || m.HasFilenames || l.Address-m.Start+m.Offset != f.Offset ||
			l.Address < m.Start || l.Address >= m.Limit {
			t.Errorf("%+v: at %#x of %+v", f, l.Address, m)
		}
		if f.Kernel != (l.Address >= 1<<63) {
			t.Errorf("%+v is at %#x", f, l.Address)
		}
	}
	if seen != len(frames) {
		t.Errorf("%d places, want %d", seen, len(frames))
	}
	slices.SortFunc(file.Mapping, func(a, b *gprofile.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	for i, m := range file.Mapping[1:] {
		if before := file.Mapping[i]; before.Limit != 0 && m.Start <= before.Limit {
			t.Errorf("%+v and %+v touch", before, m)
		}
	}
}

func TestPprofHasInlinedFunctions(t *testing.T) {
	b := flametest.New()
	f := b.Frame(profile.Frame{Functions: []profile.Function{
		{Name: "outer", File: "o.c", Line: 3}, {Name: "ns::inner", Linkage: "_ZN2ns5innerEv", File: "i.h", Line: 7},
	}, Module: "/bin/a", Offset: 16})
	b.Thread(1, 1, "a", flametest.Cell(profile.ClassOnCPU, 0, b.Stack(f), 5, 1))
	file := parsePprof(t, b.Profile, graph.View{})
	lines := file.Location[0].Line
	if len(lines) != 2 || !file.Mapping[0].HasInlineFrames || !file.Mapping[0].HasFilenames || !file.Mapping[0].HasLineNumbers {
		t.Fatalf("%v", file)
	}
	inner, outer := lines[0].Function, lines[1].Function
	if inner.Name != "ns::inner" || inner.SystemName != "_ZN2ns5innerEv" || inner.Filename != "i.h" || lines[0].Line != 7 {
		t.Errorf("the innermost is %+v", inner)
	}
	if outer.Name != "outer" || outer.SystemName != "outer" || outer.Filename != "o.c" || lines[1].Line != 3 {
		t.Errorf("the outermost is %+v", outer)
	}
}

func TestPprofDescribesTheRecording(t *testing.T) {
	b := flametest.Box()
	b.About.IsLossy, b.About.Lost = true, 17
	file := parsePprof(t, b.Profile, graph.View{})
	if file.TimeNanos != 1e18 || file.DurationNanos != 1e9 || file.Period != 1e7 || *file.PeriodType != (gprofile.ValueType{Type: "on_cpu", Unit: "nanoseconds"}) {
		t.Errorf("time %d, duration %d, period %d %+v", file.TimeNanos, file.DurationNanos, file.Period, file.PeriodType)
	}
	if comments := strings.Join(file.Comments, "\n"); !strings.Contains(comments, "host box") || !strings.Contains(comments, "17") {
		t.Errorf("comments: %s", comments)
	}
}

// pprof shows the first mapping's name as that of the program.
func TestPprofNamesTheProgram(t *testing.T) {
	b := flametest.New()
	in := func(module string) profile.FrameID {
		return b.Frame(profile.Frame{Functions: []profile.Function{{Name: "f"}}, Module: module, Offset: 16, Kernel: module == "[kernel]"})
	}
	libc, kernel := in("/lib/libc.so.6"), in("[kernel]")
	b.Thread(1, 1, "a", flametest.Cell(profile.ClassOnCPU, 0, b.Stack(libc, in("/bin/small")), 5, 1), flametest.Cell(profile.ClassOnCPU, 0, b.Stack(libc, in("/bin/large"), kernel), 6, 1))
	if file := parsePprof(t, b.Profile, graph.View{}); file.Mapping[0].File != "/bin/large" || len(file.Mapping) != 4 {
		t.Errorf("the first mapping is %v", file.Mapping[0])
	}
}

// An empty profile is valid.
func TestPprofOfNothing(t *testing.T) {
	file := parsePprof(t, flametest.New().Profile, graph.View{})
	if len(file.Sample) != 0 || len(file.SampleType) != int(pprofValues) {
		t.Errorf("%v", file)
	}
}

func TestPprofIsTheSameEachTime(t *testing.T) {
	var one, other bytes.Buffer
	p := flametest.Box().Profile
	for range 10 {
		one.Reset()
		if err := Write(&one, p, graph.View{States: true}); err != nil {
			t.Fatal(err)
		}
		if other.Len() > 0 && !bytes.Equal(one.Bytes(), other.Bytes()) {
			t.Fatal("two files of one profile differ")
		}
		one, other = other, one
	}
}
