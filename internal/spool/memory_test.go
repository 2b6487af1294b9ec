package spool

import (
	"path/filepath"
	"runtime"
	"testing"

	"wprof/format"
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

// TestMemoryIsBoundedWhateverARoundHolds: 128 rings that were full when they were drained, which no clock has cut into
// smaller parts.
func TestMemoryIsBoundedWhateverARoundHolds(t *testing.T) {
	const rings, perRing, bound = 128, 1 << 20, 128 << 20
	w, err := Create(filepath.Join(t.TempDir(), "x.part"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.Begin(Header{Session: &format.Session{Id: 1}, Rings: rings}))
	must(w.Open(1))
	r := Round{}
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
	must(w.End(Tail{Close: last + 1}))
	s, err := w.Spool()
	must(err)
	watch := &heapWatch{}
	summary, err := s.Finalise(format.NewWriter(watch, format.WriterOptions{}), Options{})
	must(err)
	if got := summary.Events[format.KindSwitch]; got != events || summary.Late != 0 {
		t.Errorf("%d switches, %d of them late; want %d and none", got, summary.Late, events)
	}
	if watch.peak > bound {
		t.Errorf("the heap had %d MiB in use, want at most %d, for a round of %d", watch.peak>>20, bound>>20, w.Bytes()>>20)
	}
	t.Logf("heap in use: %d MiB at most, for a round of %d MiB", watch.peak>>20, w.Bytes()>>20)
}
