package assemble

import (
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"wprof/format"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/test/race"
)

// heapWatch is an output that looks at the heap now and then.
type heapWatch struct {
	writes  int
	written int
	peak    uint64
}

func (h *heapWatch) Write(b []byte) (int, error) {
	h.written += len(b)
	if h.writes++; h.writes%16 == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		h.peak = max(h.peak, m.HeapInuse)
	}
	return len(b), nil
}

// watchHeap returns a heapWatch. Until the test ends, garbage is collected as often as in the tools.
func watchHeap(t *testing.T) *heapWatch {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	return &heapWatch{}
}

// createSpool returns a spool to write, which is closed when the test ends, and a function for the errors of writing it.
func createSpool(t testing.TB) (w *spool.Writer, must func(error)) {
	t.Helper()
	must = func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := spool.Create(filepath.Join(t.TempDir(), "x.part"))
	must(err)
	t.Cleanup(func() { _ = w.Close() })
	return w, must
}

// TestMemoryIsBoundedWhateverARoundHolds: 128 rings that were full when they were drained, which no clock has cut into
// smaller parts.
func TestMemoryIsBoundedWhateverARoundHolds(t *testing.T) {
	race.Skip(t)
	t.Run("whole records", func(t *testing.T) { boundMemoryOfARound(t, appendSwitch) })
	t.Run("packed records", func(t *testing.T) {
		boundMemoryOfARound(t, func(to []byte, time int64, cpu int, prev, next uint32) []byte {
			if len(to) == 0 {
				return appendSwitch(to, time, cpu, prev, next)
			}
			return appendPackedSwitch(to, time, cpu, prev, next)
		})
	})
}

func boundMemoryOfARound(t *testing.T, appendSwitch func(to []byte, time int64, cpu int, prev, next uint32) []byte) {
	const rings, perRing, bound = 128, 1 << 20, 128 << 20
	w, must := createSpool(t)
	must(w.Begin(spool.Header{Session: &format.Session{Id: 1}, Rings: rings}))
	must(w.Open(1))
	r := spool.Round{}
	events, last := uint64(0), int64(0)
	for ring := range rings {
		var raw []byte
		for at := int64(2 + ring); len(raw) < perRing; at += rings {
			raw = appendSwitch(raw, at, ring, uint32(1000+2*ring), uint32(1001+2*ring))
			last = max(last, at)
			events++
		}
		must(w.Ring(ring, 0, raw))
		r.Producer = append(r.Producer, uint64(len(raw)))
	}
	r.Drained, r.Time = r.Producer, last+1
	must(w.Round(r))
	must(w.End(spool.Tail{Close: last + 1}))
	s, err := w.Spool()
	must(err)
	watch := watchHeap(t)
	summary, err := Finalise(s, format.NewWriter(watch, format.WriterOptions{}), Options{})
	must(err)
	if got := summary.Events[format.KindSwitch]; got != events || summary.Late != 0 {
		t.Errorf("%d switches, %d of them late; want %d and none", got, summary.Late, events)
	}
	if watch.peak > bound {
		t.Errorf("the heap had %d MiB in use, want at most %d, for a round of %d", watch.peak>>20, bound>>20, w.Bytes()>>20)
	}
	t.Logf("heap in use: %d MiB at most, for a round of %d MiB", watch.peak>>20, w.Bytes()>>20)
}

// TestMemoryIsBoundedWhateverStacksThereAre: no two samples share a frame, let alone a stack.
func TestMemoryIsBoundedWhateverStacksThereAre(t *testing.T) {
	race.Skip(t)
	const samples, bound = 60_000, 192 << 20
	w, must := createSpool(t)
	must(w.Begin(spool.Header{Session: &format.Session{Id: 1}, Rings: 1, Sources: []*format.Source{{Id: 1}}}))
	must(w.Sideband(sideband.Append(nil, &sideband.Record{
		Kind: sideband.KindMap, Time: 1, PID: 100, Start: 1 << 30, Length: 1 << 40, Path: []byte("/bin/x"),
	})))
	must(w.Open(2))
	random := rand.New(rand.NewPCG(1, 2))
	var ring []byte
	pos, now := uint64(0), int64(100)
	for id := range uint64(samples) {
		ring = appendStack(ring, now, id+1, 100, 30, func(int) uint64 { return 1<<30 + random.Uint64N(1<<33) })
		ring = appendSample(ring, now, 100, id+1, 0)
		if now += 100; id%1000 == 999 {
			must(w.Ring(0, pos, ring))
			pos += uint64(len(ring))
			ring = ring[:0]
			must(w.Round(spool.Round{Time: now, Producer: []uint64{pos}, Drained: []uint64{pos}}))
		}
	}
	must(w.End(spool.Tail{Close: now}))
	s, err := w.Spool()
	must(err)
	watch := watchHeap(t)
	summary, err := Finalise(s, format.NewWriter(watch, format.WriterOptions{}), Options{Names: textNamer{}})
	must(err)
	if summary.Samples != samples || summary.Stacks.User != samples || summary.Sections < 3 {
		t.Errorf("%d samples, %d with a stack, in %d sections; want %d in a few", summary.Samples, summary.Stacks.User, summary.Sections, samples)
	}
	if watch.peak > bound {
		t.Errorf("the heap had %d MiB in use, want at most %d", watch.peak>>20, bound>>20)
	}
	t.Logf("heap in use: %d MiB at most, %d sections", watch.peak>>20, summary.Sections)
}

// TestMemoryIsBoundedWhateverThreadsThereAre: no thread is ever known to have ended.
func TestMemoryIsBoundedWhateverThreadsThereAre(t *testing.T) {
	race.Skip(t)
	const switches, bound = 1_500_000, 200 << 20
	w, must := createSpool(t)
	must(w.Begin(spool.Header{Session: &format.Session{Id: 1}, Rings: 1}))
	must(w.Open(2))
	var ring []byte
	pos, now := uint64(0), int64(100)
	for i := range uint32(switches) {
		ring = appendSwitch(ring, now, 0, 10+i, 11+i)
		if now += 100; i%1000 == 999 {
			must(w.Ring(0, pos, ring))
			pos += uint64(len(ring))
			ring = ring[:0]
			must(w.Round(spool.Round{Time: now, Producer: []uint64{pos}, Drained: []uint64{pos}}))
		}
	}
	must(w.End(spool.Tail{Close: now}))
	s, err := w.Spool()
	must(err)
	watch := watchHeap(t)
	summary, err := Finalise(s, format.NewWriter(watch, format.WriterOptions{Level: 1}), Options{})
	must(err)
	if n := summary.Events[format.KindSwitch]; n != switches || summary.LostByCause[format.CauseDefinition] < switches/2 {
		t.Errorf("%d switches, want %d; %d threads were dropped, want most", n, switches, summary.LostByCause[format.CauseDefinition])
	}
	if watch.peak > bound {
		t.Errorf("the heap had %d MiB in use, want at most %d", watch.peak>>20, bound>>20)
	}
	t.Logf("heap in use: %d MiB at most, %d sections", watch.peak>>20, summary.Sections)
}
