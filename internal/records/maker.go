package records

import (
	"bytes"
	"cmp"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/label"
	"wprof/internal/stacks"
	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// Maker converts events to records. It is a [timeline.Visitor].
type Maker struct {
	r          *format.Reader
	emit       func(*Record) error
	selected   []bool // by kind
	kinds      [format.MaxKind + 1]Kind
	infos      [format.MaxKind + 1]*KindInfo
	states     [1 << 14]uint8
	spans      *timeline.Spans // nil: no switch records are made
	tl         *timeline.Timeline
	stacks     *Stacks
	classes    *waits.Classifier
	waits      *bounded.Map[format.WaitID, *Labels] // of the current section
	texts      Texts
	tasks      tasks
	idle       idleTimes
	interrupts []interruptTime // by CPU; none: no interrupts
	left       *LeftStacks     // nil: not requested

	first     int64 // when the first window opened
	opened    int64 // when the current window opened
	now       int64 // of the last event
	about     About
	lost      bool
	causes    int // number of words for causes
	events    int
	rec       Record
	names     *label.Names
	name      []byte            // of the current event
	hasTypes  bool              // a kind of events of types is selected
	values    []format.Value    // of the current typed event
	labels    *Labels           // of the type of the last typed event
	labeled   *format.EventType // that type
	textBytes int               // of the texts of the current event
	counters  counters
}

// Options choose what is converted.
type Options struct {
	Kinds []Kind // nil: all
	JSON  bool   // fill in Task.JSON
	// Cgroups: Task.JSON also has the thread's cgroup, what that shows, and its ids in its PID namespace.
	Cgroups bool
	// LeftStacks, if it is set, makes the stack of a switch the one with which the thread leaves that was on the CPU, instead of
	// the one with which the next thread had left.
	LeftStacks *LeftStacks
	Python     stacks.PythonView
}

// NewMaker returns a Maker that calls emit with every selected record. It must be called before the first event is read.
func NewMaker(r *format.Reader, o Options, emit func(*Record) error) *Maker {
	m := &Maker{r: r, emit: emit, first: r.FirstOpen(), states: states(), stacks: NewStacks(r, o.Python), classes: waits.NewClassifier(r),
		left: o.LeftStacks, waits: bounded.NewMap[format.WaitID, *Labels](maxWaits), causes: len(causeNames()), events: len(eventNames())}
	m.names = label.NewNames(r)
	m.tasks = newTasks(r, m.first, &m.texts, &o)
	kinds := Kinds()
	m.selected = make([]bool, len(kinds)+1)
	for i := range kinds {
		k := &kinds[i]
		m.kinds[k.Source], m.infos[k.Source] = k.Kind, k
		m.selected[k.Kind] = o.Kinds == nil
	}
	m.kinds[0] = 0
	for _, k := range o.Kinds {
		m.selected[k] = true
	}
	for i := range kinds {
		m.hasTypes = m.hasTypes || (kinds[i].HasTypes() || kinds[i].Sampled) && m.selected[kinds[i].Kind]
	}
	if m.selected[Switch] {
		m.spans = timeline.NewSpans(r, m.ran)
		m.spans.WithInterrupts(r)
		m.tl = m.spans.Timeline()
	}
	return m
}

// Stacks returns the stacks of the stream, for use in emit.
func (m *Maker) Stacks() *Stacks { return m.stacks }

// Command returns the command line of a task's process, its words joined by spaces; "" if unknown. It is valid in the emit call of
// a record with that task.
func (m *Maker) Command(t *Task) string {
	c := m.r.Command(t.command)
	if c == nil {
		return ""
	}
	return m.texts.Clean(bytes.ReplaceAll(bytes.TrimRight(c.Args, "\x00"), []byte{0}, []byte{' '}))
}

// Cgroup returns the path of a task's cgroup; "" if unknown. It is valid as long as that of [Maker.Command].
func (m *Maker) Cgroup(t *Task) string { return m.tasks.cgroup(t) }

// Session returns the description of the recordings read so far.
func (m *Maker) Session() Session { return m.about.Session }

// Window returns the time that the stream covers, once it has been read.
func (m *Maker) Window() Window { return m.about.Window(m.first) }

// Lost reports whether events are missing in what has been read.
func (m *Maker) Lost() bool { return m.lost }

// DroppedThreads returns the number of threads that were dropped, see [timeline.Timeline].
func (m *Maker) DroppedThreads() int64 {
	if m.tl == nil {
		return 0
	}
	return m.tl.DroppedThreads()
}

// NotUTF8 returns the first text that was not valid UTF-8, as records show it; "" if there was none.
func (m *Maker) NotUTF8() string { return cmp.Or(m.texts.first, m.stacks.texts.first) }

// NewSection implements [timeline.Visitor].
func (m *Maker) NewSection(s *format.Session) error {
	m.tasks.newSection()
	m.classes.NewSection()
	m.names.NewSection()
	m.waits.Clear()
	m.counters.newSection(s)
	if m.spans != nil {
		m.spans.NewSection(s)
	}
	return nil
}

// Open implements [timeline.Visitor].
func (m *Maker) Open(s *format.Session, at, before int64, isFirst bool) error {
	m.opened, m.idle, m.interrupts = at, m.idle[:0], m.interrupts[:0]
	if m.spans != nil {
		m.spans.Open(at)
	}
	isGap := m.about.hasTime && m.selected[Gap]
	m.about.Open(s, at)
	if !isGap {
		return nil
	}
	return m.gap(max(before, m.now), at)
}

// gap emits the record of the time between two windows.
func (m *Maker) gap(from, to int64) error {
	r := &m.rec
	r.Time, r.Kind, r.CPU, r.Text = to-m.first, Gap, AllCPUs, ""
	r.Values[0], r.Values[1] = max(0, to-from), from-m.first
	r.Has = 1<<GapDuration | 1<<GapStart
	return m.emit(r)
}

// Close implements [timeline.Visitor].
func (m *Maker) Close(at int64) error {
	m.about.Close(at)
	if m.spans != nil {
		m.spans.Close(at)
	}
	return nil
}

// Event implements [timeline.Visitor].
func (m *Maker) Event(e *format.Event) error {
	if m.spans != nil {
		m.spans.Apply(e)
	}
	m.now = e.Time
	m.lost = m.lost || e.Kind == format.KindLost && e.Lost().IsFault()
	kind := m.kinds[e.Kind]
	if kind == Typed && m.hasTypes {
		kind = KindOf(m.r.EventType(e.TypeID()))
	}
	if !m.selected[kind] {
		m.noteIdle(e)
		return nil
	}
	r := &m.rec
	r.Time, r.Kind, r.CPU, r.Has, r.Text, r.Args, r.Type, r.Labels = e.Time-m.first, kind, e.CPU, 0, "", r.Args[:0], nil, nil
	switch kind {
	case Switch:
		m.fillSwitch(r, e)
	case Waking, WakeupNew:
		m.fillWaking(r, e)
	case Timer:
		r.Tasks[0], r.Has = m.subject(e), 1<<TimerTask
		m.stack(r, TimerStack, 0, e.Sample().Stack())
		counts, _ := e.Sample().Counts()
		m.setCounts(r, TimerCounters, counts)
	case Fork:
		r.Tasks[0], r.Tasks[1], r.Has = m.subject(e), m.object(e, e.Fork().Child()), 1<<ForkTask|1<<ForkChild
	case Exec:
		m.fillExec(r, e)
	case TaskRename:
		r.Tasks[0], r.Has = m.subject(e), 1<<LifeTask
		r.Text = m.tasks.of(e.Rename().Prev(), e.CPU).Comm
	case TaskExit:
		m.fillExit(r, e)
	case TaskFree:
		r.Tasks[0], r.Has = m.subject(e), 1<<LifeTask
	case Lost:
		m.fillLost(r, e)
	case Typed:
		m.fillTyped(r, e)
	case PMUEvent:
		m.fillSampled(r, e)
	case ProbeInstant, ProbeEntry, ProbeExit:
		m.fillProbe(r, e)
	default:
		m.fillPlain(r, e, m.infos[e.Kind])
	}
	m.noteIdle(e)
	return m.emit(r)
}

// subject returns the task of an event.
func (m *Maker) subject(e *format.Event) *Task {
	if e.Flags&format.FlagSubject == 0 {
		return m.tasks.filtered
	}
	return m.tasks.of(e.Task, e.CPU)
}

// object returns the other task of an event.
func (m *Maker) object(e *format.Event, id format.TaskID) *Task {
	if e.Flags&format.FlagObject == 0 {
		return m.tasks.filtered
	}
	return m.tasks.of(id, e.CPU)
}

// stack sets a field and its slot if there is such a stack.
func (m *Maker) stack(r *Record, field, slot int, id format.StackID) {
	if id == 0 {
		return
	}
	if known := m.stacks.ID(id); known != 0 {
		r.Values[slot] = known
		r.Has |= 1 << field
	}
}

func (m *Maker) fillWaking(r *Record, e *format.Event) {
	r.Tasks[0], r.Tasks[1], r.Has = m.subject(e), m.object(e, e.OtherTask()), 1<<WakingWaker|1<<WakingWakee
	m.stack(r, WakingStack, 0, e.Stack())
	if e.Kind == format.KindWaking && e.Waking().Interrupt() {
		r.Values[1] = Interrupt
		r.Has |= 1 << WakingContext
	}
}

func (m *Maker) fillExec(r *Record, e *format.Event) {
	r.Tasks[0], r.Text, r.Has = m.subject(e), m.texts.Clean(e.Data), 1<<ExecTask|1<<ExecFilename
	if tid, has := e.Exec().OldTID(); has {
		r.Values[0] = int64(tid)
		r.Has |= 1 << ExecOldTID
	}
}

func (m *Maker) fillExit(r *Record, e *format.Event) {
	r.Tasks[0], r.Has = m.subject(e), 1<<ExitTask
	code, signal := e.Exit().Status()
	r.Values[0], r.Values[1] = int64(code), int64(signal)
	if signal != 0 {
		r.Has |= 1 << ExitSignal
	} else {
		r.Has |= 1 << ExitCode
	}
}

func (m *Maker) fillLost(r *Record, e *format.Event) {
	loss := e.Lost()
	from := loss.From()
	r.Values[0], r.Has = max(0, e.Time-from), 1<<LostDuration|1<<LostCause
	if from >= m.opened {
		r.Values[1] = from - m.first
		r.Has |= 1 << LostStart
	}
	if n := loss.Count(); n != 0 {
		r.Values[2] = int64(min(n, 1<<53))
		r.Has |= 1 << LostCount
	}
	r.Values[3] = int64(wordIndex(uint64(loss.Cause()), m.causes))
	if what := uint64(loss.What()); what != 0 {
		r.Values[4] = int64(wordIndex(what, m.events))
		r.Has |= 1 << LostWhat
	}
	if of := loss.TypeName(); len(of) > 0 {
		r.Text = m.texts.Clean(of)
		r.Has |= 1 << LostType
	}
	setOpen(r, e, LostOpen, 5)
}

// setOpen sets a field and its slot if the event is a span that had not ended.
func setOpen(r *Record, e *format.Event, field, slot int) {
	if e.Flags&format.FlagOpen != 0 {
		r.Values[slot] = 0
		r.Has |= 1 << field
	}
}

// wordIndex returns the index of the word for a number; 0, unknown, for numbers of newer versions.
func wordIndex(n uint64, words int) uint64 {
	if n >= uint64(words) {
		return 0
	}
	return n
}
