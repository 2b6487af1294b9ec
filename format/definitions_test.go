package format

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"wprof/test/race"
)

// randomDefinitions makes definitions of every type, with each field set in some, each after those that it names.
func randomDefinitions(rng *rand.Rand, n int) *Definitions {
	text := func(longest int) []byte {
		if rng.IntN(4) == 0 {
			return nil
		}
		b := make([]byte, rng.IntN(longest))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	odd := func() bool { return rng.IntN(2) == 0 }
	some := func(of int) uint32 { return uint32(rng.IntN(of + 1)) }
	d := new(Definitions)
	for i := range n {
		id := uint32(i + 1)
		d.Modules = append(d.Modules, &Module{
			Id: id, Path: text(40), BuildId: text(20), Device: rng.Uint64() >> rng.IntN(64), Inode: rng.Uint64() >> rng.IntN(64),
			Generation: uint64(some(9)), Base: rng.Uint64() >> rng.IntN(64), Kind: some(8),
		})
		f := &Frame{Id: id, Module: some(i + 1), Offset: rng.Uint64() >> rng.IntN(64), Caller: odd(), Loop: some(i)}
		for range rng.IntN(4) {
			f.Lines = append(f.Lines, &Line{Function: text(200), File: text(30), Line: randomNumber(rng)})
			f.FunctionOffset = rng.Uint64() >> rng.IntN(64)
		}
		d.Frames = append(d.Frames, f)
		s := &Stack{Id: id, Cut: odd()}
		for range rng.IntN(200) {
			s.Frames = append(s.Frames, 1+some(i))
		}
		s.KernelFrames = some(len(s.Frames))
		d.Stacks = append(d.Stacks, s)
		d.Commands = append(d.Commands, &Command{Id: id, Args: text(60), Cut: odd()})
		d.Tasks = append(d.Tasks, &Task{Id: id, Tid: int32(id), Comm: text(16), Command: some(i + 1)})
	}
	return d
}

// defineAll writes definitions one by one.
func defineAll(t testing.TB, w *Writer, d *Definitions) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, c := range d.Commands {
		check(w.DefineCommand(c))
	}
	for _, x := range d.Tasks {
		check(w.DefineTask(x))
	}
	for _, m := range d.Modules {
		check(w.DefineModule(m))
	}
	for _, f := range d.Frames {
		check(w.DefineFrame(f))
	}
	for _, s := range d.Stacks {
		check(w.DefineStack(s))
	}
}

