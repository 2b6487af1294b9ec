package around

import (
	"errors"
	"math"

	"wprof/format"
	"wprof/internal/spill"
	"wprof/internal/timeline"
)

var errChanged = errors.New("read back the temporary file: it was changed")

// Options are what to find.
type Options struct {
	Conditions    []Condition
	Before, After int64 // what is kept around what meets a condition, ns
	From, To      int64 // only what ends within this range counts, and only this range is kept; To is excluded
}

// Plan is what to keep of a capture.
type Plan struct {
	Stretches []Stretch
	Found     []Found // of each condition
	Unknown   []int   // conditions on a span or event of which the capture has no type
	Lacking   []Lacking
	Names     Names
	Closes    map[uint64]int64     // when the window of a session closed, by its id
	Cost      *format.RecorderCost // of the recorder; nil: not known
	Damage    *format.Damage       // of the input; nil: none
	sections  []Section
	store     *spill.Store
}

// Found is how often a condition held.
type Found struct {
	Limit int64  // durations must be longer, ns
	Of    uint64 // durations of which it is the quantile; 0: it is none
	Count uint64 // how many were
}

// Lacking is a condition that nothing in the capture can meet, because the recorder was not to record it.
type Lacking struct {
	Condition int
	Reason    string
	Near      []string // names that may have been intended
}

// Close removes the temporary file.
func (p *Plan) Close() { p.store.Close() }

// Find reads a capture once or, if a limit is a quantile, twice. open opens a reader at its first byte. An error that ends the input
// early is returned with the plan up to there.
func Find(open func() (*format.Reader, error), o Options) (*Plan, error) {
	counts, err := findLimits(open, o)
	if err != nil {
		return nil, err
	}
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := &finder{r: r, o: o, counts: counts, closes: map[uint64]int64{}}
	f.found.store = spill.NewStore(spill.InMemory, "what later events show of the ends of stretches")
	f.matcher = newMatcher(r, o.Conditions, f.match)
	r.OnSectionEnd(func(end *format.End) {
		if end.Cost != nil {
			f.cost = end.Cost
		}
	})
	err = timeline.Visit(r, f)
	p := &Plan{Stretches: f.found.all, Found: counts, Closes: f.closes, Cost: f.cost, Damage: r.Damage(), sections: f.found.sections, store: f.found.store}
	p.Names = f.has
	f.report(p)
	return p, err
}

// report says which conditions nothing meets, or can meet. Of a damaged capture it is not known what it had.
func (f *finder) report(p *Plan) {
	for i, isNamed := range f.named {
		c := &f.o.Conditions[i]
		if isNamed && c.isOnType() {
			continue
		}
		if reason, near := f.recorded.lacks(c, &f.has); reason != "" && p.Damage == nil {
			p.Lacking = append(p.Lacking, Lacking{i, reason, near})
		} else if !isNamed {
			p.Unknown = append(p.Unknown, i)
		}
	}
}

// findLimits returns the limit of each condition.
func findLimits(open func() (*format.Reader, error), o Options) ([]Found, error) {
	limits := make([]Found, len(o.Conditions))
	for i, c := range o.Conditions {
		if limits[i].Limit = int64(c.Limit.Duration); !c.Limit.Given {
			limits[i].Limit = -1
		}
	}
	if !NeedsQuantiles(o.Conditions) {
		return limits, nil
	}
	store := spill.NewStore(spill.InMemory, "durations")
	defer store.Close()
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := &measurer{o: o, of: make([]*durations, len(o.Conditions))}
	for i, c := range o.Conditions {
		if c.Limit.Quantile != 0 {
			m.of[i] = &durations{chain: store.Chain()}
		}
	}
	m.matcher = newMatcher(r, o.Conditions, m.match)
	if err := timeline.Visit(r, m); m.failedIn(err) {
		return nil, err
	}
	for i, d := range m.of {
		if d == nil {
			continue
		}
		limits[i].Of = d.count
		if limits[i].Limit, err = d.value(o.Conditions[i].Limit.Quantile.Rank(d.count)); err != nil {
			return nil, err
		}
	}
	return limits, nil
}

