package assemble

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

// spoolOf returns a spool with the bytes of one ring, drained in one round at the close of the window.
func spoolOf(t *testing.T, raw []byte, end int64) *spool.Spool {
	t.Helper()
	w, must := createSpool(t)
	pos := uint64(len(raw))
	must(w.Begin(spool.Header{Session: &format.Session{Id: 1}, Rings: 1}))
	must(w.Open(900))
	must(w.Ring(0, 0, raw))
	must(w.Round(spool.Round{Time: end, Producer: []uint64{pos}, Drained: []uint64{pos}}))
	must(w.End(spool.Tail{Close: end}))
	s, err := w.Spool()
	must(err)
	return s
}

// TestRingBytesSurvivePieces: a run longer than a chunk is cut within records and comes back whole.
func TestRingBytesSurvivePieces(t *testing.T) {
	const events = 30_000
	var raw []byte
	for i := range events {
		raw = appendSwitch(raw, int64(1000+i), 0, 10, 11)
	}
	if len(raw) < 8*spool.PieceBytes(1) {
		t.Fatalf("%d bytes are too few", len(raw))
	}
	summary, err := Finalise(spoolOf(t, raw, 1000+events), format.NewWriter(io.Discard, format.WriterOptions{}), Options{})
	if err != nil || summary.Events[format.KindSwitch] != events || summary.Damage != nil || summary.Late != 0 {
		t.Errorf("%+v, %v; want %d switches", summary, err, events)
	}
}

func TestTaskListsMayComeInPiecesOfAnyLength(t *testing.T) {
	for _, piece := range []int{1, 7, ringdata.TaskSize, 1000, 1 << 20} {
		w, must := createSpool(t)
		must(w.Begin(spool.Header{Session: &format.Session{Id: 1}, Rings: 1}))
		var list []byte
		for tid := range uint32(2000) {
			list = append(list, taskRecord(100, tid+1)...)
		}
		for len(list) > 0 {
			n := min(piece, len(list))
			must(w.Tasks(list[:n]))
			list = list[n:]
		}
		must(w.Open(200))
		must(w.End(spool.Tail{Close: 300}))
		s, err := w.Spool()
		must(err)
		var out bytes.Buffer
		summary, err := Finalise(s, format.NewWriter(&out, format.WriterOptions{}), Options{})
		if got := summary.Events[format.KindStateThread]; err != nil || got != 2*2000 {
			t.Errorf("pieces of %d: %d states of threads, %v; want 2000 at the opening and at the close", piece, got, err)
		}
	}
}

// TestRecordsAreSortedHoweverMixedTheyAre: up to the round's clock nothing is late, whatever the order in the ring.
func TestRecordsAreSortedHoweverMixedTheyAre(t *testing.T) {
	const events = 3000
	times := rand.New(rand.NewPCG(1, 2)).Perm(events)
	var raw []byte
	for _, at := range times {
		raw = appendWaking(raw, int64(1000+at), 0, 10, 11)
	}
	var stream bytes.Buffer
	summary, err := Finalise(spoolOf(t, raw, 1000+events), format.NewWriter(&stream, format.WriterOptions{}), Options{})
	if err != nil || summary.Late != 0 || summary.Events[format.KindWaking] != events {
		t.Errorf("%+v, %v; want %d wakings and none late", summary, err, events)
	}
	checkStream(t, stream.Bytes())
}
