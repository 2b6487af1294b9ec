package profile

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"

	"wprof/format"
	"wprof/internal/timeline"
)

// Inside is when threads were within spans of a user-defined probe.
type Inside struct {
	Probe   string
	IsSeen  bool     // the probe has spans
	Others  []string // other probes that have spans, a few
	threads map[timeline.Key][]stretch
	count   int
	most    int
}

// stretch is a time within spans that overlap or follow each other without a break.
type stretch struct{ from, to int64 }

// maxStretches bounds the memory of all stretches to 64 MiB.
const maxStretches = 4 << 20

// FindInside reads a stream to its end and collects the spans of a probe, by its id or the name of its function. Each is that of the
// thread in which it ended. With an error of the stream it also returns what was before.
func FindInside(r *format.Reader, probe string) (*Inside, error) {
	in := &Inside{Probe: probe, threads: make(map[timeline.Key][]stretch), most: maxStretches}
	return in, timeline.Visit(r, &insideFinder{r: r, in: in})
}

// insideFinder is the [timeline.Visitor] that fills an Inside.
type insideFinder struct {
	r  *format.Reader
	in *Inside
}

func (f *insideFinder) NewSection(*format.Session) error                 { return nil }
func (f *insideFinder) Open(_ *format.Session, _, _ int64, _ bool) error { return nil }
func (f *insideFinder) Close(int64) error                                { return nil }

func (f *insideFinder) Event(e *format.Event) error {
	start, isSpan := e.Start()
	if e.Kind != format.KindTyped || !isSpan || e.Flags&format.FlagSubject == 0 {
		return nil
	}
	t, task := f.r.EventType(e.TypeID()), f.r.Task(e.Task)
	if t.IsLost() || len(t.Probe) == 0 || task.IsLost() || task.IsIdle() {
		return nil
	}
	if string(t.Probe) != f.in.Probe && string(t.Name) != f.in.Probe {
		f.in.Others = appendOther(f.in.Others, string(t.Probe))
		return nil
	}
	f.in.IsSeen = true
	return f.in.add(timeline.Key{TID: task.Tid, Start: task.Start}, start, e.Happened())
}

// add adds a span. Spans come about in the order of their ends.
func (in *Inside) add(key timeline.Key, from, to int64) error {
	if to <= from {
		return nil
	}
	all := in.threads[key]
	first := sort.Search(len(all), func(i int) bool { return all[i].to >= from })
	last := first
	for last < len(all) && all[last].from <= to {
		from, to = min(from, all[last].from), max(to, all[last].to)
		last++
	}
	if in.count += 1 - (last - first); in.count > in.most {
		return errInside(in.Probe, in.most)
	}
	in.threads[key] = slices.Replace(all, first, last, stretch{from, to})
	return nil
}

func errInside(probe string, most int) error {
	return fmt.Errorf("threads were inside %q more than %d times: %w", probe, most, ErrInside)
}

// ErrInside is wrapped by the error of a stream with more spans than are kept.
var ErrInside = errors.New("take a part of the capture with wprof-filter")

// within yields the parts of a thread's time that lie in spans; all of it if in is nil.
func (in *Inside) within(key timeline.Key, from, to int64) iter.Seq2[int64, int64] {
	return func(yield func(from, to int64) bool) {
		if in == nil {
			yield(from, to)
			return
		}
		all := in.threads[key]
		for i := sort.Search(len(all), func(i int) bool { return all[i].to > from }); i < len(all) && all[i].from < to; i++ {
			if !yield(max(from, all[i].from), min(to, all[i].to)) {
				return
			}
		}
	}
}

// length returns the length of these parts.
func (in *Inside) length(key timeline.Key, from, to int64) (ns int64) {
	if in == nil {
		return to - from
	}
	for from, to := range in.within(key, from, to) {
		ns += to - from
	}
	return ns
}
