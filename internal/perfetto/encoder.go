package perfetto

import (
	"fmt"
	"io"
	"math"

	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

const (
	// maxCPUs is what Perfetto's engine takes; it refuses a whole trace that names a higher CPU.
	maxCPUs = 1024
	// flushNs is how long a bundle waits for more events, and so what a cut trace may lack of other CPUs.
	flushNs = int64(500e6)
	// writeBytes is how much is written at once.
	writeBytes = 1 << 20
)

// Encoder makes packets of events. They have to come in order, between Open and Close.
type Encoder struct {
	w       io.Writer
	err     error
	out     []byte
	written int64

	defs     Definitions
	clock    clock
	clocks   int // of this section's snapshots, how many were written
	threads  threads
	cpus     []*cpu
	idle     *task
	states   [1 << 12]uint16 // rawState of every combination of bits
	opening  opening
	notes    notes
	samples  samples
	unknown  []unknown // not yet told
	options  Options
	plain    [256]bool // kinds that show nothing of scheduling
	kthreadd bool      // Perfetto knows it
	view     *view     // nil: nothing is drawn of threads

	opened    int64 // when the current window did
	now       int64 // of the last event
	nextFlush int64
	skipped   int64 // events of CPUs beyond maxCPUs
}

// cpu is one CPU as Perfetto was shown it. A compact switch takes the CPU from the thread that Perfetto believes to
// run, so running is that thread, whatever the stream says. Where they differ, a switch without length comes first.
type cpu struct {
	number   uint32
	running  *thread // nil: Perfetto has no switch of this CPU yet
	last     int64   // time of the last event that was written here
	bundle   bundle
	filtered *task // stands for hidden threads
	lost     *task // stands for an unknown one
	onCPU    cpuName
}

// Definitions finds what ids of the current section name, nil where nothing is known; [format.Reader] is one.
type Definitions interface {
	tracks.Definitions
	Command(id uint32) *format.Command
	Stack(format.StackID) *format.Stack
	Frame(id uint32) *format.Frame
	Module(id uint32) *format.Module
}

// NewEncoder returns an Encoder that looks definitions up in defs and writes to w.
func NewEncoder(w io.Writer, defs Definitions, options Options) *Encoder {
	e := &Encoder{w: w, options: options, defs: defs, clock: newClock(), threads: newThreads(), now: math.MinInt64, nextFlush: math.MinInt64}
	e.idle = e.threads.newTask(&thread{}, []byte("swapper"))
	for _, k := range format.Kinds() {
		e.plain[k.Kind] = k.IsPlain()
	}
	for s := range e.states {
		e.states[s] = uint16(rawState(format.State(s)))
	}
	if options.view() {
		e.view = newView(e, options)
	}
	return e
}

// System describes the machine. It comes before all events.
func (e *Encoder) System(s *format.Session) { e.out = appendSystemInfo(e.out, s) }

// NewSection is called when the ids of events change their meaning to those of a session's section.
func (e *Encoder) NewSection(s *format.Session) {
	e.endOpening()
	if e.view != nil {
		e.view.newSection(s)
	}
	e.threads.newSection()
	e.samples.newSection(s.Sources)
	e.clocks = 0
}

// Clocks takes the section's clock snapshots so far.
func (e *Encoder) Clocks(all []*format.ClockSnapshot) {
	for ; e.clocks < len(all); e.clocks++ {
		if e.clock.add(all[e.clocks]) {
			e.out = appendClockSnapshot(e.out, e.clock.shown(all[e.clocks]))
		}
	}
}

// Event takes the next event. It keeps nothing of it.
func (e *Encoder) Event(v *format.Event) error {
	if v.Flags&format.FlagLate != 0 {
		e.late(v)
		if e.view != nil {
			e.view.event(v)
		}
		return e.flushed()
	}
	e.now = v.Time
	if e.opening.pending && (v.Time != e.opening.at || v.Kind != format.KindStateCPU && v.Kind != format.KindStateThread) {
		e.endOpening()
	}
	if e.threads.areTooMany() {
		e.forgetThreads(e.cpu(min(v.CPU, maxCPUs-1)))
	}
	e.apply(v)
	if e.view != nil {
		e.view.event(v)
	}
	if v.Time >= e.nextFlush || len(e.out) >= writeBytes {
		return e.flush()
	}
	return nil
}

func (e *Encoder) apply(v *format.Event) {
	switch {
	case v.Kind == format.KindSample:
		e.sample(v)
	case v.Kind == format.KindLost:
		e.lost(v)
	case !e.options.Sched || v.Kind == format.KindTyped || e.plain[v.Kind]:
		e.introduceAll(v)
	case v.Kind == format.KindSwitch:
		e.switched(v)
	case v.Kind == format.KindWaking:
		e.waking(v)
	default:
		e.applyRare(v)
	}
}

// flush appends all bundles and writes what there is.
func (e *Encoder) flush() error {
	e.nextFlush = e.now + flushNs
	e.tellUnknown()
	for _, c := range e.cpus {
		if c != nil {
			e.out = c.bundle.appendPacket(e.out, c.number)
		}
	}
	return e.flushed()
}

func (e *Encoder) flushed() error {
	if e.err == nil && len(e.out) > 0 {
		n, err := e.w.Write(e.out)
		e.written += int64(n)
		if err != nil {
			e.err = fmt.Errorf("write the trace: %w", err)
		}
	}
	e.out = e.out[:0]
	return e.err
}

// cpu returns the CPU of an event; nil if the engine would refuse its number, or if it is none.
func (e *Encoder) cpu(number uint32) *cpu {
	if uint64(number) < uint64(len(e.cpus)) {
		if c := e.cpus[number]; c != nil {
			return c
		}
	}
	if number >= maxCPUs {
		if number != format.AllCPUs {
			e.skipped++
		}
		return nil
	}
	for uint64(len(e.cpus)) <= uint64(number) {
		e.cpus = append(e.cpus, nil)
	}
	c := &cpu{number: number, last: math.MinInt64}
	e.cpus[number] = c
	return c
}

// filteredOn is who stands for hidden threads on a CPU.
func (e *Encoder) filteredOn(c *cpu, at int64) *task {
	if c.filtered == nil {
		c.filtered = e.standIn(filteredTID, c, "(filtered out)", at)
	}
	return c.filtered
}

// lostOn is who runs on a CPU while that is not known.
func (e *Encoder) lostOn(c *cpu, at int64) *task {
	if c.lost == nil {
		c.lost = e.standIn(lostTID, c, "(lost)", at)
	}
	return c.lost
}

func (e *Encoder) standIn(base int32, c *cpu, name string, at int64) *task {
	k := e.threads.newTask(&thread{tid: base + int32(c.number), pid: base}, []byte(name))
	e.out = appendStandIn(e.out, e.clock.boottime(at), k)
	return k
}

// task is the thread that an id names, introduced to Perfetto if it is new.
func (e *Encoder) task(id format.TaskID, c *cpu) *task {
	if k := e.threads.get(id); k != nil {
		return k
	}
	return e.introduce(id, c, nil)
}

// introduce tells Perfetto of a thread under a name that this section has not shown yet. forked, if it is not nil, is
// called instead of telling its process, when the thread is new.
func (e *Encoder) introduce(id format.TaskID, c *cpu, forked func(*task)) *task {
	d := e.defs.Task(id)
	if id == 0 || d.IsLost() {
		return e.lostOn(c, e.now) // its definition was lost: not kept, it may still come
	}
	if d.Tid == 0 || d.Flags&uint32(format.TaskFlag_TASK_FLAG_IDLE) != 0 {
		e.threads.put(id, e.idle)
		return e.idle
	}
	t := e.threads.byTID[d.Tid]
	if t != nil && t.pid == 0 {
		t.start = d.Start // so far only its tid was known
	}
	isNew := t == nil || t.start != d.Start
	if isNew {
		if t != nil && e.options.Sched {
			e.freeUnseen(c, t)
		}
		t = &thread{tid: d.Tid, pid: d.Pid, nsTID: d.NsTid, nsPID: d.NsPid, start: d.Start, shown: shownNothing}
		e.threads.byTID[d.Tid] = t
	}
	k := e.threads.newTask(t, stacks.Printable(d.Comm, stacks.Unnamed))
	e.threads.put(id, k)
	if isNew && forked != nil {
		forked(k)
		return k
	}
	if (isNew || t.pid == 0) && d.Pid != 0 {
		t.pid, t.nsTID, t.nsPID = d.Pid, d.NsTid, d.NsPid
		if d.Ppid == kthreaddPID {
			e.describeKthreadd()
		}
		var name []byte
		if !e.options.Sched {
			name = k.name // else the switches name it, and follow its renames
		}
		e.out = appendProcess(e.out, e.clock.boottime(e.now), d, e.command(d), name)
	}
	return k
}

// describeKthreadd describes the parent of all kernel threads, by which the interface groups them. A filter may have
// hidden it.
func (e *Encoder) describeKthreadd() {
	if !e.kthreadd && e.threads.byTID[kthreaddPID] == nil {
		e.out = appendParent(e.out, e.clock.boottime(e.now), kthreaddPID, "kthreadd")
	}
	e.kthreadd = true
}

// freeUnseen ends a thread whose tid another one has now. It ends a moment before, because Perfetto would end the new
// one otherwise.
func (e *Encoder) freeUnseen(c *cpu, t *thread) {
	at := e.clock.boottime(max(e.now-1, c.last))
	e.recall(t, at)
	e.makeRoom(c, at, true)
	c.bundle.free(at, 0, &task{thread: t, name: []byte(stacks.Unnamed)})
}

// makeRoom begins a new bundle unless the next event has its place in the current one.
func (e *Encoder) makeRoom(c *cpu, at uint64, full bool) {
	if !c.bundle.takes(at, full) {
		e.out = c.bundle.appendPacket(e.out, c.number)
	}
}

// Close ends the window: every CPU goes to idle, so that nobody seems to run on, and all is written. What is unknown from
// here on is told with the next window, if there is one.
func (e *Encoder) Close(at int64) error {
	e.endOpening()
	at = max(at, e.now)
	e.now = at
	if e.view != nil {
		e.view.close(at)
	}
	for _, c := range e.cpus {
		if c != nil && c.running != nil {
			e.takeOver(c, at, e.idle, 120)
		}
	}
	return e.flush()
}
