package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"wprof/test/race"
)

// randomEvents makes events of every kind with every combination of its flags turning up, at times that do not
// decrease.
func randomEvents(rng *rand.Rand, n int) []Event {
	kinds := Kinds()
	now := int64(1 << 40)
	out := make([]Event, 0, n)
	for range n {
		k := kinds[rng.IntN(len(kinds))]
		now += rng.Int64N(1 << rng.IntN(30))
		e := Event{Time: now, Kind: k.Kind, CPU: randomCPU(rng), Task: TaskID(randomNumber(rng))}
		e.Flags = FlagSubject | Flags(rng.Uint32())&newLayouts()[k.Kind].flags
		if e.Flags&FlagLate != 0 {
			e.Own = now - 1 - int64(randomNumber(rng))
		}
		for i, f := range k.Fields {
			if f.Opt == 0 || e.Flags&f.Opt != 0 {
				randomField(rng, &e, i, f.Type)
			}
		}
		out = append(out, e)
	}
	return out
}

func randomField(rng *rand.Rand, e *Event, i int, t FieldType) {
	switch t {
	case FieldBytes:
		e.Data = make([]byte, rng.IntN(300))
		for j := range e.Data {
			e.Data[j] = byte(rng.Uint32())
		}
	case FieldTime:
		e.Args[i] = uint64(e.Time - int64(randomNumber(rng)))
	case FieldState:
		e.Args[i] = uint64(State(randomNumber(rng)) & KnownStates())
	case FieldCause:
		e.Args[i] = uint64(rng.IntN(int(maxCause) + 1))
	case FieldKind:
		e.Args[i] = uint64(rng.IntN(int(MaxKind) + 1))
	case FieldSint:
		e.Args[i] = uint64(int64(int32(randomNumber(rng))))
	case FieldUint:
		e.Args[i] = rng.Uint64() >> rng.IntN(64)
	default:
		e.Args[i] = uint64(randomNumber(rng))
	}
}

func randomNumber(rng *rand.Rand) uint32 { return rng.Uint32() >> rng.IntN(32) }

func randomCPU(rng *rand.Rand) uint32 {
	if rng.IntN(10) == 0 {
		return AllCPUs
	}
	return uint32(rng.IntN(300))
}

// pipe hides that the stream can be read at any place.
func pipe(stream []byte) io.Reader { return io.MultiReader(bytes.NewReader(stream)) }

// readAll reads all events, copied, and the error that ended it if that is not io.EOF.
func readAll(r io.Reader) ([]Event, *Reader, error) {
	reader, err := NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	defer reader.Close()
	events, err := rest(reader)
	return events, reader, err
}

func rest(reader *Reader) ([]Event, error) {
	var out []Event
	for {
		e, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		c := *e
		c.Data = bytes.Clone(e.Data)
		out = append(out, c)
	}
}

func sameEvents(t *testing.T, got, want []Event) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if len(g.Data) == 0 && len(w.Data) == 0 {
			g.Data, w.Data = nil, nil
		}
		if !reflect.DeepEqual(g, w) {
			t.Fatalf("event %d:\n got %+v\nwant %+v", i, g, w)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %d events, want %d", len(got), len(want))
	}
}

func TestEveryKindWithEveryFlagSurvivesWritingAndReading(t *testing.T) {
	for level := range 4 {
		for seed := range uint64(8) {
			rng := rand.New(rand.NewPCG(seed, uint64(level)))
			want := randomEvents(rng, race.Runs(4000))
			stream := encodeStream(t, want, WriterOptions{Level: level, BlockBytes: 1 << (10 + rng.IntN(8))})
			for name, input := range map[string]io.Reader{"file": bytes.NewReader(stream), "pipe": pipe(stream)} {
				got, r, err := readAll(input)
				if err != nil {
					t.Fatalf("%s, level %d, seed %d: %v", name, level, seed, err)
				}
				sameEvents(t, got, want)
				if d := r.Damage(); d != nil {
					t.Errorf("%s: damage in a whole stream: %+v", name, d)
				}
			}
		}
	}
}

