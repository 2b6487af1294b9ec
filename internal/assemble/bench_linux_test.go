package assemble

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

// pingPong writes a spool of two CPUs with a ring each, on each of which two threads wake each other in rounds of 25 ms.
func pingPong(tb testing.TB, events int) *spool.Spool {
	tb.Helper()
	w, must := createSpool(tb)
	const start = int64(1e12)
	must(w.Begin(spool.Header{Session: &format.Session{Id: 7, Host: "bench"}, Rings: 2, RecorderPID: 1}))
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
		must(w.Round(spool.Round{Time: now, Producer: pos[:], Drained: pos[:]}))
	}
	for n := 0; n < events; n += 2 {
		cpu := n / 2 % 2
		a, b := uint32(100+2*cpu), uint32(101+2*cpu)
		if n/4%2 == 1 {
			a, b = b, a
		}
		if len(rings[cpu]) == 0 {
			rings[cpu] = appendWaking(rings[cpu], now, cpu, a, b)
		} else {
			rings[cpu] = appendPackedWaking(rings[cpu], now, cpu, a, b)
		}
		rings[cpu] = appendPackedSwitch(rings[cpu], now+700+int64(jitter.IntN(100)), cpu, a, b)
		now += 1200 + int64(jitter.IntN(300))
		if now > round {
			flush()
			round = now + 25e6
		}
	}
	flush()
	must(w.End(spool.Tail{Close: now}))
	s, err := w.Spool()
	must(err)
	return s
}

// BenchmarkFinalise reports CPU time, of all threads, beside the time that passed: the machine is shared.
func BenchmarkFinalise(b *testing.B) {
	const events = 1_000_000
	for level, name := range []string{"plain", "zstd"} {
		b.Run(name, func(b *testing.B) {
			s := pingPong(b, events)
			b.ResetTimer()
			before := cpuTime(b)
			out := &counter{}
			for range b.N {
				if _, err := Finalise(s, format.NewWriter(out, format.WriterOptions{Level: level}), Options{}); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(b.N) * events
			b.ReportMetric(float64(cpuTime(b)-before)/n, "cpu-ns/event")
			b.ReportMetric(float64(out.n)/n, "bytes/event")
		})
	}
}

// sampled writes a spool of samples: 4 processes that share 20 files, 4,000 stacks of 30 user and 10 kernel frames, defined
// once in each generation of 2 s.
func sampled(tb testing.TB, samples int) *spool.Spool {
	tb.Helper()
	w, must := createSpool(tb)
	const start, processes, stacks = int64(1e12), 4, 4000
	must(w.Begin(spool.Header{
		Session: &format.Session{Id: 7, Host: "bench"}, Rings: 1, RecorderPID: 1,
		Sources: []*format.Source{{Id: 1, Name: "timer", Period: 1e6}},
	}))
	symbols, err := spool.PackKallsyms(strings.NewReader("ffffffff81000000 T _text\n"))
	must(err)
	must(w.Kallsyms(symbols))
	var tasks, side []byte
	for pid := uint32(100); pid < 100+processes; pid++ {
		tasks = append(tasks, taskRecord(start-1000, pid)...)
		for file := range uint64(20) {
			side = sideband.Append(side, &sideband.Record{
				Kind: sideband.KindMap, Time: start - 900, PID: pid, Start: 0x400000 + file<<24, Length: 1 << 24,
				Path: fmt.Appendf(nil, "/lib/lib%d.so", file), BuildID: fmt.Appendf(nil, "build-id%d", file),
			})
		}
	}
	must(w.Tasks(tasks))
	must(w.Sideband(side))
	must(w.Open(start))
	random := rand.New(rand.NewPCG(1, 2))
	var users [stacks][]uint64
	for i := range users {
		for range 30 {
			users[i] = append(users[i], 0x400000+random.Uint64N(20)<<24+random.Uint64N(500)*64)
		}
	}
	var ring []byte
	pos, now, round, generation := uint64(0), start, start+25e6, start
	defined := make(map[uint64]bool)
	flush := func() {
		must(w.Ring(0, pos, ring))
		pos += uint64(len(ring))
		ring = ring[:0]
		must(w.Round(spool.Round{Time: now, Producer: []uint64{pos}, Drained: []uint64{pos}}))
	}
	define := func(id uint64, pid uint32, at []uint64) {
		if defined[id] {
			return
		}
		defined[id] = true
		ring = appendStack(ring, now, id, pid, len(at), func(i int) uint64 { return at[i] })
	}
	kernel := make([]uint64, 10)
	for range samples {
		pid := uint32(100 + random.IntN(processes))
		n := random.Uint64N(stacks)
		user, inKernel := n*processes+uint64(pid), n%200+1<<40
		define(user, pid, users[n])
		for i := range kernel {
			kernel[i] = 0xffffffff81000000 + (n%200)*4096 + uint64(i)*128
		}
		define(inKernel, 0, kernel)
		ring = appendSample(ring, now, pid, user, inKernel)
		now += 10_000
		if now > round {
			flush()
			round = now + 25e6
		}
		if now > generation+2e9 {
			clear(defined)
			generation = now
		}
	}
	flush()
	must(w.End(spool.Tail{Close: now}))
	s, err := w.Spool()
	must(err)
	return s
}

// oneName names every place at once, so that what a namer costs is not counted.
type oneName struct{}

func (oneName) Names(_ *format.Module, at []symbol.Address, out []symbol.Name) error {
	for i := range at {
		out[i] = symbol.Name{Function: "a_function_of_some_length", Offset: at[i].Offset % 4096, OK: true}
	}
	return nil
}

// BenchmarkFinaliseSamples has 100,000 samples a second: a definition for each tenth of them or so.
func BenchmarkFinaliseSamples(b *testing.B) {
	const samples = 1_000_000
	s := sampled(b, samples)
	for name, o := range map[string]Options{"unnamed": {}, "named": {Names: oneName{}}} {
		b.Run(name, func(b *testing.B) {
			before := cpuTime(b)
			out := &heapWatch{}
			for range b.N {
				if _, err := Finalise(s, format.NewWriter(out, format.WriterOptions{Level: 1}), o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/samples, "cpu-ns/sample")
			b.ReportMetric(float64(out.peak)/(1<<20), "heap-MiB")
			b.ReportMetric(float64(out.written)/float64(b.N)/samples, "bytes/sample")
		})
	}
}

// BenchmarkWrite is the capture side: 256 KiB of a ring with one call.
func BenchmarkWrite(b *testing.B) {
	raw := make([]byte, 0, 256<<10)
	for len(raw) < cap(raw)-64 {
		raw = appendSwitch(raw, int64(len(raw)), 0, 1, 2)
	}
	w, err := spool.CreateUnlinked(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	if err := w.Begin(spool.Header{Session: &format.Session{}, Rings: 1}); err != nil {
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
