package chrome

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"wprof/format"
)

// pingPong is a stream of two threads on each of two CPUs that wake each other, with about n switches and wakings.
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
	at := int64(1e12)
	must(w.Begin(&format.Session{Id: 1, Host: "test", BootId: "b", Open: at, Cpus: []*format.Cpu{{Id: 0}, {Id: 1}}}))
	w.DefineTask(&format.Task{Id: 1, Comm: []byte("swapper"), Flags: 2})
	for id := range uint32(4) {
		w.DefineTask(&format.Task{Id: id + 2, Tid: int32(20000 + id), Pid: int32(20000 + id), Comm: fmt.Appendf(nil, "ping%d", id), ProcessComm: []byte("ping"), Start: int64(id) + 1})
	}
	event := func(kind format.Kind, cpu int, task format.TaskID, args ...uint64) {
		at += 1000
		e := format.Event{Time: at, Kind: kind, Flags: format.FlagsVisible, CPU: uint32(cpu), Task: task}
		copy(e.Args[:], args)
		must(w.Write(&e))
	}
	for i := 0; i < n; i += 4 {
		for cpu := range 2 {
			a, b := format.TaskID(2+2*cpu), format.TaskID(3+2*cpu)
			if i/4%2 == 1 {
				a, b = b, a
			}
			if i == 0 {
				event(format.KindSwitch, cpu, 1, uint64(a), 0, 120, 120)
			}
			event(format.KindWaking, cpu, a, uint64(b), 120, uint64(cpu))
			event(format.KindSwitch, cpu, a, uint64(b), uint64(format.StateInterruptible), 120, 120)
		}
	}
	must(w.EndSection(&format.End{Close: at + 1000, Last: true}))
	return stream.Bytes()
}

// BenchmarkWrite took 245 ns and 492 bytes an event on two virtual CPUs that others used as well.
func BenchmarkWrite(b *testing.B) {
	const events = 1_000_000
	stream := pingPong(b, events)
	b.ReportAllocs()
	for b.Loop() {
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			b.Fatal(err)
		}
		done, err := Write(r, io.Discard, Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(done.Bytes)/float64(done.Events), "bytes/event")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}
