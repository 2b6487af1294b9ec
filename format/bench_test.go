package format

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// pingPong is what a pinned pair of threads on each of two CPUs looks like that wake each other through a pipe:
// waking and switch in turn, with realistic jitter.
func pingPong(n int) []Event {
	rng := rand.New(rand.NewPCG(1, 2))
	events := make([]Event, 0, n+2)
	var pairs [2]pair
	for cpu := range pairs {
		pairs[cpu] = pair{cpu: uint32(cpu), task: TaskID(10 + 2*cpu), now: 1_000_000_000_000}
	}
	for len(events) < n {
		next := &pairs[0]
		if pairs[1].now < next.now {
			next = &pairs[1]
		}
		events = append(events, next.step(rng))
	}
	return events
}

// pair is two threads on one CPU; left is when each of them left it last.
type pair struct {
	cpu   uint32
	task  TaskID
	turn  int
	woken bool
	now   int64
	left  [2]int64
}

func (p *pair) step(rng *rand.Rand) Event {
	e := Event{Time: p.now, Flags: FlagsVisible, CPU: p.cpu, Task: p.task + TaskID(p.turn)}
	other := p.task + TaskID(1-p.turn)
	if p.woken = !p.woken; p.woken {
		e.Kind = KindWaking
		w := e.Waking()
		w.SetWakee(other)
		w.SetPrio(120)
		w.SetTargetCPU(uint64(p.cpu))
		p.now += 700 + jitter(rng, 200)
		return e
	}
	e.Kind = KindSwitch
	s := e.Switch()
	s.SetNext(other)
	s.SetPrevState(StateInterruptible)
	s.SetPrevPrio(120)
	s.SetNextPrio(120)
	if since := p.left[1-p.turn]; since != 0 {
		s.SetSince(since)
		s.SetNextState(StateInterruptible)
	}
	p.left[p.turn] = p.now
	p.turn = 1 - p.turn
	p.now += 900 + jitter(rng, 300)
	return e
}

// jitter is roughly what scheduling shows: mostly near its middle, sometimes far out.
func jitter(rng *rand.Rand, scale float64) int64 {
	x := rng.NormFloat64() * scale / 2
	if rng.IntN(50) == 0 {
		x = rng.ExpFloat64() * scale * 20
	}
	return int64(max(x, -scale))
}

func encodeStream(t testing.TB, events []Event, o WriterOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, o)
	if err := w.Begin(&Session{Id: 1, BootId: "b", Open: events[0].Time, Close: events[len(events)-1].Time}); err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := w.Write(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.EndSection(&End{Last: true}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkEncode(b *testing.B)     { benchmarkEncode(b, 0) }
func BenchmarkEncodeZstd(b *testing.B) { benchmarkEncode(b, 1) }

func benchmarkEncode(b *testing.B, level int) {
	events := pingPong(1 << 16)
	w := NewWriter(io.Discard, WriterOptions{Level: level})
	span := events[len(events)-1].Time - events[0].Time + 1000
	if err := w.Begin(&Session{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i == len(events) {
			i = 0
			for j := range events {
				e := &events[j]
				e.Time += span
				if e.Kind == KindSwitch && e.Flags&SwitchHasSince != 0 {
					e.Args[SwitchSince] += uint64(span)
				}
			}
		}
		if err := w.Write(&events[i]); err != nil {
			b.Fatal(err)
		}
	}
	c := w.Counts()
	b.ReportMetric(float64(c.StoredBytes)/float64(c.Events), "stored-B/event")
	b.ReportMetric(float64(c.RawBytes)/float64(c.Events), "raw-B/event")
}

func BenchmarkDecode(b *testing.B)     { benchmarkDecode(b, 0) }
func BenchmarkDecodeZstd(b *testing.B) { benchmarkDecode(b, 1) }

func benchmarkDecode(b *testing.B, level int) {
	stream := encodeStream(b, pingPong(1<<20), WriterOptions{Level: level})
	b.ReportAllocs()
	var r *Reader
	for b.Loop() {
		for {
			if r == nil {
				var err error
				if r, err = NewReader(io.MultiReader(bytes.NewReader(stream))); err != nil {
					b.Fatal(err)
				}
			}
			_, err := r.Next()
			if err == nil {
				break
			}
			if !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
			r = nil
		}
	}
}

// BenchmarkDecodeBlock is decoding alone, in one goroutine and from memory.
func BenchmarkDecodeBlock(b *testing.B) {
	block := NewEventBlock()
	events := pingPong(1 << 14)
	for i := range events {
		if err := block.Add(&events[i]); err != nil {
			b.Fatal(err)
		}
	}
	payload, h := block.AppendPayload(nil), block.Header()
	d := eventDecoder{layouts: newLayouts()}
	var e Event
	b.ReportAllocs()
	for b.Loop() {
		if d.left == 0 {
			if err := d.start(&h, payload); err != nil {
				b.Fatal(err)
			}
		}
		if ok, err := d.next(&e); !ok {
			b.Fatal(err)
		}
	}
}

func BenchmarkDefineTask(b *testing.B) {
	w := NewWriter(io.Discard, WriterOptions{})
	if err := w.Begin(&Session{}); err != nil {
		b.Fatal(err)
	}
	t := &Task{Id: 1, Tid: 4711, Pid: 4711, Comm: []byte("worker/3"), ProcessComm: []byte("server"), Ppid: 1, Start: 123456789012}
	b.ReportAllocs()
	for b.Loop() {
		t.Id++
		if err := w.DefineTask(t); err != nil {
			b.Fatal(err)
		}
	}
}
