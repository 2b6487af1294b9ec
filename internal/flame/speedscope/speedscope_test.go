package speedscope

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// speedscopeFile is speedscope's file format.
type speedscopeFile struct {
	Schema             string `json:"$schema"`
	Name               string
	ActiveProfileIndex int
	Shared             struct {
		Frames []struct {
			Name, File string
			Line       int
		}
	}
	Profiles []speedscopeProfile
}

type speedscopeProfile struct {
	Type, Name, Unit     string
	StartValue, EndValue int64
	Samples              [][]int64
	Weights              []int64
	Events               []struct { // of the type evented, as speedscope saves it
		Type      string
		At, Frame int64
	}
}

func readSpeedscope(t testing.TB, text []byte) *speedscopeFile {
	t.Helper()
	f := new(speedscopeFile)
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(f); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return f
}

func speedscopeOf(t testing.TB, p *profile.Profile, v graph.View) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p, v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// interval is a time in one stack.
type interval struct {
	from, to int64
	stack    string
}

// intervals returns the times of a profile; time without a stack is left out.
func (f *speedscopeFile) intervals(t testing.TB, p speedscopeProfile) (all []interval) {
	t.Helper()
	if p.Type == "evented" {
		return f.replay(t, p)
	}
	at := p.StartValue
	for i, stack := range p.Samples {
		if p.Weights[i] <= 0 {
			t.Fatalf("%s: a weight of %d", p.Name, p.Weights[i])
		}
		if len(stack) > 0 {
			all = append(all, interval{at, at + p.Weights[i], f.names(stack)})
		}
		at += p.Weights[i]
	}
	if len(p.Samples) != len(p.Weights) || at != p.EndValue {
		t.Fatalf("%s: %d stacks and %d weights end at %d, not at %d", p.Name, len(p.Samples), len(p.Weights), at, p.EndValue)
	}
	return all
}

// replay goes through events, which must be balanced and in order.
func (f *speedscopeFile) replay(t testing.TB, p speedscopeProfile) (all []interval) {
	t.Helper()
	var open []int64
	at := p.StartValue
	for _, e := range p.Events {
		if e.At < at || e.At > p.EndValue {
			t.Fatalf("%s: an event at %d after one at %d of %d", p.Name, e.At, at, p.EndValue)
		}
		if e.At > at && len(open) > 0 {
			all = append(all, interval{at, e.At, f.names(open)})
		}
		at = e.At
		if e.Type == "O" {
			open = append(open, e.Frame)
			continue
		}
		if len(open) == 0 || open[len(open)-1] != e.Frame {
			t.Fatalf("%s: %d leaves %v", p.Name, e.Frame, open)
		}
		open = open[:len(open)-1]
	}
	if len(open) > 0 {
		t.Fatalf("%s: %v is never left", p.Name, open)
	}
	return all
}

func (f *speedscopeFile) names(open []int64) string {
	var names []string
	for _, n := range open {
		names = append(names, f.Shared.Frames[n].Name)
	}
	return strings.Join(names, ";")
}

// withTrails are two threads that change between a few stacks at random.
func withTrails(seed uint64, count int) *flametest.Builder {
	b := flametest.New()
	r := rand.New(rand.NewPCG(seed, 1))
	stacks := []profile.NodeID{
		b.Calls("main", "work", "spin"), b.Calls("main", "work"), b.Calls("main", "work", "work", "k_futex"), b.Calls("main"), 0,
		b.Calls("other", "k_read"),
	}
	for tid := range int32(2) {
		t := b.Thread(10, 10+tid, []string{"first", "second"}[tid])
		var all []profile.Piece
		at := int64(tid) * 1000
		for range count {
			p := profile.Piece{From: at, To: at + 1 + r.Int64N(1e6), Class: profile.Class(r.IntN(int(profile.ClassIdle + 1))), Stack: stacks[r.IntN(len(stacks))]}
			if p.Class == profile.ClassBlocked {
				p.State = format.StateInterruptible
			}
			if at = p.To; r.IntN(50) == 0 {
				at += 1e9 // until the next recording
			}
			all = append(all, p)
			t.Lifetime += p.To - p.From
			t.Cells = append(t.Cells, profile.Cell{CellKey: profile.CellKey{Class: p.Class, State: p.State, CPU: profile.NoCPU, Label: t.Label, Stack: p.Stack}, Ns: p.To - p.From})
		}
		t.Trail = flametest.TrailOf(t, all...)
	}
	return b
}

