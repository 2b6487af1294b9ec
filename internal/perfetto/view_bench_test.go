package perfetto

import (
	"bytes"
	"fmt"
	"testing"

	"wprof/format"
)

// pairs is a stream of n events: on each of two CPUs two threads wake each other and give way, so that each switch
// has its waking.
func pairs(t testing.TB, n int) []byte {
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
	for id := range uint32(4) {
		w.DefineTask(&format.Task{Id: id + 1, Tid: int32(20000 + id), Pid: int32(20000 + id), Ppid: 1, Comm: fmt.Appendf(nil, "ping%d", id), ProcessComm: []byte("ping"), Start: int64(id) + 1})
	}
	at := open
	write := func(kind format.Kind, cpu int, task uint32, args ...uint64) {
		e := format.Event{Time: at, Kind: kind, Flags: format.FlagsVisible, CPU: uint32(cpu), Task: format.TaskID(task)}
		copy(e.Args[:], args)
		must(w.Write(&e))
	}
	for cpu := range uint32(2) {
		write(format.KindStateCPU, int(cpu), 1+2*cpu, 120)
	}
	for cpu := range uint32(2) {
		write(format.KindStateThread, int(cpu), 2+2*cpu, uint64(format.StateInterruptible), 120)
	}
	for i := 0; i < n; i += 4 {
		for cpu := range uint32(2) {
			a, b := 1+2*cpu, 2+2*cpu
			if i/4%2 == 1 {
				a, b = b, a
			}
			at += 700 + int64(i)*37%500
			write(format.KindWaking, int(cpu), a, uint64(b), 120, uint64(cpu))
			at += 700 + int64(i)*41%500
			write(format.KindSwitch, int(cpu), a, uint64(b), uint64(format.StateInterruptible), 120, 120)
		}
	}
	must(w.EndSection(&format.End{Close: at + 1000, Last: true}))
	return stream.Bytes()
}

// BenchmarkThreadView is a conversion with the thread view, of events of which every waking and every switch counts.
func BenchmarkThreadView(b *testing.B) {
	const events = 1_000_000
	extras := DefaultOptions()
	extras.Extras, extras.TIDPID = true, true
	for _, c := range []struct {
		name    string
		stream  []byte
		options Options
	}{
		{"pairs", pairs(b, events), DefaultOptions()},
		{"pairs/sched", pairs(b, events), schedOnly()},
		{"pairs/arrows", pairs(b, events), withArrows()},
		{"pairs/extras", pairs(b, events), extras},
		{"pairs/blocked", pairs(b, events), Options{Sched: true, Threads: true}},
		{"pipe", pingPong(b, events), DefaultOptions()},
	} {
		b.Run(c.name, func(b *testing.B) {
			var size counter
			b.ReportAllocs()
			for b.Loop() {
				r, err := format.NewReader(bytes.NewReader(c.stream))
				if err != nil {
					b.Fatal(err)
				}
				size = 0
				if _, err := Convert(r, &size, c.options); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/events, "bytes/event")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
		})
	}
}
