package tracks

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"wprof/format"
	"wprof/internal/timeline"
)

// A batch goes to the encoder when it has this many calls, holds this much data of any size, or covers this much of the stream's
// time, which matters for live input.
const (
	batchCalls = 4096
	batchBytes = 1 << 20
	batchNs    = int64(50e6)
	batches    = 3
)

// asyncEncoder is an [Encoder] that passes calls on to another one, in order, on a separate goroutine. It copies arguments that are
// valid only until a call returns. Batches are reused, so nothing is allocated for a call.
type asyncEncoder struct {
	enc     Encoder
	events  EventEncoder // nil: enc is none
	current *batch
	full    chan *batch
	free    chan *batch
	done    chan struct{}
	failed  atomic.Pointer[error] // what Flush of enc returned
}

// call is a method of Encoder or EventEncoder; callRare stands for all that are not called with every event.
type call uint8

const (
	callEvent call = iota
	callSlice
	callInstant
	callSample
	callItem
	callNote
	callFlush
	callRare
)

// batch holds calls in order, and their arguments by method.
type batch struct {
	calls    []call
	events   []Event
	raw      []format.Event // of events
	slices   []Slice
	spans    []timeline.Span // of slices
	instants []Instant
	samples  []Sample
	items    []Item
	notes    []Note
	rare     []func()
	data     []byte         // of raw and instants
	counts   []format.Count // of slices and samples
	memory   int            // bytes of data and of what items refer to
	from, to int64          // times of the first and the last call that has one; 0: none has
}

func startAsync(enc Encoder) *asyncEncoder {
	b := &asyncEncoder{enc: enc, full: make(chan *batch, batches), free: make(chan *batch, batches), done: make(chan struct{})}
	b.events, _ = enc.(EventEncoder)
	for range batches - 1 {
		b.free <- &batch{}
	}
	b.current = &batch{}
	go b.run()
	return b
}

// encoder returns what the drawer calls: an [EventEncoder] if enc is one.
func (b *asyncEncoder) encoder() Encoder {
	if b.events != nil {
		return asyncEventEncoder{b}
	}
	return b
}

// finish waits until all calls are passed on, and returns the encoder's error.
func (b *asyncEncoder) finish() error {
	b.send()
	close(b.full)
	<-b.done
	return b.err()
}

