package spool

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"wprof/format"
)

// pingPong writes a spool of two CPUs with a ring each, on each of which two threads wake each other in rounds of 25 ms.
func pingPong(tb testing.TB, events int) *Spool {
	tb.Helper()
	w, err := Create(filepath.Join(tb.TempDir(), "bench.part"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	const start = int64(1e12)
	must(w.Begin(Header{Session: &format.Session{Id: 7, Host: "bench"}, Rings: 2, RecorderPID: 1}))
	var tasks []byte
	for tid := uint32(100); tid < 104; tid++ {
		tasks = append(tasks, taskRecord(start-1000, tid)...)
	}
	must(w.Tasks(tasks))
	must(w.Open(start))
	var pos [2]uint64
	rings := [2][]byte{}
	now := start
	round := now + 25e6
	jitter := rand.New(rand.NewPCG(1, 2))
	flush := func() {
		for i := range rings {
			must(w.Ring(i, pos[i], rings[i]))
			pos[i] += uint64(len(rings[i]))
			rings[i] = rings[i][:0]
		}
		must(w.Round(Round{Time: now, Producer: pos[:], Drained: pos[:]}))
	}
	for n := 0; n < events; n += 2 {
		cpu := n / 2 % 2
		a, b := uint32(100+2*cpu), uint32(101+2*cpu)
		if n/4%2 == 1 {
			a, b = b, a
		}
		rings[cpu] = appendWaking(rings[cpu], now, cpu, a, b)
		rings[cpu] = appendSwitch(rings[cpu], now+700+int64(jitter.IntN(100)), cpu, a, b)
		now += 1200 + int64(jitter.IntN(300))
		if now > round {
			flush()
			round = now + 25e6
		}
	}
	flush()
	must(w.End(Tail{Close: now}))
	s, err := w.Spool()
	must(err)
	return s
}

// BenchmarkFinalise tells CPU time, of all threads, beside the time that passed: the machine is shared.
func BenchmarkFinalise(b *testing.B) {
	const events = 1_000_000
	for level, name := range []string{"plain", "zstd"} {
		b.Run(name, func(b *testing.B) {
			s := pingPong(b, events)
			b.ResetTimer()
			before := cpuTime(b)
			out := &counter{}
			for range b.N {
				if _, err := s.Finalise(format.NewWriter(out, format.WriterOptions{Level: level}), Options{}); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(b.N) * events
			b.ReportMetric(float64(cpuTime(b)-before)/n, "cpu-ns/event")
			b.ReportMetric(float64(out.n)/n, "bytes/event")
		})
	}
}

// BenchmarkWrite is the capture side: 256 KiB of a ring with one call.
func BenchmarkWrite(b *testing.B) {
	raw := make([]byte, 0, 256<<10)
	for len(raw) < cap(raw)-64 {
		raw = appendSwitch(raw, int64(len(raw)), 0, 1, 2)
	}
	w, err := CreateUnlinked(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	if err := w.Begin(Header{Session: &format.Session{}, Rings: 1}); err != nil {
		b.Fatal(err)
	}
	pos := uint64(0)
	b.SetBytes(int64(len(raw)))
	before := cpuTime(b)
	b.ResetTimer()
	for range b.N {
		if err := w.Ring(0, pos, raw); err != nil {
			b.Fatal(err)
		}
		pos += uint64(len(raw))
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/float64(len(raw)/40), "cpu-ns/record")
}
