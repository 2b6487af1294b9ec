package report

import (
	"errors"
	"math"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// Collector is the [timeline.Visitor] that makes reports: one of all selected threads, and with [Options].Threads one of each.
type Collector struct {
	r       *format.Reader
	o       Options
	spans   *timeline.Spans
	classes *waits.Classifier
	calls   *callTree
	names   names
	byTask  byid.Table[*who]
	byWait  byid.Table[objectID]
	called  map[[2]uint32]string // see functionOf
	failed  error

	threads []*thread // those that have not been added up
	swept   int
	all     *totals
	onlyAll []*totals
	own     map[timeline.Key]*totals // of each thread, with Options.Threads
	locks   map[lockKey]*lock
	holders holders
	parents map[int32]bool // processes that have selected child processes
	open    []openWait

	sources    sources
	interrupts map[uint32]*sum // of each CPU; the parts are interrupts
	idleCPU    int64
	isLossy    bool
	dropped    int64 // threads, see [timeline.Timeline]
	windowNs   int64
	cpus       int
	opened     int64
	now        int64
}

// Classes of time besides those of [waits.Class].
const (
	classOnCPU     = waits.Count + iota
	classNew       // from a thread's start to the wakeup that makes it runnable
	classInterrupt // interrupts ran on its CPU
	classIdle      // waits for work
	classLost      // events are missing, or a filter hides them
	classes
)

// maxParents bounds the processes whose child processes are known to be selected.
const maxParents = 1 << 16

// NewCollector returns a Collector for the stream of a reader.
func NewCollector(r *format.Reader, o Options) *Collector {
	c := &Collector{
		r: r, o: o, classes: waits.NewClassifier(r), calls: newCallTree(r), names: newNames(r), now: math.MinInt64,
		called: make(map[[2]uint32]string), own: make(map[timeline.Key]*totals), locks: make(map[lockKey]*lock), parents: make(map[int32]bool),
		interrupts: make(map[uint32]*sum),
	}
	c.all = newTotals(c)
	c.onlyAll = []*totals{c.all}
	if c.spans = timeline.NewSpans(r, c.addSpan); o.MaxLive > 0 {
		c.spans.LimitThreads(o.MaxLive)
	}
	c.spans.WithInterrupts(r)
	return c
}

func (c *Collector) NewSection(s *format.Session) error {
	c.spans.NewSection(s)
	c.classes.NewSection()
	c.calls.newSection()
	c.byTask.Clear()
	c.byWait.Clear()
	c.sources.types.Clear()
	if c.o.Selector != nil {
		c.o.Selector.NewSection()
	}
	return nil
}

func (c *Collector) Open(s *format.Session, at, _ int64, _ bool) error {
	c.spans.Open(at)
	c.opened, c.now = at, at
	for _, cpu := range s.Cpus {
		if !cpu.Offline && c.windowNs == 0 {
			c.cpus++
		}
	}
	return nil
}

func (c *Collector) Event(e *format.Event) error {
	if e.Flags&format.FlagLate == 0 {
		c.now = e.Time
	}
	c.isLossy = c.isLossy || e.Kind == format.KindLost && e.Lost().IsFault()
	if e.Kind == format.KindFork && c.o.Selector != nil {
		c.o.Selector.Fork(e)
	}
	c.spans.Apply(e)
	switch e.Kind {
	case format.KindSample:
		c.addSample(e)
	case format.KindTyped:
		c.addTyped(e)
	}
	return c.failed
}

// Close ends the window. Afterwards the threads that wait for locks to the end are known, and so are rings of them.
func (c *Collector) Close(at int64) error {
	at = max(at, c.now)
	c.spans.Close(at)
	c.windowNs = format.Sum(c.windowNs, max(0, at-c.opened))
	c.closeLocks()
	return nil
}

var errTooLong = errors.New("the times of its threads add up to more than 292 years; take a part of it with --start and --end")

// addSpan adds a span that has ended.
func (c *Collector) addSpan(s *timeline.Span) {
	c.addInterrupts(s)
	if s.Thread.Idle() {
		c.idleCPU = format.Sum(c.idleCPU, s.To-s.From)
		return
	}
	t := c.thread(s.Thread)
	if id := s.Task; id != 0 {
		t.who = c.whoIs(id)
	}
	if !t.who.isSelected {
		c.addHidden(t, s)
		return
	}
	t.isSelected = true
	ns := s.To - s.From
	if ns > math.MaxInt64-c.all.total {
		c.failed = errTooLong
		return
	}
	for _, to := range t.into {
		to.total += ns
	}
	t.lived += ns
	switch s.Kind {
	case timeline.SpanRunning:
		c.addRunning(t, s)
	case timeline.SpanRunnable:
		c.addRunnable(t, s)
	case timeline.SpanBlocked:
		c.addBlocked(t, s)
	case timeline.SpanNew:
		t.in(classNew).add(ns, 1)
	default:
		t.in(classLost).add(ns, 1)
	}
	t.lastTo = s.To
}

// addHidden keeps of a thread that is not selected what explains others.
func (c *Collector) addHidden(t *thread, s *timeline.Span) {
	switch s.Kind {
	case timeline.SpanRunnable:
		t.remember(interval{from: s.From, to: s.To, class: delayClass(s)})
	case timeline.SpanBlocked:
		one, _ := c.blocked(t, s)
		t.remember(one)
		if one.lock != nil {
			c.endLockWait(t, s, &one)
		}
	}
}

func (p *Part) add(ns int64, count uint64) {
	p.Ns += ns
	p.Count += count
}
