package timeline

import (
	"cmp"
	"slices"

	"wprof/format"
)

// Usage adds up each process's time on the CPU, section by section, for end blocks. It counts the spans of running threads except
// idle ones, so that its sums agree with those of all tools.
type Usage struct {
	spans   *Spans
	section int
	byPID   map[int32]*usageProcess // the latest process of a pid in this section
	seen    []*usageProcess
}

// usageThread is the process to which a thread's time is added. It is stored in Thread.Own.
type usageThread struct {
	section int
	def     *format.Task
	process *usageProcess
}

type usageProcess struct {
	pid     int32
	nsPID   int32
	start   int64 // of the leader; 0 when it has not been seen
	comm    []byte
	ns      int64
	dropped bool // by dropLeast
}

// maxUsage bounds the processes of a section that are kept: an end block lists a quarter of them, those with the most time.
const maxUsage = 4 * format.MaxProcesses

// NewUsage returns a Usage for a new stream.
func NewUsage(defs Definitions) *Usage {
	u := &Usage{byPID: make(map[int32]*usageProcess)}
	u.spans = NewSpans(defs, u.span)
	u.spans.runningOnly = true
	return u
}

// NewSection is called when a section begins; [Usage.Close] was called at the end of the one before.
func (u *Usage) NewSection(s *format.Session) {
	isFirst := u.section == 0
	u.section++
	continues := !isFirst && ContinuesWindow(s)
	if !isFirst && !continues {
		u.spans.Close(u.spans.now)
	}
	u.spans.NewSection(s)
	if !continues {
		u.spans.Open(s.WindowStart())
	}
}

// Apply takes the next event. A waking shows only that the waker runs.
func (u *Usage) Apply(e *format.Event) {
	s := u.spans
	isLate := e.Flags&format.FlagLate != 0
	switch {
	case e.Kind == format.KindWaking:
		s.now = max(s.now, e.Time)
		s.tl.bound()
		if t := s.tl.subject(e); !isLate {
			s.shows(t, e)
		}
	case e.Kind == format.KindSwitch && !isLate && u.switched(e):
	default:
		s.Apply(e)
	}
}

// switched is a short path for nearly all switches: the thread that leaves has run on this CPU for certain, and the other
// one was off the CPU; that time does not count here. It returns false for other switches. It sets only what spans of
// running threads need: setting the whole state takes 17 % more time.
func (u *Usage) switched(e *format.Event) bool {
	s, tl := u.spans, u.spans.tl
	tl.bound()
	prev, next := tl.subject(e), tl.object(e, e.Args[format.SwitchNext])
	c := tl.cpu(e.CPU)
	if c == nil || prev == nil || next == nil || c.Running != prev || tl.coverage.SomeCPUs ||
		!(prev.idle || prev.isOn(e.CPU) && !Ends(format.State(e.Args[format.SwitchPrevState]))) ||
		!(next.idle || next.isOff()) {
		return false
	}
	s.now, s.late = max(s.now, e.Time), false
	if !prev.idle {
		s.span.Kind = SpanRunning
		s.put(prev, e.Time)
		prev.spanState.becomesKnown(e.Time)
		prev.Status, prev.Since, prev.ChangedAt = Off, e.Time, e.Time
	}
	if !next.idle {
		next.spanState.cursor = max(next.spanState.cursor, e.Time)
		next.spanState.becomesKnown(e.Time)
		tl.known(next)
		next.CPU, next.Begin, next.ChangedAt = e.CPU, BeginAt(e.Time), e.Time
	}
	next.Status = Running
	c.Running, c.ChangedAt = next, e.Time
	return true
}

// isOn reports whether a thread certainly runs on a CPU.
func (t *Thread) isOn(cpu uint32) bool {
	return t.Status == Running && t.CPU == cpu && !t.spanState.uncertain
}

// isOff reports whether a thread is off the CPU, or was not seen running when its state became unknown.
func (t *Thread) isOff() bool {
	return t.Status == Off || t.Status == Unknown && t.spanState.was.Status != Running
}

// Ended ends a thread of which [Usage.Apply] gets no event of its end, unless the events show it running.
func (u *Usage) Ended(id format.TaskID) {
	if t := u.spans.tl.Thread(id); t != nil && t.Status != Running {
		u.spans.ends(t, u.spans.now)
		u.spans.tl.end(t)
	}
}

// Close returns the time of every process up to the end of the section.
func (u *Usage) Close(at int64) []*format.ProcessTime {
	u.spans.EmitRunning(at)
	var all []*format.ProcessTime
	for _, p := range u.seen {
		all = append(all, &format.ProcessTime{Pid: p.pid, Comm: p.comm, Ns: p.ns, Start: p.start, NsPid: p.nsPID})
	}
	slices.SortFunc(all, func(a, b *format.ProcessTime) int {
		return cmp.Or(cmp.Compare(a.Pid, b.Pid), cmp.Compare(a.Start, b.Start))
	})
	u.section++
	u.seen = nil
	clear(u.byPID)
	return all
}

func (u *Usage) span(s *Span) {
	p := u.process(s.Thread)
	p.ns = format.Sum(p.ns, s.To-s.From)
}

func (u *Usage) process(t *Thread) *usageProcess {
	of, _ := t.Own.(*usageThread)
	if of == nil {
		of = new(usageThread)
		t.Own = of
	}
	if of.section != u.section || of.def != t.Def || of.process.dropped {
		*of = usageThread{section: u.section, def: t.Def, process: u.find(t.Def)}
	}
	return of.process
}

func (u *Usage) find(d *format.Task) *usageProcess {
	p := u.byPID[d.Pid]
	leader := d.Tid == d.Pid
	if p == nil || leader && p.start != 0 && p.start != d.Start {
		if len(u.seen) >= maxUsage {
			u.dropLeast()
		}
		p = &usageProcess{pid: d.Pid}
		u.byPID[d.Pid] = p
		u.seen = append(u.seen, p)
	}
	if leader {
		p.start = d.Start
	}
	p.comm, p.nsPID = d.ProcessComm, d.NsPid
	return p
}

// dropLeast drops half of the processes, those with the least time.
func (u *Usage) dropLeast() {
	slices.SortStableFunc(u.seen, func(a, b *usageProcess) int { return cmp.Compare(b.ns, a.ns) })
	for _, p := range u.seen[maxUsage/2:] {
		p.dropped = true
		if u.byPID[p.pid] == p {
			delete(u.byPID, p.pid)
		}
	}
	clear(u.seen[maxUsage/2:])
	u.seen = u.seen[:maxUsage/2]
}
