package format

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// FuzzReader reads whatever it is given as a pipe and as a file. Nothing may panic, times must not decrease, and
// the events of both agree if the file's sections are accepted.
func FuzzReader(f *testing.F) {
	f.Add(encodeStream(f, randomEvents(rand.New(rand.NewPCG(1, 2)), 60), WriterOptions{BlockBytes: 1 << 10}))
	f.Add(encodeStream(f, numbered(200), WriterOptions{Level: 1, BlockBytes: 1 << 10}))
	f.Add(withStates(f, 2)[:4000])
	f.Add([]byte(blockMarker))
	for _, part := range captureParts(f) {
		f.Add(part)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		fromPipe := fuzzRead(t, pipe(stream))
		r, err := NewReader(bytes.NewReader(stream))
		if err != nil {
			return
		}
		fromFile, err := rest(r)
		if err == nil && fromPipe != nil {
			sameEvents(t, fromFile, fromPipe)
		}
		if err := r.SeekTime(1 << 40); err == nil {
			_, _ = rest(r)
		}
	})
}

// FuzzEventBlock fuzzes the columns: FuzzReader seldom reaches them, because of the checksums.
func FuzzEventBlock(f *testing.F) {
	b := NewEventBlock()
	for _, e := range randomEvents(rand.New(rand.NewPCG(5, 6)), 40) {
		if err := b.Add(&e); err != nil {
			f.Fatal(err)
		}
	}
	h := b.Header()
	f.Add(b.AppendPayload(nil), h.First, h.Last, h.Events)
	for _, b := range captureBlocks(f) {
		if b.Header.Type == BlockEvents {
			f.Add(b.Payload, b.Header.First, b.Header.Last, b.Header.Events)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte, first, last int64, events uint32) {
		h := BlockHeader{Type: BlockEvents, First: first, Last: last, Events: events}
		at := first
		err := DecodeEvents(&Block{Header: h, Payload: payload}, func(e *Event) error {
			if e.Time < at || e.Time > last {
				t.Fatalf("an event at %d, after %d, in a block up to %d", e.Time, at, last)
			}
			at = e.Time
			return nil
		})
		if err != nil && !errors.Is(err, errMalformed) {
			t.Fatal(err)
		}
	})
}

func fuzzRead(t *testing.T, in io.Reader) []Event {
	events, r, err := readAll(in)
	if err != nil {
		return nil
	}
	for i := 1; i < len(events); i++ {
		if events[i].Time < events[i-1].Time {
			t.Fatalf("an event at %d after one at %d", events[i].Time, events[i-1].Time)
		}
	}
	_, _, _, _ = r.Session(), r.End(), r.Clocks(), r.Damage()
	return events
}