// windows is what both passes do at the edges of windows.
type windows struct {
	*matcher
	now int64 // time of the current event
}

func (w *windows) NewSection(s *format.Session) error {
	w.newSection(s)
	return nil
}

func (w *windows) open(at int64) {
	w.now = at
	if w.spans != nil {
		w.spans.Open(at)
	}
}

func (w *windows) close(at int64) error {
	w.now = max(w.now, at)
	if w.spans != nil {
		w.spans.Close(w.now)
	}
	return w.failed
}

// measurer is the pass that collects durations.
type measurer struct {
	windows
	o      Options
	of     []*durations // nil: the condition has no quantile
	failed error        // of keeping durations
}

// failedIn reports whether the pass failed for another reason than its input, about which the last pass has a message.
func (m *measurer) failedIn(err error) bool { return err != nil && m.failed != nil }

func (m *measurer) Open(_ *format.Session, at, _ int64, _ bool) error {
	m.open(at)
	return nil
}

func (m *measurer) Event(e *format.Event) error {
	m.now = e.Time
	return m.event(e)
}

func (m *measurer) Close(at int64) error { return m.close(at) }

func (m *measurer) match(condition int, from, to int64, ended bool) error {
	d := m.of[condition]
	if d == nil || !ended || m.now < m.o.From || m.now >= m.o.To {
		return nil
	}
	m.failed = d.add(to - from)
	return m.failed
}

// finder is the pass that finds stretches.
type finder struct {
	windows
	r       *format.Reader
	o       Options
	counts  []Found
	opened  int64 // when the window did
	found   stretches
	session *format.Session
	closes  map[uint64]int64
	cost    *format.RecorderCost

	recorded recorded
}

func (f *finder) NewSection(s *format.Session) error {
	f.session = s
	f.recorded.add(s)
	f.found.enter(s)
	return f.windows.NewSection(s)
}

func (f *finder) Open(_ *format.Session, at, _ int64, _ bool) error {
	f.opened = at
	f.found.first = len(f.found.all)
	f.open(at)
	return nil
}

func (f *finder) Event(e *format.Event) error {
	f.now = e.Time
	if err := f.event(e); err != nil {
		return err
	}
	return f.keepLater(e)
}

func (f *finder) Close(at int64) error {
	err := f.close(at)
	f.found.clip(f.now)
	if f.session != nil {
		f.closes[f.session.Id] = f.now
	}
	return err
}

// match adds the surroundings of what meets a condition. They reach beyond the event that shows it, also if what it shows
// ended before: what later events show of the end of a stretch is collected only from there on.
func (f *finder) match(condition int, from, to int64, ended bool) error {
	c := &f.o.Conditions[condition]
	if to-from <= f.counts[condition].Limit || !ended && c.Limit.Quantile != 0 || f.now < f.o.From || f.now >= f.o.To {
		return nil
	}
	f.counts[condition].Count++
	begin := max(format.Sum(from, -f.o.Before), f.opened, f.o.From)
	end := min(format.Sum(max(f.now, to), f.o.After)+1, f.o.To, math.MaxInt64-1)
	return f.found.add(min(begin, f.now), end)
}

// keepLater keeps of an event what it shows of the ends of stretches before it.
func (f *finder) keepLater(e *format.Event) error {
	if start, isSpan := e.Start(); isSpan {
		return f.found.crossed(start, e.Time, func(s *Stretch) error { return f.found.keepEvent(s, e) })
	}
	id, since, isKnown := timeline.OffSince(e)
	if !isKnown || e.Stack() == 0 && e.Wait() == 0 {
		return nil
	}
	return f.found.crossed(since, e.Time, func(s *Stretch) error {
		d := f.r.Task(id)
		if d.IsLost() {
			return nil
		}
		return f.found.keepWait(s, &Later{Thread: timeline.KeyOf(d), Since: since, Stack: e.Stack(), Wait: e.Wait()})
	})
}