// definedStream is a stream of one section with these definitions.
func definedStream(t testing.TB, d *Definitions) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{Level: 1, BlockBytes: 4 << 10})
	if err := w.Begin(&Session{Id: 1, Sources: []*Source{{Id: 1, Name: "timer", Period: 1e7}}}); err != nil {
		t.Fatal(err)
	}
	defineAll(t, w, d)
	if err := w.EndSection(&End{Last: true}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// definedBy is what a reader of the stream has of the first n ids.
func definedBy(t testing.TB, stream []byte, n int) *Definitions {
	t.Helper()
	_, r, err := readAll(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	if damage := r.Damage(); damage != nil {
		t.Fatalf("damage %+v", damage)
	}
	d := new(Definitions)
	for i := range uint32(n) {
		d.Modules = append(d.Modules, r.Module(i+1))
		d.Frames = append(d.Frames, r.Frame(i+1))
		d.Stacks = append(d.Stacks, r.Stack(StackID(i+1)))
		d.Commands = append(d.Commands, r.Command(i+1))
		d.Tasks = append(d.Tasks, r.Task(TaskID(i+1)))
	}
	return d
}

func TestDefinitionsSurviveWritingAndReading(t *testing.T) {
	for seed := range uint64(20) {
		n := 1 + int(seed)*10
		want := randomDefinitions(rand.New(rand.NewPCG(seed, 1)), n)
		if got := definedBy(t, definedStream(t, want), n); !proto.Equal(got, want) {
			t.Fatalf("seed %d: the definitions changed on the way", seed)
		}
	}
}

func TestCodecsAgreeWithProtobuf(t *testing.T) {
	d := randomDefinitions(rand.New(rand.NewPCG(7, 7)), 300)
	d.Stacks = append(d.Stacks, new(Stack), &Stack{Id: 1 << 31, Frames: []uint32{0, 1 << 31, 127, 128}})
	d.Frames = append(d.Frames, new(Frame), &Frame{Lines: []*Line{{}, {Line: 1 << 31}}})
	stack, frame := d.Stacks[0], d.Frames[1]
	stack.unknownFields, frame.unknownFields = []byte{0xf8, 0x01, 0x01}, []byte{0xf8, 0x01, 0x01}
	for _, s := range d.Stacks {
		agree(t, appendStack(nil, s), &Definitions{Stacks: []*Stack{s}})
	}
	for _, f := range d.Frames {
		agree(t, appendFrame(nil, f), &Definitions{Frames: []*Frame{f}})
	}
}

func agree(t *testing.T, encoded []byte, want *Definitions) {
	t.Helper()
	got := new(Definitions)
	if err := proto.Unmarshal(encoded, got); err != nil || !proto.Equal(got, want) {
		t.Fatalf("%v: got %v, want %v", err, got, want)
	}
}

// FuzzDefinitionCodecs decodes anything as a stack, a frame and a task: the result, or the error, is that of protobuf.
func FuzzDefinitionCodecs(f *testing.F) {
	d := randomDefinitions(rand.New(rand.NewPCG(3, 3)), 10)
	for i := range d.Stacks {
		for _, m := range []proto.Message{d.Stacks[i], d.Frames[i], d.Tasks[i]} {
			b, err := proto.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Add([]byte{0x10, 0x05, 0x12, 0x02, 0x80, 0x01, 0x10, 0x07, 0x12, 0x01, 0x09}) // packed and not
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxFrameLines {
			return // it may have more of something than is allowed
		}
		var s, wantStack Stack
		_, errHere := decodeStack(b, &s)
		errThere := proto.Unmarshal(b, &wantStack)
		if (errHere == nil) != (errThere == nil) || errHere == nil && !proto.Equal(&s, &wantStack) {
			t.Errorf("stack %v (%v), protobuf %v (%v)", &s, errHere, &wantStack, errThere)
		}
		var fr, wantFrame Frame
		_, errHere = decodeFrame(b, &fr)
		errThere = proto.Unmarshal(b, &wantFrame)
		if (errHere == nil) != (errThere == nil) || errHere == nil && !proto.Equal(&fr, &wantFrame) {
			t.Errorf("frame %v (%v), protobuf %v (%v)", &fr, errHere, &wantFrame, errThere)
		}
		if errHere == nil {
			agree(t, appendFrame(nil, &fr), &Definitions{Frames: []*Frame{&fr}})
		}
		var task, wantTask Task
		_, errHere = decodeTask(b, &task)
		errThere = proto.Unmarshal(b, &wantTask)
		if errThere == nil && !isTime(wantTask.Start) {
			errThere = errTime
		}
		if (errHere == nil) != (errThere == nil) || errHere == nil && !proto.Equal(&task, &wantTask) {
			t.Errorf("task %v (%v), protobuf %v (%v)", &task, errHere, &wantTask, errThere)
		}
	})
}

func TestKeptDefinitionsDoNotShareMemory(t *testing.T) {
	d := new(definitions)
	payload := appendStack(nil, &Stack{Id: 1, Frames: []uint32{1, 2}})
	payload = appendStack(payload, &Stack{Id: 2, Frames: []uint32{3}})
	payload = appendFrame(payload, &Frame{Id: 1, Lines: []*Line{{Function: []byte("one")}, {Function: []byte("two")}}})
	if err := d.add(payload); err != nil {
		t.Fatal(err)
	}
	clear(payload)
	one, frame := d.stack(1), d.frame(1)
	_ = append(one.Frames, 9)
	_ = append(frame.Lines[0].Function, "xxx"...)
	if two := d.stack(2); !slices.Equal(two.Frames, []uint32{3}) || string(frame.Lines[1].Function) != "two" {
		t.Errorf("got %v and %v", two, frame)
	}
}

// What hostile definitions take in memory is bounded, however small they are in the stream.
func TestReaderBoundsDefinitions(t *testing.T) {
	race.Skip(t)
	repeat := func(n int, member []byte) []byte { return bytes.Repeat(member, n) }
	long := func(field protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), content)
	}
	for _, c := range []struct {
		name    string
		payload []byte
		blocks  int
	}{
		{"empty lines", long(3, repeat(4<<20, []byte{0x2a, 0x00})), 1},
		{"empty frames", repeat(6<<20, []byte{0x1a, 0x00}), 1},
		{"frame ids", long(4, long(2, repeat(15<<20, []byte{1}))), 4},
		{"frame ids one by one", long(4, repeat(7<<20, []byte{0x10, 1})), 7},
		{"long names", long(3, long(5, long(1, make([]byte, 15<<20)))), 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			d := new(definitions)
			var err error
			for range c.blocks {
				if err = d.add(c.payload); err != nil {
					break
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("there is no bound")
			}
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 128<<20 {
				t.Errorf("%d MiB are kept", grown>>20)
			}
			runtime.KeepAlive(d)
		})
	}
}

