package report

import (
	"errors"
	"math"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// collector is the [timeline.Visitor] that makes a report.
type collector struct {
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

	threads   []*thread // those that have not been added up
	swept     int
	processes map[int32]*process
	ended     map[string]*process // ended processes beyond the limit, by name

	time     [classes]amount
	locks    lockTable
	rings    []ring
	delays   table[delayKey]
	waits    table[waitKey]
	longest  longest
	lived    int // threads
	known    int // processes
	shorts   map[string]*shortLived
	idleCPU  int64
	total    int64
	samples  uint64
	isLossy  bool
	windowNs int64
	cpus     int
	opened   int64
	now      int64
}

// Classes of time besides those of [waits.Class].
const (
	classOnCPU = waits.Count + iota
	classNew   // from a thread's start to the wakeup that makes it runnable
	classIdle  // waits for work
	classLost  // events are missing, or a filter hides them
	classes
)

func newCollector(r *format.Reader, o Options) *collector {
	c := &collector{
		r: r, o: o, classes: waits.NewClassifier(r), calls: newCallTree(r), names: newNames(r), now: math.MinInt64,
		called: make(map[[2]uint32]string), processes: make(map[int32]*process), ended: make(map[string]*process), shorts: make(map[string]*shortLived),
	}
	c.locks.init()
	c.delays.init()
	c.waits.init()
	c.spans = timeline.NewSpans(r, c.addSpan)
	return c
}

func (c *collector) NewSection(s *format.Session) error {
	c.spans.NewSection(s)
	c.classes.NewSection()
	c.calls.newSection()
	c.byTask.Clear()
	c.byWait.Clear()
	if c.o.Selector != nil {
		c.o.Selector.NewSection()
	}
	return nil
}

func (c *collector) Open(s *format.Session, at, _ int64, _ bool) error {
	c.spans.Open(at)
	c.opened, c.now = at, at
	for _, cpu := range s.Cpus {
		if !cpu.Offline && c.windowNs == 0 {
			c.cpus++
		}
	}
	return nil
}

func (c *collector) Event(e *format.Event) error {
	if e.Flags&format.FlagLate == 0 {
		c.now = e.Time
	}
	c.isLossy = c.isLossy || e.Kind == format.KindLost
	if e.Kind == format.KindFork && c.o.Selector != nil {
		c.o.Selector.Fork(e)
	}
	c.spans.Apply(e)
	if e.Kind == format.KindSample {
		c.addSample(e)
	}
	return c.failed
}

// Close ends the window. Afterwards the threads that wait for locks to the end are known, and so are rings of them.
func (c *collector) Close(at int64) error {
	at = max(at, c.now)
	c.spans.Close(at)
	c.windowNs = format.Sum(c.windowNs, max(0, at-c.opened))
	c.closeLocks()
	return nil
}

var errTooLong = errors.New("the times of its threads add up to more than 292 years; take a part of it with --start and --end")

// addSpan adds a span that has ended.
func (c *collector) addSpan(s *timeline.Span) {
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
	if ns > math.MaxInt64-c.total {
		c.failed = errTooLong
		return
	}
	c.total += ns
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
func (c *collector) addHidden(t *thread, s *timeline.Span) {
	switch s.Kind {
	case timeline.SpanRunnable:
		t.remember(interval{from: s.From, to: s.To, class: waits.Runnable})
	case timeline.SpanBlocked:
		one := c.blocked(t, s)
		t.remember(one)
		if s.Open && one.class == waits.Lock && len(c.locks.open) < maxOpen {
			c.locks.open = append(c.locks.open, openWait{t, one, c.r.Wait(s.Wait).GetOwner(), c.calls.wait(s.Stack).site})
		}
	}
}

func (p *Part) add(ns int64, count uint64) {
	p.Ns += ns
	p.Count += count
}