func TestEndBlockCountsWhatWasWritten(t *testing.T) {
	events := randomEvents(rand.New(rand.NewPCG(1, 1)), 5000)
	want := map[uint32]uint64{}
	late := uint64(0)
	for _, e := range events {
		want[uint32(e.Kind)]++
		if e.Flags&FlagLate != 0 {
			late++
		}
	}
	_, r, err := readAll(bytes.NewReader(encodeStream(t, events, WriterOptions{Level: 1, BlockBytes: 4096})))
	if err != nil {
		t.Fatal(err)
	}
	end := r.End()
	got, raw := map[uint32]uint64{}, uint64(0)
	for _, k := range end.Kinds {
		got[k.Kind] = k.Events
		raw += k.Bytes
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("events by kind: got %v, want %v", got, want)
	}
	if end.Late != late {
		t.Errorf("late events: got %d, want %d", end.Late, late)
	}
	// Each block has four bytes more than its records.
	if blocks := (end.RawBytes - raw) / 4; end.RawBytes <= raw || blocks > raw/4096+1 {
		t.Errorf("raw bytes: got %d, with records of %d bytes", end.RawBytes, raw)
	}
	if _, r, err = readAll(bytes.NewReader(encodeStream(t, pingPong(10000), WriterOptions{Level: 1}))); err != nil {
		t.Fatal(err)
	}
	if e := r.End(); e.StoredBytes == 0 || e.StoredBytes > 10000*4 || e.RawBytes < 10000*10 {
		t.Errorf("10000 events of a ping-pong: got %d stored bytes of %d raw ones", e.StoredBytes, e.RawBytes)
	}
}

