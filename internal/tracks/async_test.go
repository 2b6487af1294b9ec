package tracks

import (
	"errors"
	"fmt"
	"testing"

	"wprof/format"
	"wprof/internal/timeline"
)

// noted is an encoder that logs its calls.
type noted struct {
	calls []string
	fail  error
}

func (n *noted) note(what string, args ...any) { n.calls = append(n.calls, fmt.Sprintln(what, args)) }

func (n *noted) Section(s *format.Session)        { n.note("section", s.Id) }
func (n *noted) Open(at int64, s *format.Session) { n.note("open", at, s.Id) }
func (n *noted) Slice(s *Slice)                   { n.note("slice", s.From, s.To, s.Task.Def.Tid) }
func (n *noted) Instant(i *Instant)               { n.note("instant", i.At, string(i.Path)) }
func (n *noted) Sample(s *Sample)                 { n.note("sample", s.At) }
func (n *noted) Item(i *Item)                     { n.note("item", i.From, i.Args) }
func (n *noted) Note(o *Note)                     { n.note("note", o.From, o.Name) }
func (n *noted) Close(at int64)                   { n.note("close", at) }
func (n *noted) Flush() error                     { n.note("flush"); return n.fail }
func (n *noted) Event(e *Event)                   { n.note("event", e.Time, e.Args[0], string(e.Data)) }
func (n *noted) Clock(s *format.ClockSnapshot)    { n.note("clock", s.Monotonic) }

// Arguments arrive as they were at the call, although the caller reuses them.
func TestCallsArriveInOrder(t *testing.T) {
	got, want := new(noted), new(noted)
	b := startAsync(got)
	calls := b.encoder().(EventEncoder)
	session := &format.Session{Id: 7}
	calls.Section(session)
	want.Section(session)
	calls.Open(1, session)
	want.Open(1, session)
	var raw format.Event
	e, s, i := Event{Event: &raw}, Slice{Span: new(timeline.Span), Task: &Task{Def: &format.Task{Tid: 5}}}, Instant{}
	sample, item, note := Sample{}, Item{Args: make([]Arg, 1)}, Note{Name: "x"}
	data := make([]byte, 0, 64)
	for n := range int64(3 * batches * batchCalls) {
		data = fmt.Append(data[:0], n)
		raw.Time, raw.Args[0], raw.Data = n, uint64(n), data
		s.From, s.To, i.At, i.Path, sample.At = n, n+1, n, data, n
		item.From, item.Args[0].Number, note.From = n, uint64(n), n
		calls.Event(&e)
		want.Event(&e)
		switch n % 7 {
		case 0:
			calls.Slice(&s)
			want.Slice(&s)
		case 1:
			calls.Instant(&i)
			want.Instant(&i)
		case 2:
			calls.Sample(&sample)
			want.Sample(&sample)
		case 3:
			calls.Item(&item)
			want.Item(&item)
		case 4:
			calls.Note(&note)
			want.Note(&note)
		case 5:
			clock := &format.ClockSnapshot{Monotonic: n}
			calls.Clock(clock)
			want.Clock(clock)
		}
		_ = want.Flush()
		if err := calls.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	calls.Close(9)
	want.Close(9)
	if err := b.finish(); err != nil {
		t.Fatal(err)
	}
	if len(got.calls) != len(want.calls) {
		t.Fatalf("%d calls arrive, want %d", len(got.calls), len(want.calls))
	}
	for i := range want.calls {
		if got.calls[i] != want.calls[i] {
			t.Fatalf("call %d is %q, want %q", i, got.calls[i], want.calls[i])
		}
	}
}

// The error of an encoder reaches the caller, who may go on.
func TestErrorOfAnEncoderComesBack(t *testing.T) {
	broken := &noted{fail: errors.New("disk full")}
	b := startAsync(broken)
	calls := b.encoder().(EventEncoder)
	e := Event{Event: new(format.Event)}
	var err error
	for range 100 * batchCalls {
		calls.Event(&e)
		if err = calls.Flush(); err != nil {
			break
		}
	}
	calls.Close(9)
	if last := b.finish(); !errors.Is(err, broken.fail) || !errors.Is(last, broken.fail) {
		t.Errorf("the errors are %v, and at the end %v", err, last)
	}
	if n := len(broken.calls); n != 2 {
		t.Errorf("%d calls were made, want an event and Flush, which fails", n)
	}
}

// silent accepts the calls that every event causes, and does nothing.
type silent struct{ noted }

func (*silent) Event(*Event) {}
func (*silent) Slice(*Slice) {}
func (*silent) Flush() error { return nil }

func TestNothingIsAllocatedForACall(t *testing.T) {
	b := startAsync(new(silent))
	calls := b.encoder().(EventEncoder)
	e, s := Event{Event: &format.Event{Data: []byte("program")}}, Slice{Span: new(timeline.Span)}
	const events = 20 * batchCalls
	allocated := testing.AllocsPerRun(3, func() {
		for range events {
			calls.Event(&e)
			calls.Slice(&s)
			_ = calls.Flush()
		}
	})
	if allocated > events/1000 {
		t.Errorf("%v allocations for %d events", allocated, events)
	}
	if err := b.finish(); err != nil {
		t.Fatal(err)
	}
}

// A batch is sent when it refers to much memory, even after few calls.
func TestBatchesAreBoundedByWhatTheyHold(t *testing.T) {
	b := startAsync(new(silent))
	calls := b.encoder().(EventEncoder)
	e := Event{Event: &format.Event{Data: make([]byte, batchBytes/4)}}
	item := Item{Args: []Arg{{Text: string(make([]byte, batchBytes/4))}}}
	for range 40 {
		calls.Event(&e)
		calls.Item(&item)
		_ = calls.Flush()
		if b.current.memory >= batchBytes {
			t.Fatalf("a batch holds %d bytes and is not handed over", b.current.memory)
		}
	}
	if err := b.finish(); err != nil {
		t.Fatal(err)
	}
}

// Events of which nothing is drawn do not end a batch, wherever they are in it.
func TestBatchesAreFull(t *testing.T) {
	b := startAsync(new(silent))
	calls := b.encoder()
	s := Slice{Span: &timeline.Span{To: 3600e9}}
	for range batchCalls/2 - 1 {
		_ = calls.Flush()
		calls.Slice(&s)
	}
	if n := len(b.current.calls); n != batchCalls-2 {
		t.Errorf("the batch holds %d calls, want %d", n, batchCalls-2)
	}
	if err := b.finish(); err != nil {
		t.Fatal(err)
	}
}