func (b *asyncEncoder) err() error {
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// send passes the current batch to the encoder's goroutine and takes a free one.
func (b *asyncEncoder) send() {
	b.full <- b.current
	b.current = <-b.free
}

func (b *asyncEncoder) run() {
	defer close(b.done)
	for t := range b.full {
		if b.err() == nil {
			t.encode(b)
		}
		t.clear()
		b.free <- t
	}
}

// encode makes the calls, up to one that fails.
func (t *batch) encode(b *asyncEncoder) {
	var event, slice, instant, sample, item, note, rare int
	for _, c := range t.calls {
		switch c {
		case callEvent:
			t.events[event].Event = &t.raw[event]
			b.events.Event(&t.events[event])
			event++
		case callSlice:
			t.slices[slice].Span = &t.spans[slice]
			b.enc.Slice(&t.slices[slice])
			slice++
		case callInstant:
			b.enc.Instant(&t.instants[instant])
			instant++
		case callSample:
			b.enc.Sample(&t.samples[sample])
			sample++
		case callItem:
			b.enc.Item(&t.items[item])
			item++
		case callNote:
			b.enc.Note(&t.notes[note])
			note++
		case callFlush:
			if err := b.enc.Flush(); err != nil {
				failed := err // so that only an error is allocated
				b.failed.Store(&failed)
				return
			}
		case callRare:
			t.rare[rare]()
			rare++
		}
	}
}

func (t *batch) clear() {
	// Otherwise the batch would keep what they point to in memory.
	clear(t.events)
	clear(t.slices)
	clear(t.instants)
	clear(t.items)
	clear(t.rare)
	if len(t.data) > 0 {
		clear(t.raw)
	}
	if cap(t.data) > 2*batchBytes {
		t.data = nil
	}
	*t = batch{
		calls: t.calls[:0], events: t.events[:0], raw: t.raw[:0], slices: t.slices[:0], spans: t.spans[:0], instants: t.instants[:0],
		samples: t.samples[:0], items: t.items[:0], notes: t.notes[:0], rare: t.rare[:0], data: t.data[:0], counts: t.counts[:0],
	}
}

// copied returns bytes that stay valid until the batch is cleared.
func (t *batch) copied(data []byte) []byte {
	n := len(t.data)
	t.data = append(t.data, data...)
	t.memory += len(data)
	return t.data[n:len(t.data):len(t.data)]
}

// later queues a rare call.
func (b *asyncEncoder) later(do func()) {
	t := b.add(callRare, b.current.to)
	t.rare = append(t.rare, do)
}

// Section implements [Encoder].
func (b *asyncEncoder) Section(s *format.Session) { b.later(func() { b.enc.Section(s) }) }

// Open implements [Encoder].
func (b *asyncEncoder) Open(at int64, s *format.Session) { b.later(func() { b.enc.Open(at, s) }) }

// Close implements [Encoder].
func (b *asyncEncoder) Close(at int64) { b.later(func() { b.enc.Close(at) }) }

// add adds a call at a time to the current batch, and returns it. One event may lead to very many calls: when threads are dropped, each
// has a slice.
func (b *asyncEncoder) add(c call, at int64) *batch {
	if len(b.current.calls) >= 2*batchCalls {
		b.send()
	}
	t := b.current
	if t.to == 0 {
		t.from = at
	}
	t.to = at
	t.calls = append(t.calls, c)
	return t
}

// Slice implements [Encoder].
func (b *asyncEncoder) Slice(s *Slice) {
	t := b.add(callSlice, s.To)
	t.slices = append(t.slices, *s)
	t.spans = append(t.spans, *s.Span)
	t.spans[len(t.spans)-1].Thread, t.spans[len(t.spans)-1].Counts = nil, nil // the reader changes them meanwhile
	t.slices[len(t.slices)-1].Counts = t.copiedCounts(s.Counts)
}

// copiedCounts is [batch.copied] of counts.
func (t *batch) copiedCounts(counts []format.Count) []format.Count {
	if len(counts) == 0 {
		return nil
	}
	n := len(t.counts)
	t.counts = append(t.counts, counts...)
	return t.counts[n:len(t.counts):len(t.counts)]
}

// Instant implements [Encoder].
func (b *asyncEncoder) Instant(i *Instant) {
	t := b.add(callInstant, i.At)
	t.instants = append(t.instants, *i)
	if len(i.Path) > 0 {
		t.instants[len(t.instants)-1].Path = t.copied(i.Path)
	}
}

// Sample implements [Encoder].
func (b *asyncEncoder) Sample(s *Sample) {
	t := b.add(callSample, s.At)
	t.samples = append(t.samples, *s)
	t.samples[len(t.samples)-1].Counts = t.copiedCounts(s.Counts)
}

// Item implements [Encoder].
func (b *asyncEncoder) Item(i *Item) {
	t := b.add(callItem, i.To)
	t.items = append(t.items, *i)
	t.items[len(t.items)-1].Args = slices.Clone(i.Args)
	for n := range i.Args {
		t.memory += int(unsafe.Sizeof(i.Args[n])) + len(i.Args[n].Text)
	}
}

// Note implements [Encoder].
func (b *asyncEncoder) Note(n *Note) {
	t := b.add(callNote, n.To)
	t.notes = append(t.notes, *n)
}

// Flush implements [Encoder].
func (b *asyncEncoder) Flush() error {
	t := b.current
	t.calls = append(t.calls, callFlush)
	if len(t.calls) < batchCalls && t.memory < batchBytes && t.to-t.from < batchNs {
		return nil
	}
	b.send()
	return b.err()
}

// asyncEventEncoder is an asyncEncoder of an [EventEncoder].
type asyncEventEncoder struct{ *asyncEncoder }

// Event implements [EventEncoder].
func (b asyncEventEncoder) Event(e *Event) {
	t := b.add(callEvent, e.Time)
	t.events = append(t.events, *e)
	t.raw = append(t.raw, *e.Event)
	if len(e.Data) > 0 {
		t.raw[len(t.raw)-1].Data = t.copied(e.Data)
	}
}

// Clock implements [EventEncoder].
func (b asyncEventEncoder) Clock(s *format.ClockSnapshot) { b.later(func() { b.events.Clock(s) }) }
