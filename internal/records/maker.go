package records

import (
	"bytes"

	"wprof/format"
	"wprof/internal/timeline"
)

// Maker makes records of events. It is the [timeline.Visitor] of a stream.
type Maker struct {
	r      *format.Reader
	emit   func(*Record) error
	wanted [maxKinds]bool
	kinds  [format.MaxKind + 1]Kind
	plains [format.MaxKind + 1][]plainField // of kinds without a row of their own
	states [1 << 12]uint8
	spans  *timeline.Spans // nil: nothing is derived
	tl     *timeline.Timeline
	stacks *Stacks
	texts  texts
	tasks  tasks

	first  int64 // when the first window opened
	opened int64 // when the current one did
	now    int64 // of the last event
	about  About
	lost   bool
	causes int // words for them
	events int
	rec    Record
	values []format.Value // of the typed event at hand
}

// Options are what records are made of.
type Options struct {
	Kinds []Kind // nil: all
	JSON  bool   // Task.JSON is wanted
}

// NewMaker returns a Maker that tells emit of every record that is wanted. It has to be made before the stream is read.
func NewMaker(r *format.Reader, o Options, emit func(*Record) error) *Maker {
	m := &Maker{r: r, emit: emit, first: r.FirstOpen(), states: states(), stacks: NewStacks(r), causes: len(causeNames()), events: len(eventNames())}
	m.tasks = newTasks(r, m.first, &m.texts, o.JSON)
	events := format.Kinds()
	for _, k := range Kinds() {
		m.kinds[k.Source] = k.Kind
		m.wanted[k.Kind] = o.Kinds == nil
		if k.Source != 0 && events[k.Source-1].IsPlain() {
			fields := plainFields(&events[k.Source-1])
			for i := range fields {
				fields[i].Slot = k.Fields[i].Slot
			}
			m.plains[k.Source] = fields
		}
	}
	m.kinds[0] = 0
	for _, k := range o.Kinds {
		m.wanted[k] = true
	}
	if m.wanted[Switch] {
		m.spans = timeline.NewSpans(r, func(*timeline.Span) {})
		m.tl = m.spans.Timeline()
	}
	return m
}

// Stacks are the stacks of the stream, for whoever is told of a record.
func (m *Maker) Stacks() *Stacks { return m.stacks }

// Command is the command line of a task's process, words with spaces between; "": it is not known. It is asked for while a
// record of the task is told.
func (m *Maker) Command(t *Task) string {
	c := m.r.Command(t.command)
	if c == nil {
		return ""
	}
	return m.texts.clean(bytes.ReplaceAll(bytes.TrimRight(c.Args, "\x00"), []byte{0}, []byte{' '}))
}

// Session is what the recordings of the stream say about themselves, as far as it was visited.
func (m *Maker) Session() Session { return m.about.Session }

// Window is the time that the stream tells of, once it was visited.
func (m *Maker) Window() Window { return m.about.Window(m.first) }

// Lost tells whether events are missing, as far as the stream was visited.
func (m *Maker) Lost() bool { return m.lost }

// Forgotten is how many threads were forgotten, see [timeline.Timeline].
func (m *Maker) Forgotten() int64 {
	if m.tl == nil {
		return 0
	}
	return m.tl.Forgotten()
}

// NotUTF8 is the first text that held other bytes than UTF-8, as records show it; "": none did.
func (m *Maker) NotUTF8() string {
	if m.texts.first != "" {
		return m.texts.first
	}
	return m.stacks.texts.first
}

// NewSection implements [timeline.Visitor].
func (m *Maker) NewSection(s *format.Session) error {
	m.tasks.newSection()
	if m.spans != nil {
		m.spans.NewSection(s)
	}
	return nil
}

// Open implements [timeline.Visitor].
func (m *Maker) Open(s *format.Session, at, before int64, isFirst bool) error {
	m.opened = at
	if m.spans != nil {
		m.spans.Open(at)
	}
	isGap := m.about.some && m.wanted[Gap]
	m.about.Open(s, at)
	if !isGap {
		return nil
	}
	return m.gap(max(before, m.now), at)
}