// wantIntervals computes the intervals of a trail in a plain way.
func wantIntervals(t *testing.T, p *profile.Profile, of *profile.Thread, shows func(profile.Class) bool) (all []interval) {
	for _, piece := range flametest.AllPieces(t, of.Trail) {
		if !shows(piece.Class) {
			continue
		}
		names := flametest.CellNames(p, &profile.Cell{CellKey: profile.CellKey{Class: profile.ClassOnCPU, Stack: piece.Stack}})
		slices.Reverse(names)
		if note := map[profile.Class]string{
			profile.ClassUnknown: "[unknown]", profile.ClassNew: "[new]", profile.ClassRunnable: "[runnable]", profile.ClassPreempted: "[preempted]",
			profile.ClassThrottled: "[throttled]",
			profile.ClassBlocked:   "[unknown (interruptible)]", profile.ClassIdle: "[idle]",
		}[piece.Class]; note != "" {
			names = append(names, note)
		}
		stack := strings.Join(names, ";")
		if n := len(all); n > 0 && all[n-1].to == piece.From && all[n-1].stack == stack {
			all[n-1].to = piece.To
			continue
		}
		if stack != "" {
			all = append(all, interval{piece.From, piece.To, stack})
		}
	}
	return all
}

func TestSpeedscopeHasEachPieceAtItsTime(t *testing.T) {
	for name, c := range map[string]struct {
		view  graph.View
		shows func(profile.Class) bool
	}{
		"all":      {graph.View{}, func(profile.Class) bool { return true }},
		"on CPU":   {graph.View{Mode: graph.OnCPU}, func(c profile.Class) bool { return c == profile.ClassOnCPU }},
		"off CPU":  {graph.View{Mode: graph.OffCPU}, func(c profile.Class) bool { return c != profile.ClassOnCPU && c != profile.ClassUnknown }},
		"not idle": {graph.View{NoIdleWaits: true}, func(c profile.Class) bool { return c != profile.ClassIdle }},
	} {
		b := withTrails(7, 2000)
		f := readSpeedscope(t, speedscopeOf(t, b.Profile, c.view))
		if len(f.Profiles) != 2 {
			t.Fatalf("%s: %d profiles", name, len(f.Profiles))
		}
		for _, got := range f.Profiles {
			thread := b.Threads[0]
			if got.Name == "second 10/11" {
				thread = b.Threads[1]
			} else if got.Name != "first 10/10" {
				t.Fatalf("%s: a thread %q", name, got.Name)
			}
			all := flametest.AllPieces(t, thread.Trail)
			if got.StartValue != all[0].From || got.EndValue != all[len(all)-1].To || got.Unit != "nanoseconds" {
				t.Errorf("%s: %s is from %d to %d %s", name, got.Name, got.StartValue, got.EndValue, got.Unit)
			}
			if want := wantIntervals(t, b.Profile, thread, c.shows); !reflect.DeepEqual(f.intervals(t, got), want) {
				t.Errorf("%s: %s differs from its %d pieces", name, got.Name, len(want))
			}
		}
	}
}

func TestSpeedscopeThreads(t *testing.T) {
	b := flametest.Box()
	lazy, busy := b.Threads[1], b.Threads[0]
	lazy.Trail = flametest.TrailOf(lazy, profile.Piece{From: 0, To: 10, Class: profile.ClassIdle, Stack: b.Calls("serve")})
	lazy.Cells = []profile.Cell{flametest.Cell(profile.ClassIdle, 0, b.Calls("serve"), 10, 1)}
	busy.Trail = flametest.TrailOf(busy, profile.Piece{From: 0, To: 10, Class: profile.ClassOnCPU, Stack: b.Calls("main")})
	b.Thread(10, 12, "gone", flametest.Cell(profile.ClassOnCPU, 0, 0, 1, 1)).Trail = flametest.Pieces{}
	b.Thread(10, 13, "untold")
	names := func(v graph.View) (all []string) {
		for _, p := range readSpeedscope(t, speedscopeOf(t, b.Profile, v)).Profiles {
			all = append(all, p.Name)
		}
		return all
	}
	if got := names(graph.View{}); !reflect.DeepEqual(got, []string{"box 10/10", "server 10/11"}) {
		t.Errorf("threads by time on the CPU: %q", got)
	}
	if got := names(graph.View{Only: func(t *profile.Thread) bool { return t != busy }}); !reflect.DeepEqual(got, []string{"server 10/11"}) {
		t.Errorf("one thread: %q", got)
	}
	if got := names(graph.View{Mode: graph.OnCPU}); !reflect.DeepEqual(got, []string{"box 10/10"}) {
		t.Errorf("those that ran: %q", got)
	}
}

