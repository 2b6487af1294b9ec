package tracks

import (
	"slices"
	"sync/atomic"

	"wprof/format"
	"wprof/internal/timeline"
)

// A batch goes to the encoder when it has so many calls, or so much of the stream's time, which matters to live input.
const (
	batchCalls = 1024
	batchNs    = int64(50e6)
	batches    = 4
)

// behind passes calls on to an encoder, in order, on a goroutine of its own. It copies what is valid only until a call returns.
// Batches go round, so nothing is allocated for a call.
type behind struct {
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
	callRare
)

// batch is calls in order, and by method what they were called with.
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
	data     []byte // of raw and instants
	from     int64  // time of the event before the first one
}

func startBehind(enc Encoder) *behind {
	b := &behind{enc: enc, full: make(chan *batch, batches), free: make(chan *batch, batches), done: make(chan struct{})}
	b.events, _ = enc.(EventEncoder)
	for range batches - 1 {
		b.free <- &batch{}
	}
	b.current = &batch{}
	go b.run()
	return b
}

// finish waits until all calls are passed on, and returns the encoder's error.
func (b *behind) finish() error {
	b.hand()
	close(b.full)
	<-b.done
	return b.err()
}

func (b *behind) err() error {
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// hand gives the current batch to the encoder and takes a free one.
func (b *behind) hand() {
	b.full <- b.current
	b.current = <-b.free
}

func (b *behind) run() {
	defer close(b.done)
	for t := range b.full {
		if b.err() == nil {
			t.play(b)
			if err := b.enc.Flush(); err != nil {
				failed := err // so that only an error is allocated
				b.failed.Store(&failed)
			}
		}
		t.clear()
		b.free <- t
	}
}

// play makes the calls.
func (t *batch) play(b *behind) {
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
		case callRare:
			t.rare[rare]()
			rare++
		}
	}
}

func (t *batch) clear() {
	clear(t.items) // may be large
	clear(t.rare)
	*t = batch{
		calls: t.calls[:0], events: t.events[:0], raw: t.raw[:0], slices: t.slices[:0], spans: t.spans[:0], instants: t.instants[:0],
		samples: t.samples[:0], items: t.items[:0], notes: t.notes[:0], rare: t.rare[:0], data: t.data[:0],
	}
}

// copied returns bytes that stay valid until the batch is cleared.
func (t *batch) copied(data []byte) []byte {
	n := len(t.data)
	t.data = append(t.data, data...)
	return t.data[n:len(t.data):len(t.data)]
}

// later makes a rare call.
func (b *behind) later(do func()) {
	b.current.calls = append(b.current.calls, callRare)
	b.current.rare = append(b.current.rare, do)
}

func (b *behind) section(s *format.Session)        { b.later(func() { b.enc.Section(s) }) }
func (b *behind) open(at int64, s *format.Session) { b.later(func() { b.enc.Open(at, s) }) }
func (b *behind) close(at int64)                   { b.later(func() { b.enc.Close(at) }) }

func (b *behind) clock(s *format.ClockSnapshot) {
	if b.events != nil {
		b.later(func() { b.events.Clock(s) })
	}
}

func (b *behind) event(e *Event) {
	t := b.current
	t.calls = append(t.calls, callEvent)
	t.events = append(t.events, *e)
	t.raw = append(t.raw, *e.Event)
	if len(e.Data) > 0 {
		t.raw[len(t.raw)-1].Data = t.copied(e.Data)
	}
}

func (b *behind) slice(s *Slice) {
	t := b.current
	t.calls = append(t.calls, callSlice)
	t.slices = append(t.slices, *s)
	t.spans = append(t.spans, *s.Span)
	t.spans[len(t.spans)-1].Thread = nil // it goes on
}

func (b *behind) instant(i *Instant) {
	t := b.current
	t.calls = append(t.calls, callInstant)
	t.instants = append(t.instants, *i)
	if len(i.Path) > 0 {
		t.instants[len(t.instants)-1].Path = t.copied(i.Path)
	}
}

func (b *behind) sample(s *Sample) {
	b.current.calls = append(b.current.calls, callSample)
	b.current.samples = append(b.current.samples, *s)
}

func (b *behind) item(i *Item) {
	t := b.current
	t.calls = append(t.calls, callItem)
	t.items = append(t.items, *i)
	t.items[len(t.items)-1].Args = slices.Clone(i.Args)
}

func (b *behind) note(n *Note) {
	b.current.calls = append(b.current.calls, callNote)
	b.current.notes = append(b.current.notes, *n)
}

// flush is called after everything that is drawn of an event of a time. It returns the encoder's error.
func (b *behind) flush(at int64) error {
	t := b.current
	if len(t.calls) < batchCalls && at-t.from < batchNs {
		return nil
	}
	b.hand()
	b.current.from = at
	return b.err()
}
