package profile

import (
	"errors"
	"math"
	"slices"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/spill"
	"wprof/internal/stacks"
	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// Collect reads a stream to its end and adds up the time of its threads. With an error of the stream it also returns the
// profile of everything before.
func Collect(r *format.Reader, o Options) (*Profile, error) {
	c := newCollector(r, o)
	return c.p, c.collect()
}

func newCollector(r *format.Reader, o Options) *collector {
	o.Threads = o.Threads || o.Trail
	p := &Profile{Slot: o.Slot, Labels: make([]Label, 1), Wakes: make([]Wake, 1)}
	p.About.Spread = o.Spread
	if o.Inside != nil {
		p.About.Inside = o.Inside.Probe
	}
	c := &collector{
		r: r, o: o, p: p, interner: newInterner(r, p, &o), labels: newInterned[Label, LabelID](), wakes: newInterned[Wake, WakeID](),
		same: make(map[NodeID]uint32), paths: make(map[string]uint32), semaphores: make(map[waits.SemaphoreKey]*waits.Semaphore), now: math.MinInt64, bounds: defaultBounds(), shrinkAt: defaultBounds(),
	}
	c.parents = make(map[int32]bool)
	c.classes, c.objects, c.byText, p.Objects = waits.NewClassifier(r), make(map[waitObject]ObjectID), make(map[string]ObjectID), make([]string, 1)
	if len(o.Events) > 0 {
		c.counter = newEventCounter(c)
		p.About.Events, p.About.SumOf = o.Events, o.Weight.Arg
	}
	c.spans, c.slotTimeLimit = timeline.NewSpans(r, c.addSpan), maxSlotTimes
	c.spans.WithInterrupts(r)
	c.interrupts = make(map[timeline.InterruptID]NodeID)
	if o.Also != nil {
		c.spans.LimitThreads(MaxBeside)
	}
	if o.Trail {
		c.spans.LimitThreads(maxTrails)
		c.trails = newTrails(spill.InMemory)
		p.closeTrails = c.trails.Close
	}
	return c
}

func (c *collector) collect() error {
	c.r.OnSectionEnd(func(end *format.End) { c.end = end })
	v := timeline.Visitor(c)
	if c.o.Also != nil {
		v = timeline.Both(c, c.o.Also)
	}
	err := timeline.Visit(c.r, v)
	if failed := c.finish(); !errors.Is(err, failed) {
		err = errors.Join(err, failed)
	}
	return err
}

// collector is the [timeline.Visitor] that builds a profile.
type collector struct {
	r        *format.Reader
	o        Options
	p        *Profile
	interner *interner
	spans    *timeline.Spans
	trails   *trails
	counter  *eventCounter // nil: threads' time is counted
	failed   error

	labels interned[Label, LabelID]
	byTask byid.Table[LabelID] // of the current section
	// selected has what Options.Selector has found of the current section's tasks.
	selected byid.Table[selection]
	wakes    interned[Wake, WakeID]

	threads []*thread           // those that are not in the profile yet
	swept   int                 // number of threads after the last sweep
	kept    []*thread           // ended ones, each by itself, with Options.Threads
	ended   map[LabelID]*thread // ended ones, merged by name

	cells int // of all threads
	slots int // SlotTimes of all cells

	bounds        bounds // of what is kept
	shrinkAt      bounds // above which it is shrunk next
	limitAt       int    // bytes at which memory is freed next
	merged        int64
	slotTimeLimit int
	events        uint64

	classes *waits.Classifier
	parents map[int32]bool          // processes of which child processes are counted
	objects map[waitObject]ObjectID // of the current section
	byText  map[string]ObjectID

	interrupts map[timeline.InterruptID]NodeID
	own        []sampled // reused

	openLocks  []openLock
	semaphores map[waits.SemaphoreKey]*waits.Semaphore

	same  map[NodeID]uint32 // see sameFunctions
	paths map[string]uint32
	// firstOf are the first stacks of those numbers.
	firstOf []NodeID

	total  int64 // ns of all threads together
	first  int64 // when the first window opened
	opened int64 // when this one did
	now    int64
	end    *format.End
}

// thread is a thread whose time is being added up.
type thread struct {
	Thread
	of           *timeline.Thread // nil: all ended threads of one name
	index        map[CellKey]int32
	recent       [classes]int32 // index of the latest cell of each class
	samples      []sampled      // in the current running interval
	woken        waking         // that ended its latest off-CPU interval, or ends the current one
	early        waking         // the latest one while it ran, which may end the next off-CPU interval: see timeline
	shortBlocked int64          // ns blocked in off-CPU intervals shorter than Options.MinBlock
	offUntil     int64          // where the latest span off the CPU ends
	idle         []idlePlace
	sleeps       *waits.Sleeps[uint32] // by NodeID; nil: it has not slept
	trail        *threadTrail
}

func (c *collector) NewSection(s *format.Session) error {
	c.spans.NewSection(s)
	c.interner.newSection()
	c.classes.NewSection()
	clear(c.objects)
	c.byTask.Clear()
	if c.o.Selector != nil {
		c.o.Selector.NewSection()
		c.selected.Clear()
	}
	if c.counter != nil {
		c.counter.newSection(s)
	}
	return nil
}

func (c *collector) Open(s *format.Session, at, before int64, isFirst bool) error {
	c.spans.Open(at)
	c.opened, c.now, c.end = at, at, nil
	c.about(s, at, isFirst)
	return nil
}

func (c *collector) Close(at int64) error {
	at = max(at, c.now)
	if c.counter != nil {
		c.counter.addSpans(c.counter.pairs.Close(at))
	}
	c.spans.Close(at)
	c.closeLocks()
	for _, t := range c.threads {
		c.p.About.Stray += uint64(len(t.samples))
		t.samples = t.samples[:0]
	}
	c.p.About.Window = format.Sum(c.p.About.Window, max(0, at-c.opened))
	c.p.About.Span = max(c.p.About.Span, at-c.first)
	if c.end != nil && c.end.Cost != nil {
		c.p.About.Recorder.CPU = format.Sum(c.p.About.Recorder.CPU, format.Sum(c.end.Cost.UserNs, c.end.Cost.SystemNs))
		c.p.About.Recorder.Memory = max(c.p.About.Recorder.Memory, c.end.Cost.PeakRss)
	}
	return nil
}

func (c *collector) Event(e *format.Event) error {
	if e.Flags&format.FlagLate == 0 {
		c.now = e.Time
	}
	if c.o.Selector != nil && e.Kind == format.KindFork {
		c.o.Selector.Fork(e)
	}
	switch {
	case e.Kind == format.KindLost:
		c.lost(e)
	case c.counter != nil:
		c.counter.event(e)
	default:
		c.apply(e)
	}
	if !c.held().within(c.shrinkAt, 1, 1) {
		c.shrink()
	}
	if c.events++; c.events%256 == 0 {
		c.limitMemory()
	}
	return c.failed
}

func (c *collector) lost(e *format.Event) {
	if e.Lost().IsFault() {
		c.p.About.IsLossy = true
		c.p.About.Lost = format.Sum(c.p.About.Lost, e.Lost().Count())
	}
	if c.counter == nil {
		c.spans.Apply(e)
	}
}

// apply applies an event to the threads.
func (c *collector) apply(e *format.Event) {
	switch e.Kind {
	case format.KindSample:
		c.spans.Apply(e)
		c.addSample(e)
		return
	case format.KindWaking:
		if c.o.Wakes > 0 {
			c.recordWaker(e, format.TaskID(e.Args[format.WakingWakee]), e.Stack())
		}
	case format.KindWakeupNew:
		if c.o.Wakes > 0 {
			c.recordWaker(e, format.TaskID(e.Args[format.WakeupNewWakee]), e.Stack())
		}
	}
	c.spans.Apply(e)
}

// about sets About from a session.
func (c *collector) about(s *format.Session, at int64, isFirst bool) {
	a := &c.p.About
	for _, source := range s.Sources {
		one := Source{Name: string(stacks.Printable([]byte(source.Name), stacks.Unnamed)), Period: source.Period}
		if !slices.Contains(a.Sources, one) && len(a.Sources) < maxSources {
			a.Sources = append(a.Sources, one)
		}
	}
	if !isFirst {
		return
	}
	c.first, a.From = at, at-c.r.FirstOpen()
	a.Host, a.Kernel, a.MinBlock = string(stacks.Printable([]byte(s.Host), "")), string(stacks.Printable([]byte(s.KernelRelease), "")), c.o.MinBlock
	for _, pair := range s.Config {
		if pair.GetKey() == format.ConfigOffCPUStacks {
			a.OffCPU = string(stacks.Printable([]byte(pair.GetValue()), ""))
		}
	}
	a.Start = format.WallTime(c.r.Clocks(), at)
}

// maxSources bounds the number of sources of samples that are kept.
const maxSources = 16

// thread returns the collector's entry for a timeline's thread.
func (c *collector) thread(of *timeline.Thread) *thread {
	if t, known := of.Own.(*thread); known {
		return t
	}
	t := &thread{of: of, offUntil: math.MinInt64}
	t.TID, t.Start = of.TID, of.Start
	if d := of.Def; d != nil {
		t.PID, t.IsKernel = d.Pid, d.Flags&uint32(format.TaskFlag_TASK_FLAG_KTHREAD) != 0
	}
	if c.trails != nil && !of.Idle() { // all CPUs share one, whose times overlap
		if t.trail = c.trails.thread(); c.o.Spread {
			t.trail.notSampled = c.interner.notSampled
		}
	}
	of.Own = t
	c.noteParent(of)
	c.threads = append(c.threads, t)
	if len(c.threads) >= c.swept/4*5+c.bounds.unswept {
		c.sweep()
	}
	return t
}

func (c *collector) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
}
