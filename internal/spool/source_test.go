package spool

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"wprof/format"
)

// TestRecordsAreSortedHoweverMixedTheyAre: up to the round's clock nothing is late, whatever the order in the ring.
func TestRecordsAreSortedHoweverMixedTheyAre(t *testing.T) {
	const events = 3000
	times := rand.New(rand.NewPCG(1, 2)).Perm(events)
	var raw []byte
	for _, at := range times {
		raw = appendWaking(raw, int64(1000+at), 0, 10, 11)
	}
	path := t.TempDir() + "/x.part"
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pos := uint64(len(raw))
	for _, err := range []error{
		w.Begin(Header{Session: &format.Session{Id: 1}, Rings: 1}),
		w.Open(900),
		w.Ring(0, 0, raw),
		w.Round(Round{Time: 1000 + events, Producer: []uint64{pos}, Drained: []uint64{pos}}),
		w.End(Tail{Close: 1000 + events}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Spool()
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	summary, err := s.Finalise(format.NewWriter(&stream, format.WriterOptions{}), Options{})
	if err != nil || summary.Late != 0 || summary.Events[format.KindWaking] != events {
		t.Errorf("%+v, %v; want %d wakings and none late", summary, err, events)
	}
	checkStream(t, stream.Bytes())
}

func TestMarkIsTheClockOfTheLastRoundThatWasDrainedWhole(t *testing.T) {
	s := &source{}
	var got []int64
	for _, r := range []struct {
		time              int64
		producer, drained uint64
	}{
		{10, 100, 100}, {20, 200, 150}, {30, 300, 150}, {40, 400, 200}, {50, 400, 299}, {60, 500, 300}, {70, 500, 500},
	} {
		s.roundEnded(r.time, r.producer, r.drained)
		got = append(got, s.mark)
	}
	if want := []int64{10, 10, 10, 20, 20, 30, 70}; !slices.Equal(got, want) {
		t.Errorf("marks %v, want %v", got, want)
	}
}