// Speedscope adds up by frame: places in one function are one, and functions of one name in two files are two. With
// lines, each line is one.
func TestSpeedscopeFramesAreFunctions(t *testing.T) {
	b := flametest.New()
	at := func(line uint32, file, module string) profile.FrameID {
		return b.Frame(profile.Frame{Functions: []profile.Function{{Name: "f", File: file, Line: line}}, Module: module, Offset: uint64(line)})
	}
	thread := b.Thread(1, 1, "a", flametest.Cell(profile.ClassOnCPU, 0, 0, 2, 1))
	thread.Trail = flametest.TrailOf(thread,
		profile.Piece{From: 0, To: 1, Class: profile.ClassOnCPU, Stack: b.Stack(at(3, "a.c", "/a"), at(4, "b.c", "/a"))},
		profile.Piece{From: 1, To: 2, Class: profile.ClassOnCPU, Stack: b.Stack(at(5, "a.c", "/a"), at(0, "", "/lib/c.so"))})
	for _, c := range []struct {
		view graph.View
		want map[string]int
	}{
		{graph.View{}, map[string]int{"f a.c": 0, "f b.c": 4, "f /lib/c.so": 0}},
		{graph.View{Lines: true}, map[string]int{"f (a.c:3) a.c": 3, "f (a.c:5) a.c": 5, "f (b.c:4) b.c": 4, "f /lib/c.so": 0}},
	} {
		f := readSpeedscope(t, speedscopeOf(t, b.Profile, c.view))
		got := make(map[string]int)
		for _, frame := range f.Shared.Frames {
			got[frame.Name+" "+frame.File] = frame.Line
		}
		if !reflect.DeepEqual(got, c.want) || len(f.Shared.Frames) != len(c.want) {
			t.Errorf("lines %v: frames and their only line: %v, want %v", c.view.Lines, got, c.want)
		}
	}
}

// endless is a trail that is made while it is read.
type endless int

func (n endless) Each(visit func(*profile.Piece) error) error {
	for i := range int64(n) {
		if err := visit(&profile.Piece{From: i, To: i + 1, Class: profile.ClassOnCPU, Stack: profile.NodeID(1 + i%3)}); err != nil {
			return err
		}
	}
	return nil
}

func TestSpeedscopeMemoryDoesNotGrowWithPieces(t *testing.T) {
	b := flametest.New()
	b.Calls("main", "work", "spin")
	b.Thread(1, 1, "a", flametest.Cell(profile.ClassOnCPU, 0, 0, 2, 1)).Trail = endless(1_000_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := Write(io.Discard, b.Profile, graph.View{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 110 { // of which the pieces themselves, made here twice, are 96
		t.Errorf("%d MiB were allocated", used)
	}
}

// A full disk stops it at once, not after all pieces.
func TestSpeedscopeStopsAtAWriteError(t *testing.T) {
	b := flametest.New()
	b.Calls("main", "work", "spin")
	b.Thread(1, 1, "a", flametest.Cell(profile.ClassOnCPU, 0, 0, 2, 1)).Trail = endless(1 << 62)
	r, w := io.Pipe()
	r.Close()
	if err := Write(w, b.Profile, graph.View{}); err != io.ErrClosedPipe {
		t.Errorf("got %v", err)
	}
}

func TestSpeedscopeOfNothing(t *testing.T) {
	if f := readSpeedscope(t, speedscopeOf(t, flametest.New().Profile, graph.View{})); len(f.Profiles) != 0 || f.Schema == "" {
		t.Errorf("%+v", f)
	}
}

func FuzzSpeedscopeNames(f *testing.F) {
	flametest.OddNames(f.Add)
	f.Fuzz(func(t *testing.T, name string) {
		file := readSpeedscope(t, speedscopeOf(t, flametest.Named(name).Profile, graph.View{}))
		want := strings.ToValidUTF8(name, "\uFFFD")
		if got := strings.ToValidUTF8(file.Shared.Frames[0].Name, ""); strings.ReplaceAll(got, "\uFFFD", "") != strings.ReplaceAll(want, "\uFFFD", "") {
			t.Errorf("a function %q, want %q", got, want)
		}
		if p := file.Profiles[0]; !strings.HasSuffix(p.Name, " 1/2") || p.StartValue != 5 || p.EndValue != 105 {
			t.Errorf("%q from %d to %d", p.Name, p.StartValue, p.EndValue)
		}
		file.intervals(t, file.Profiles[0])
	})
}