func TestEpochIsDueBeforeReadersRefuse(t *testing.T) {
	race.Skip(t)
	w := NewWriter(discard{}, WriterOptions{})
	if err := w.Begin(new(Session)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; w.DefinitionBytes() < EpochBytes; n++ {
		if err := w.DefineFrame(&Frame{Id: 1, Lines: []*Line{{}}}); err != nil {
			t.Fatal(err)
		}
	}
	if 2*n > MaxSectionDefinitions {
		t.Errorf("%d frames with a line each were defined before an epoch was due", n)
	}
	if err := w.DefineStack(&Stack{Frames: make([]uint32, MaxBlockBytes)}); err == nil {
		t.Error("a stack longer than a block was taken")
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// deepStacks are stacks of 30 frames over a program of 5000 places, as one section of a busy machine has them.
func deepStacks(n int) []*Stack {
	rng := rand.New(rand.NewPCG(1, 1))
	all := make([]*Stack, n)
	for i := range all {
		s := &Stack{Id: uint32(i + 1), KernelFrames: 8}
		for range 30 {
			s.Frames = append(s.Frames, 1+uint32(rng.IntN(5000)))
		}
		all[i] = s
	}
	return all
}

func manyFrames(n int) []*Frame {
	all := make([]*Frame, n)
	for i := range all {
		all[i] = &Frame{Id: uint32(i + 1), Module: 3, Offset: uint64(i) * 4711, FunctionOffset: uint64(i % 300), Caller: true,
			Lines: []*Line{{Function: fmt.Appendf(nil, "package.(*Type%d).method%d", i%50, i)}}}
	}
	return all
}

func BenchmarkDefineStack(b *testing.B) {
	stacks := deepStacks(1000)
	benchmarkDefine(b, func(w *Writer, i int) error { return w.DefineStack(stacks[i%1000]) })
}

func BenchmarkDefineFrame(b *testing.B) {
	frames := manyFrames(1000)
	benchmarkDefine(b, func(w *Writer, i int) error { return w.DefineFrame(frames[i%1000]) })
}

func benchmarkDefine(b *testing.B, define func(*Writer, int) error) {
	w := NewWriter(discard{}, WriterOptions{})
	if err := w.Begin(&Session{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := define(w, i); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadStacks(b *testing.B) {
	var payload []byte
	for _, s := range deepStacks(100_000) {
		payload = appendStack(payload, s)
	}
	benchmarkRead(b, payload, 100_000)
}

func BenchmarkReadFrames(b *testing.B) {
	var payload []byte
	for _, f := range manyFrames(100_000) {
		payload = appendFrame(payload, f)
	}
	benchmarkRead(b, payload, 100_000)
}

// benchmarkRead reads n definitions and reports the time and memory of each.
func benchmarkRead(b *testing.B, payload []byte, n int) {
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if err := new(definitions).add(payload); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	all := float64(b.N) * float64(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/all, "ns/definition")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/all, "B/definition")
	b.ReportMetric(float64(len(payload))/float64(n), "encoded-B/definition")
}
