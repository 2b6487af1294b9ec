package perfetto

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/perfetto/schema"
	"wprof/internal/tracks"
	"wprof/test/fromtext"
)

// One flipped byte anywhere in a stream costs at most a part of it, and what is left is well-formed.
func TestFlippedBytesLeaveAWellFormedTrace(t *testing.T) {
	stream := fromtext.Stream(t, machine+opening1+"end close=+1000000\n"+secondWindow)
	for at := range stream {
		flipped := bytes.Clone(stream)
		flipped[at] ^= 0x55
		r, err := format.NewReader(bytes.NewReader(flipped))
		if err != nil {
			continue
		}
		var trace bytes.Buffer
		_, _ = Convert(r, &trace, everything())
		r.Close()
		if err := proto.Unmarshal(trace.Bytes(), new(schema.Trace)); err != nil {
			t.Fatalf("byte %d flipped: the trace is not well-formed: %v", at, err)
		}
	}
}

// hostile builds an event with every field taken from a list of bytes, so that a fuzzer reaches the encoder's states
// without having to find valid blocks first.
func hostile(b []byte, e *format.Event) []byte {
	take := func() uint64 {
		if len(b) == 0 {
			return 0
		}
		v := b[0]
		b = b[1:]
		return uint64(v)
	}
	e.Kind = format.Kind(take()%uint64(format.MaxKind+2) + 1)
	e.Flags = format.Flags(take())
	if e.Flags&format.FlagsVisible == 0 {
		e.Flags |= format.FlagSubject
	}
	e.CPU = uint32(take() % 5)
	if e.CPU == 4 {
		e.CPU = format.AllCPUs
	}
	e.Task = format.TaskID(take() % 12)
	e.Time += int64(take() % 50)
	e.Own = e.Time - int64(take())
	for i := range e.Args {
		e.Args[i] = take() % 13
	}
	if e.Kind == format.KindLost {
		e.Args[format.LostFrom] = uint64(e.Time - int64(take()))
	}
	if e.Data = nil; e.Kind == format.KindSwitch && len(b) > 0 && b[0]&1 != 0 {
		e.Flags |= format.SwitchHasCounts
		e.Data = b[:min(len(b), 12)]
	}
	return b
}

// fixed are definitions, some of which refer to undefined ids.
type fixed []*format.Task

func (f fixed) EventType(uint32) *format.EventType { return nil }
func (f fixed) Text(uint32) *format.Text           { return nil }
func (f fixed) Task(id format.TaskID) *format.Task {
	if int(id) < len(f) {
		return f[id]
	}
	return nil
}

func (fixed) Command(id uint32) *format.Command {
	if id == 1 {
		return &format.Command{Id: 1, Args: []byte("a\x00\xff b\x00\x00c"), Cut: true}
	}
	return nil
}

func (fixed) Wait(format.WaitID) *format.Wait { return nil }
func (fixed) Stack(id format.StackID) *format.Stack {
	if id > 8 {
		return nil
	}
	return &format.Stack{Id: uint32(id), Frames: []uint32{uint32(id), 1, uint32(id) + 2, 2}, KernelFrames: uint32(id), Cut: id&1 == 1}
}

func (fixed) Frame(id uint32) *format.Frame {
	if id > 5 {
		return nil
	}
	return &format.Frame{Id: id, Module: id, Offset: 1<<63 + uint64(id), Lines: make([]*format.Line, id), Caller: true}
}

func (fixed) Module(id uint32) *format.Module {
	if id > 3 {
		return nil
	}
	return &format.Module{Id: id, Path: []byte("/\xff/")[:id], BuildId: make([]byte, id)}
}

func (fixed) Clocks() []*format.ClockSnapshot { return nil }

// fed returns an encoder and the drawer that feeds it, from time 1000 on.
func fed(t testing.TB, w io.Writer, defs tracks.Definitions, options Options, s *format.Session) (*encoder, *tracks.Drawer) {
	t.Helper()
	e := newEncoder(w, options)
	d := tracks.NewDrawer(defs, e, options.drawn())
	if err := errors.Join(d.NewSection(s), d.Open(s, 1000, 0, true)); err != nil {
		t.Fatal(err)
	}
	return e, d
}

func FuzzEncoder(f *testing.F) {
	f.Add(bytes.Repeat([]byte{9, 3, 0, 2, 1, 0, 1, 2, 3, 1, 3, 1, 1, 1, 0, 3, 0, 120, 120, 2}, 8))
	tasks := fixed{
		nil, {Tid: 0, Flags: 2}, {Tid: 1, Pid: 1, Start: 1}, {Tid: 2, Pid: 1, Start: 2}, {Tid: 2, Pid: 2, Start: 9, Command: 2}, nil,
		{Tid: 7, Flags: 8}, {Tid: 7, Pid: 7, Start: 3, Command: 1}, {Tid: -1, Pid: -5, Start: -1, Comm: []byte("\xff")},
	}
	f.Add(bytes.Repeat([]byte{0, 255, 0, 2, 40, 0, 1, 2, 3, 1, 3, 1, 1, 1, 0, 3, 0, 255, 120, 2}, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		var trace bytes.Buffer
		_, d := fed(t, &trace, tasks, everything(), &format.Session{
			Cpus: []*format.Cpu{{Id: 0}, {Id: 1}}, Counters: []*format.Counter{{Name: "a"}, {Name: "b", Scale: "1e300"}, {Name: "c", Over: 1, Under: 9}},
		})
		v := format.Event{Time: 1000}
		for len(b) > 0 {
			b = hostile(b, &v)
			if err := d.Event(&v); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(0); err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(trace.Bytes(), new(schema.Trace)); err != nil {
			t.Fatalf("the trace is not well-formed: %v", err)
		}
		checkOrder(t, trace.Bytes())
		checkDrawn(t, trace.Bytes())
	})
}

// checkOrder checks that the switches of a CPU never go back in time, which the engine requires.
func checkOrder(t *testing.T, trace []byte) {
	t.Helper()
	decoded := new(schema.Trace)
	if err := proto.Unmarshal(trace, decoded); err != nil {
		t.Fatal(err)
	}
	last := map[uint32]uint64{}
	for _, p := range decoded.Packet {
		at := uint64(0)
		for _, delta := range p.GetFtraceEvents().GetCompactSched().GetSwitchTimestamp() {
			cpu := p.FtraceEvents.GetCpu()
			if at += delta; at < last[cpu] || at > 1<<40 {
				t.Fatalf("CPU %d goes from %d to %d", cpu, last[cpu], at)
			}
			last[cpu] = at
		}
	}
}

func TestConversionStopsWhenTheOutputDoes(t *testing.T) {
	r, err := format.NewReader(bytes.NewReader(pingPong(t, 10_000)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Convert(r, brokenPipe{}, everything()); err == nil {
		t.Error("no error although nothing could be written")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
