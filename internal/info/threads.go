package info

import (
	"fmt"
	"io"

	"wprof/format"
	"wprof/internal/timeline"
)

// ThreadTimes adds up what the threads of a recording, except idle ones, did from the opening of the window to To, ns.
type ThreadTimes struct {
	Running, Runnable, Blocked, Unknown int64

	To  int64 // end of the window or, unless All, time of the last event that was read
	All bool  // all events were read
}

func (t *ThreadTimes) add(s *timeline.Span) {
	sum := &t.Unknown
	switch s.Kind {
	case timeline.SpanRunning:
		sum = &t.Running
	case timeline.SpanRunnable:
		sum = &t.Runnable
	case timeline.SpanBlocked, timeline.SpanNew:
		sum = &t.Blocked
	}
	*sum = format.Sum(*sum, s.To-s.From)
}

// any reports whether the events show what a thread did.
func (t *ThreadTimes) any() bool { return t.Running+t.Runnable+t.Blocked > 0 }

// threadReader adds up the times of threads, one recording after the other.
type threadReader struct {
	spans   *timeline.Spans
	session *format.Session
	closed  int64        // when the section ended, by its end block
	times   *ThreadTimes // of the current recording
	last    int64        // time of the latest event
}

func newThreadReader(stream *format.Reader) *threadReader {
	r := &threadReader{times: new(ThreadTimes)}
	r.spans = timeline.NewSpans(stream, func(s *timeline.Span) {
		if !s.Thread.Idle() {
			r.times.add(s)
		}
	})
	stream.OnSectionEnd(func(end *format.End) { r.closed = end.Close })
	return r
}

// section begins a section. Its times are added to times.
func (r *threadReader) section(s *format.Session, times *ThreadTimes) {
	continues := r.session != nil && timeline.ContinuesWindow(s)
	if r.session != nil && !continues {
		r.close(true)
	}
	r.spans.NewSection(s)
	if !continues {
		r.spans.Open(s.WindowStart())
	}
	r.session, r.closed, r.times, r.last = s, 0, times, s.WindowStart()
}

func (r *threadReader) event(e *format.Event) {
	r.last = e.Time
	r.spans.Apply(e)
}

// close ends the window: at its close or, if not all events were read, at the latest one.
func (r *threadReader) close(all bool) {
	if r.session == nil {
		return
	}
	r.times.To, r.times.All = r.last, all
	if all {
		r.times.To = max(r.last, r.session.WindowEndOr(r.closed))
	}
	r.spans.Close(r.times.To)
}

// printThreads prints the times of all threads.
func (r *Recording) printThreads(w io.Writer) {
	t := r.Threads
	if t == nil {
		return
	}
	of, unknown := "", ""
	if !t.All {
		of = fmt.Sprintf("of the first %s: ", seconds(t.To-r.Session.WindowStart()))
	}
	if t.Unknown > 0 {
		unknown = fmt.Sprintf(", %s unknown", seconds(t.Unknown))
	}
	fact(w, "threads", "%s%s running, %s runnable, %s blocked%s", of, seconds(t.Running), seconds(t.Runnable), seconds(t.Blocked), unknown)
}