func TestReadingAndWritingAllocateNothingPerEvent(t *testing.T) {
	events := pingPong(1 << 16)
	stream := encodeStream(t, events, WriterOptions{Level: 1})
	r, err := NewReader(pipe(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// The first blocks make the buffers that go round.
	for range 1 << 14 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Next allocates %v times an event, want 0", n)
	}
	w := NewWriter(io.Discard, WriterOptions{Level: 1})
	if err := w.Begin(&Session{}); err != nil {
		t.Fatal(err)
	}
	i := 0
	write := func() {
		if err := w.Write(&events[i]); err != nil {
			t.Fatal(err)
		}
		i++
	}
	for range 1 << 15 {
		write()
	}
	if n := testing.AllocsPerRun(20000, write); n != 0 {
		t.Errorf("Write allocates %v times an event, want 0", n)
	}
}

func TestWriterRefusesWhatWouldNotBeAStream(t *testing.T) {
	fresh := func() *Writer {
		w := NewWriter(io.Discard, WriterOptions{})
		if err := w.Begin(&Session{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&Event{Time: 10, Kind: KindFree, Flags: FlagSubject}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	for name, e := range map[string]Event{
		"earlier time":  {Time: 9, Kind: KindFree, Flags: FlagSubject},
		"no visibility": {Time: 11, Kind: KindFree},
		"no kind":       {Time: 11, Flags: FlagSubject},
		"unknown kind":  {Time: 11, Kind: MaxKind + 1, Flags: FlagSubject},
		"huge text":     {Time: 11, Kind: KindExec, Flags: FlagSubject, Data: make([]byte, MaxDataBytes+1)},
	} {
		if err := fresh().Write(&e); err == nil {
			t.Errorf("%s: Write took it", name)
		}
	}
	w := fresh()
	if err := w.Begin(&Session{}); err == nil {
		t.Error("Begin within a section was taken")
	}
	if err := w.EndSection(&End{Last: true}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&Event{Time: 12, Kind: KindFree, Flags: FlagSubject}); err == nil {
		t.Error("Write after the end of the section was taken")
	}
	if err := w.Begin(&Session{Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&Event{Time: 9, Kind: KindFree, Flags: FlagSubject}); err == nil {
		t.Error("an event earlier than one of the section before was taken")
	}
	if err := NewWriter(io.Discard, WriterOptions{Level: 4}).Begin(&Session{}); err == nil {
		t.Error("level 4 was taken")
	}
}

type failingWriter struct{ left int }

func (f *failingWriter) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestWriterKeepsItsFirstError(t *testing.T) {
	w := NewWriter(&failingWriter{left: 1}, WriterOptions{})
	if err := w.Begin(&Session{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&Event{Time: 1, Kind: KindFree, Flags: FlagSubject}); err != nil {
		t.Fatal(err)
	}
	first := w.Flush()
	if first == nil {
		t.Fatal("Flush to a full disk succeeded")
	}
	if again := w.Write(&Event{Time: 2, Kind: KindFree, Flags: FlagSubject}); again != first {
		t.Errorf("the next call gives %v, want the first error again", again)
	}
}

func TestDefinitionsStandBeforeTheirUse(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{BlockBytes: 1 << 10})
	if err := w.Begin(&Session{Id: 9}); err != nil {
		t.Fatal(err)
	}
	const n = 3000
	for i := range uint32(n) {
		task := &Task{Id: i + 1, Tid: int32(i), Comm: fmt.Appendf(nil, "t%d", i), Start: int64(i) * 1e9, Continues: i}
		if err := w.DefineTask(task); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&Event{Time: int64(i), Kind: KindFree, Flags: FlagSubject, Task: TaskID(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.EndSection(&End{Last: true}); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range n {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		task := r.Task(e.Task)
		if task == nil || string(task.Comm) != fmt.Sprintf("t%d", i) || task.Continues != uint32(i) {
			t.Fatalf("event %d: got task %v", i, task)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want io.EOF", err)
	}
	if got := r.End().Definitions; got != n {
		t.Errorf("the end block counts %d definitions, want %d", got, n)
	}
}

func TestTaskIsEncodedAsProtobufDoes(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 200)
	for _, task := range []*Task{
		{}, {Id: 1}, {Id: 1 << 31, Tid: -1, Pid: -5, Comm: []byte("a"), ProcessComm: long, Ppid: -2, Start: -9, Flags: 7, Continues: 3},
		{Id: 5, Tid: 6, Comm: long, Start: 1 << 60},
	} {
		var d Definitions
		if err := proto.Unmarshal(appendTask(nil, task), &d); err != nil {
			t.Fatal(err)
		}
		if len(d.Tasks) != 1 || !proto.Equal(d.Tasks[0], task) {
			t.Errorf("got %v, want %v", d.Tasks, task)
		}
	}
}

func TestClocksAreTheSessionsAndThoseOfDefinitionBlocks(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{})
	begin := &Session{Clocks: []*ClockSnapshot{{Monotonic: 1, Boottime: 2, Realtime: 3}}}
	if err := w.Begin(begin); err != nil {
		t.Fatal(err)
	}
	if err := w.Define(&Definitions{Clocks: []*ClockSnapshot{{Monotonic: 4, Boottime: 5, Realtime: 6}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.EndSection(&End{Last: true}); err != nil {
		t.Fatal(err)
	}
	_, r, err := readAll(&out)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Clocks(); len(c) != 2 || c[0].Realtime != 3 || c[1].Boottime != 5 {
		t.Errorf("got %v", c)
	}
}

func TestLiveWriterWritesOnFlush(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{Live: true, BlockBytes: 1 << 10})
	if err := w.Begin(&Session{}); err != nil {
		t.Fatal(err)
	}
	begun := out.Len()
	for i := range int64(10000) {
		if err := w.Write(&Event{Time: i, Kind: KindFree, Flags: FlagSubject}); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() != begun {
		t.Errorf("%d bytes were written before Flush", out.Len()-begun)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	events, r, err := readAll(pipe(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	// All of them, and a loss because the section has not ended yet.
	if len(events) != 10001 || !r.Damage().Truncated {
		t.Errorf("after Flush %d events can be read, want 10000 and a loss", len(events))
	}
}

func TestReaderDoesNotWaitForMoreThanABlock(t *testing.T) {
	stream := encodeStream(t, numbered(10), WriterOptions{})
	blocks := blocksOf(t, stream)
	in, out := io.Pipe()
	defer in.Close()
	go func() { _, _ = out.Write(stream[:blocks[2].Offset]) }() // and then nothing, as in a quiet live stream
	r, err := NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 10 {
		if _, err := r.Next(); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
}