// gap tells that nothing was recorded between two windows.
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
	m.lost = m.lost || e.Kind == format.KindLost
	kind := m.kinds[e.Kind]
	if !m.wanted[kind] {
		return nil
	}
	r := &m.rec
	r.Time, r.Kind, r.CPU, r.Has, r.Text, r.Args, r.Type = e.Time-m.first, kind, e.CPU, 0, "", r.Args[:0], nil
	switch kind {
	case Switch:
		m.switched(r, e)
	case Waking, WakeupNew:
		m.woken(r, e)
	case Timer:
		r.Tasks[0], r.Has = m.subject(e), 1<<TimerTask
		m.stack(r, TimerStack, 0, format.StackID(e.Args[format.SampleStack]))
	case Fork:
		r.Tasks[0], r.Tasks[1], r.Has = m.subject(e), m.object(e, e.Args[format.ForkChild]), 1<<ForkTask|1<<ForkChild
	case Exec:
		m.execs(r, e)
	case TaskRename:
		r.Tasks[0], r.Has = m.subject(e), 1<<LifeTask
		r.Text = m.tasks.of(format.TaskID(e.Args[format.RenamePrev]), e.CPU).Comm
	case TaskExit, TaskFree:
		r.Tasks[0], r.Has = m.subject(e), 1<<LifeTask
	case Lost:
		m.lostEvents(r, e)
	case Typed:
		m.typed(r, e)
	default:
		m.plain(r, e, m.plains[e.Kind])
	}
	return m.emit(r)
}

// subject is the event's own task.
func (m *Maker) subject(e *format.Event) *Task {
	if e.Flags&format.FlagSubject == 0 {
		return m.tasks.filtered
	}
	return m.tasks.of(e.Task, e.CPU)
}

// object is the task on the other side.
func (m *Maker) object(e *format.Event, id uint64) *Task {
	if e.Flags&format.FlagObject == 0 {
		return m.tasks.filtered
	}
	return m.tasks.of(format.TaskID(id), e.CPU)
}

// stack sets a field, in its slot, if the stack is known.
func (m *Maker) stack(r *Record, field, slot int, id format.StackID) {
	if id == 0 {
		return
	}
	if known := m.stacks.ID(id); known != 0 {
		r.Values[slot] = known
		r.Has |= 1 << field
	}
}

func (m *Maker) woken(r *Record, e *format.Event) {
	r.Tasks[0], r.Tasks[1], r.Has = m.subject(e), m.object(e, e.Args[format.WakingWakee]), 1<<WakingWaker|1<<WakingWakee
	if e.Flags&format.WakingHasStack != 0 {
		m.stack(r, WakingStack, 0, format.StackID(e.Args[format.WakingStack]))
	}
	if e.Kind == format.KindWaking && e.Flags&format.WakingInIRQ != 0 {
		r.Values[1] = Interrupt
		r.Has |= 1 << WakingContext
	}
}

func (m *Maker) execs(r *Record, e *format.Event) {
	r.Tasks[0], r.Text, r.Has = m.subject(e), m.texts.clean(e.Data), 1<<ExecTask|1<<ExecFilename
	if e.Flags&format.ExecHasOldTID != 0 {
		r.Values[0] = int64(e.Args[format.ExecOldTID])
		r.Has |= 1 << ExecOldTID
	}
}

func (m *Maker) lostEvents(r *Record, e *format.Event) {
	from := int64(e.Args[format.LostFrom])
	r.Values[0], r.Has = max(0, e.Time-from), 1<<LostDuration|1<<LostCause
	if from >= m.opened {
		r.Values[1] = from - m.first
		r.Has |= 1 << LostStart
	}
	if n := e.Args[format.LostCount]; n != 0 {
		r.Values[2] = int64(min(n, 1<<53))
		r.Has |= 1 << LostCount
	}
	r.Values[3] = int64(known(e.Args[format.LostCause], m.causes))
	if what := e.Args[format.LostWhat]; what != 0 {
		r.Values[4] = int64(known(what, m.events))
		r.Has |= 1 << LostWhat
	}
}

// known is the index of a word; that of unknown for a number that a newer version knows.
func known(n uint64, words int) uint64 {
	if n >= uint64(words) {
		return 0
	}
	return n
}
