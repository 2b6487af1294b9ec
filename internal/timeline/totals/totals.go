// Package totals adds up the times of threads by package timeline, for tests of what renders a stream.
package totals

import (
	"bytes"
	"testing"

	"wprof/format"
	"wprof/internal/timeline"
)

// Totals is the time of all threads on and off the CPU, ns.
type Totals struct{ Running, Off int64 }

// Of returns the totals of a stream.
func Of(t testing.TB, stream []byte) (all Totals) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	v := &visitor{}
	v.Spans = timeline.NewSpans(r, func(s *timeline.Span) {
		switch {
		case s.Thread.Idle() || s.Kind == timeline.SpanUnknown:
		case s.Kind == timeline.SpanRunning:
			all.Running += s.To - s.From
		default:
			all.Off += s.To - s.From
		}
	})
	if err := timeline.Visit(r, v); err != nil {
		t.Fatal(err)
	}
	return all
}

type visitor struct{ *timeline.Spans }

func (v *visitor) NewSection(s *format.Session) error { v.Spans.NewSection(s); return nil }
func (v *visitor) Open(_ *format.Session, at, _ int64, _ bool) error {
	v.Spans.Open(at)
	return nil
}
func (v *visitor) Event(e *format.Event) error { v.Apply(e); return nil }
func (v *visitor) Close(at int64) error        { v.Spans.Close(at); return nil }
