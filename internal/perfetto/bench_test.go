package perfetto

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"wprof/format"
)

// pingPong is a stream of two threads on two CPUs that wake each other, with about n switches and wakings in the mix
// of a real recording of such a pair.
func pingPong(t testing.TB, n int) []byte {
	t.Helper()
	var stream bytes.Buffer
	w := format.NewWriter(&stream, format.WriterOptions{Level: 1})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const open = int64(1e12)
	must(w.Begin(&format.Session{Id: 1, Host: "test", BootId: "b", KernelRelease: "6.18.0", Open: open, Cpus: []*format.Cpu{{Id: 0}, {Id: 1}}}))
	w.DefineTask(&format.Task{Id: 1, Comm: []byte("swapper"), Flags: 2})
	for id := range uint32(4) {
		w.DefineTask(&format.Task{Id: id + 2, Tid: int32(20000 + id), Pid: int32(20000 + id), Ppid: 1, Comm: fmt.Appendf(nil, "ping%d", id), ProcessComm: []byte("ping"), Start: int64(id) + 1})
	}
	var e format.Event
	at := open
	event := func(kind format.Kind, cpu int, task format.TaskID, args ...uint64) {
		at += 700 + int64(len(args))*37%500
		e = format.Event{Time: at, Kind: kind, Flags: format.FlagsVisible, CPU: uint32(cpu), Task: task}
		copy(e.Args[:], args)
		must(w.Write(&e))
	}
	for i := 0; i < n; i += 6 {
		for cpu := range 2 {
			a, b := format.TaskID(2+2*cpu), format.TaskID(3+2*cpu)
			if i/6%2 == 1 {
				a, b = b, a
			}
			if i < 6 {
				event(format.KindSwitch, cpu, 1, uint64(a), 0, 120, 120)
			}
			event(format.KindWaking, cpu, a, uint64(b), 120, uint64(cpu))
			event(format.KindSwitch, cpu, a, uint64(b), uint64(format.StateInterruptible), 120, 120)
			event(format.KindWaking, cpu, b, uint64(a), 120, uint64(cpu))
		}
	}
	must(w.EndSection(&format.End{Close: at + 1000, Last: true}))
	return stream.Bytes()
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func BenchmarkConvert(b *testing.B) {
	const events = 1_000_000
	stream := pingPong(b, events)
	var size counter
	b.ReportAllocs()
	for b.Loop() {
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			b.Fatal(err)
		}
		size = 0
		done, err := Convert(r, &size, schedOnly())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/float64(done.Events), "bytes/event")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}

// BenchmarkSamples is a stream of nothing but samples, most of which have a stack that was written before.
func BenchmarkSamples(b *testing.B) {
	const n = 200_000
	stream, _, _ := samplesOf(b, n)
	var size counter
	b.ReportAllocs()
	for b.Loop() {
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			b.Fatal(err)
		}
		size = 0
		if _, err := Convert(r, &size, schedOnly()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)/n, "bytes/sample")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/sample")
}

// BenchmarkDecode is the part of BenchmarkConvert that is format.Reader's.
func BenchmarkDecode(b *testing.B) {
	const events = 1_000_000
	stream := pingPong(b, events)
	for b.Loop() {
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := r.Next(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}
