package flame

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

func speedscopeOf(t testing.TB, p *Profile, v View) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteSpeedscope(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// interval is a time in one stack.
type interval struct {
	from, to int64
	stack    string
}

// intervals are the times of a profile; time of no stack is left out.
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
func withTrails(seed uint64, count int) *builder {
	b := newBuilder()
	r := rand.New(rand.NewPCG(seed, 1))
	stacks := []NodeID{
		b.calls("main", "work", "spin"), b.calls("main", "work"), b.calls("main", "work", "work", "k_futex"), b.calls("main"), 0,
		b.calls("other", "k_read"),
	}
	for tid := range int32(2) {
		t := b.thread(10, 10+tid, []string{"first", "second"}[tid])
		var all []Piece
		at := int64(tid) * 1000
		for range count {
			p := Piece{From: at, To: at + 1 + r.Int64N(1e6), Class: Class(r.IntN(int(classes))), Stack: stacks[r.IntN(len(stacks))]}
			if p.Class == ClassBlocked {
				p.State = format.StateInterruptible
			}
			if at = p.To; r.IntN(50) == 0 {
				at += 1e9 // until the next recording
			}
			all = append(all, p)
			t.Lifetime += p.To - p.From
			t.Cells = append(t.Cells, Cell{CellKey: CellKey{Class: p.Class, State: p.State, CPU: NoCPU, Label: t.Label, Stack: p.Stack}, Ns: p.To - p.From})
		}
		t.Trail = trailOf(t, all...)
	}
	return b
}

// wantIntervals are a trail's, by the plainest way.
func wantIntervals(t *testing.T, p *Profile, of *Thread, tells func(Class) bool) (all []interval) {
	for _, piece := range piecesOf(t, of.Trail) {
		if !tells(piece.Class) {
			continue
		}
		names := cellNames(p, &Cell{CellKey: CellKey{Class: ClassOnCPU, Stack: piece.Stack}})
		slices.Reverse(names)
		if note := map[Class]string{
			ClassUnknown: "[unknown]", ClassNew: "[new]", ClassRunnable: "[runnable]", ClassPreempted: "[preempted]",
			ClassBlocked: "[sleep]", ClassIdle: "[idle]",
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
		view  View
		tells func(Class) bool
	}{
		"all":      {View{}, func(Class) bool { return true }},
		"on CPU":   {View{Mode: OnCPU}, func(c Class) bool { return c == ClassOnCPU }},
		"off CPU":  {View{Mode: OffCPU}, func(c Class) bool { return c != ClassOnCPU && c != ClassUnknown }},
		"not idle": {View{NoIdleWaits: true}, func(c Class) bool { return c != ClassIdle }},
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
			all := piecesOf(t, thread.Trail)
			if got.StartValue != all[0].From || got.EndValue != all[len(all)-1].To || got.Unit != "nanoseconds" {
				t.Errorf("%s: %s is from %d to %d %s", name, got.Name, got.StartValue, got.EndValue, got.Unit)
			}
			if want := wantIntervals(t, b.Profile, thread, c.tells); !reflect.DeepEqual(f.intervals(t, got), want) {
				t.Errorf("%s: %s differs from its %d pieces", name, got.Name, len(want))
			}
		}
	}
}

func TestSpeedscopeThreads(t *testing.T) {
	b := box()
	lazy, busy := b.Threads[1], b.Threads[0]
	lazy.Trail = trailOf(lazy, Piece{From: 0, To: 10, Class: ClassIdle, Stack: b.calls("serve")})
	lazy.Cells = []Cell{cell(ClassIdle, 0, b.calls("serve"), 10, 1)}
	busy.Trail = trailOf(busy, Piece{From: 0, To: 10, Class: ClassOnCPU, Stack: b.calls("main")})
	b.thread(10, 12, "gone", cell(ClassOnCPU, 0, 0, 1, 1)).Trail = pieces{}
	b.thread(10, 13, "untold")
	names := func(v View) (all []string) {
		for _, p := range readSpeedscope(t, speedscopeOf(t, b.Profile, v)).Profiles {
			all = append(all, p.Name)
		}
		return all
	}
	if got := names(View{}); !reflect.DeepEqual(got, []string{"box 10/10", "server 10/11"}) {
		t.Errorf("threads by time on the CPU: %q", got)
	}
	if got := names(View{Only: func(t *Thread) bool { return t != busy }}); !reflect.DeepEqual(got, []string{"server 10/11"}) {
		t.Errorf("one thread: %q", got)
	}
	if got := names(View{Mode: OnCPU}); !reflect.DeepEqual(got, []string{"box 10/10"}) {
		t.Errorf("those that ran: %q", got)
	}
}

// Speedscope adds up by frame: places in one function are one, and functions of one name in two files are two.
func TestSpeedscopeFramesAreFunctions(t *testing.T) {
	b := newBuilder()
	at := func(line uint32, file, module string) FrameID {
		return b.frame(Frame{Functions: []Function{{Name: "f", File: file, Line: line}}, Module: module, Offset: uint64(line)})
	}
	thread := b.thread(1, 1, "a", cell(ClassOnCPU, 0, 0, 2, 1))
	thread.Trail = trailOf(thread,
		Piece{From: 0, To: 1, Class: ClassOnCPU, Stack: b.stack(at(3, "a.c", "/a"), at(4, "b.c", "/a"))},
		Piece{From: 1, To: 2, Class: ClassOnCPU, Stack: b.stack(at(5, "a.c", "/a"), at(0, "", "/lib/c.so"))})
	f := readSpeedscope(t, speedscopeOf(t, b.Profile, View{}))
	got := make(map[string]int)
	for _, frame := range f.Shared.Frames {
		got[frame.Name+" "+frame.File] = frame.Line
	}
	if want := map[string]int{"f a.c": 0, "f b.c": 4, "f /lib/c.so": 0}; !reflect.DeepEqual(got, want) || len(f.Shared.Frames) != 3 {
		t.Errorf("frames and their only line: %v, want %v", got, want)
	}
}

// endless is a trail that is made while it is read.
type endless int

func (n endless) Each(visit func(*Piece) error) error {
	for i := range int64(n) {
		if err := visit(&Piece{From: i, To: i + 1, Class: ClassOnCPU, Stack: NodeID(1 + i%3)}); err != nil {
			return err
		}
	}
	return nil
}

func TestSpeedscopeTakesNoMemoryForPieces(t *testing.T) {
	b := newBuilder()
	b.calls("main", "work", "spin")
	b.thread(1, 1, "a", cell(ClassOnCPU, 0, 0, 2, 1)).Trail = endless(1_000_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := b.WriteSpeedscope(io.Discard, View{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 110 { // of which the pieces themselves, made here twice, are 96
		t.Errorf("%d MiB were allocated", used)
	}
}

// A full disk ends it at once, not after all pieces.
func TestSpeedscopeEndsWithItsOutput(t *testing.T) {
	b := newBuilder()
	b.calls("main", "work", "spin")
	b.thread(1, 1, "a", cell(ClassOnCPU, 0, 0, 2, 1)).Trail = endless(1 << 62)
	r, w := io.Pipe()
	r.Close()
	if err := b.WriteSpeedscope(w, View{}); err != io.ErrClosedPipe {
		t.Errorf("got %v", err)
	}
}

func TestSpeedscopeOfNothing(t *testing.T) {
	if f := readSpeedscope(t, speedscopeOf(t, newBuilder().Profile, View{})); len(f.Profiles) != 0 || f.Schema == "" {
		t.Errorf("%+v", f)
	}
}

func FuzzSpeedscopeNames(f *testing.F) {
	oddNames(f.Add)
	f.Fuzz(func(t *testing.T, name string) {
		file := readSpeedscope(t, speedscopeOf(t, named(name).Profile, View{}))
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
