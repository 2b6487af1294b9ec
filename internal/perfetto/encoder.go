package perfetto

import (
	"io"
	"math"

	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

const (
	// maxCPUs is what Perfetto's engine takes; it refuses a whole trace that names a higher CPU.
	maxCPUs = 1024
	// flushNs is how long a bundle waits for more events, and so what a cut trace may lack of other CPUs.
	flushNs = int64(500e6)
)

// encoder is the [tracks.EventEncoder] of Perfetto. It writes the scheduling events, from which Perfetto derives the CPUs' tracks
// and the threads' states; its view draws everything else.
type encoder struct {
	*trace
	threads  *threads
	cpus     []*cpu
	states   [1 << 12]uint16 // rawState of every combination of bits
	opening  opening
	samples  samples
	unknown  []unknown // not written yet
	options  Options
	plain    [256]bool // kinds that show nothing of scheduling
	kthreadd bool      // it was described
	hides    bool      // a filter hides threads
	view     *view

	begun     bool            // the machine was described
	session   *format.Session // of the current window
	opened    int64           // when the current window did
	nextFlush int64
	skipped   int64 // events of CPUs beyond maxCPUs
}

// cpu is one CPU as written so far. A compact switch takes the CPU from the thread that runs there in Perfetto's tables, so running
// is that thread, even if the stream has another one. Where they differ, a switch without length comes first.
type cpu struct {
	number   uint32
	running  *thread // nil: Perfetto has no switch of this CPU yet
	last     int64   // time of the last event that was written here
	bundle   bundle
	filtered *task // stands for hidden threads
	lost     *task // stands for an unknown thread
}

func newEncoder(w io.Writer, options Options) *encoder {
	e := &encoder{trace: newTrace(w), options: options, threads: newThreads(), nextFlush: math.MinInt64}
	for _, k := range format.Kinds() {
		e.plain[k.Kind] = k.IsPlain()
	}
	for s := range e.states {
		e.states[s] = uint16(rawState(format.State(s)))
	}
	e.view = newView(e.trace, e.threads, options)
	return e
}

// Section implements [tracks.Encoder].
func (e *encoder) Section(s *format.Session) {
	if !e.begun {
		e.begun = true
		e.out = appendUUID(appendSystemInfo(e.out, s), s)
	}
	e.endOpening()
	e.view.newSection()
	e.view.nodes = nodesOf(s)
	e.view.setCounters(s)
	if e.options.Cores {
		e.view.cores.newSection(s)
	}
	e.samples.newSection(s.Sources)
}

// nodesOf returns the NUMA nodes of CPUs.
func nodesOf(s *format.Session) map[uint32]int32 {
	nodes := make(map[uint32]int32, len(s.Cpus))
	for _, cpu := range s.Cpus {
		nodes[cpu.Id] = cpu.Node
	}
	return nodes
}

// Clock implements [tracks.EventEncoder].
func (e *encoder) Clock(s *format.ClockSnapshot) {
	if e.clock.add(s) {
		e.out = appendClockSnapshot(e.out, e.clock.shown(s))
	}
}

// Event implements [tracks.EventEncoder].
func (e *encoder) Event(v *tracks.Event) {
	if v.Flags&format.FlagLate != 0 {
		e.late(v)
	} else {
		e.now = v.Time
		if e.opening.pending && (v.Time != e.opening.at || v.Kind != format.KindStateCPU && v.Kind != format.KindStateThread) {
			e.endOpening()
		}
		if len(e.threads.byTID) >= e.threads.most {
			e.dropThreads(e.cpu(min(v.CPU, maxCPUs-1)))
		}
		e.apply(v)
	}
	if e.options.view() {
		e.view.event(v)
	}
}

func (e *encoder) apply(v *tracks.Event) {
	switch {
	case v.Kind == format.KindLost:
		e.lost(v)
	case !e.options.Sched || v.Kind == format.KindTyped || v.Kind == format.KindSample || e.plain[v.Kind]:
		e.introduceAll(v)
	case v.Kind == format.KindSwitch:
		e.switched(v)
	case v.Kind == format.KindWaking:
		e.waking(v)
	default:
		e.applyRare(v)
	}
}

// late handles an event that comes after later ones in the stream. It is written at its time, unless later events of the CPU are written.
func (e *encoder) late(v *tracks.Event) {
	e.now = max(e.now, v.Time)
	e.endOpening()
	if v.CPU >= maxCPUs || e.opened > v.Own || e.cpu(v.CPU).last > v.Own {
		return
	}
	own := *v.Event
	own.Time = v.Own
	e.apply(&tracks.Event{Event: &own, Task: v.Task, Other: v.Other})
}

// lost handles possibly missing switches: at the last event of a CPU a thread "(lost)" takes it over until an event shows
// who runs.
func (e *encoder) lost(v *tracks.Event) {
	if !timeline.LosesState(v.Event) {
		return
	}
	for _, c := range e.cpus {
		if c == nil || c.running == nil || v.CPU != format.AllCPUs && v.CPU != c.number || c.lost != nil && c.running == c.lost.thread {
			continue
		}
		at := min(max(v.Lost().From(), c.last, e.opened), v.Time)
		e.takeOver(c, at, e.lostOn(c, at), 120)
	}
}

// Flush implements [tracks.Encoder].
func (e *encoder) Flush() error {
	e.view.eventDrawn()
	if e.now >= e.nextFlush || len(e.out) >= writeBytes {
		return e.flush()
	}
	return e.err
}

// flush appends all bundles and writes what there is.
func (e *encoder) flush() error {
	e.nextFlush = e.now + flushNs
	e.writeUnknown()
	for _, c := range e.cpus {
		if c != nil {
			e.out = c.bundle.appendPacket(e.out, c.number)
		}
	}
	return e.write()
}

// cpu returns the CPU of an event; nil if the engine would refuse its number, or if it is none.
func (e *encoder) cpu(number uint32) *cpu {
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

// filteredOn returns the placeholder for hidden threads on a CPU.
func (e *encoder) filteredOn(c *cpu, at int64) *task {
	if c.filtered == nil {
		e.hides = true
		e.describeKthreadd()
		c.filtered = e.placeholder(at, "<filtered>", &format.Task{Tid: filteredTID + int32(c.number), Pid: filteredPID, Ppid: kthreaddPID})
	}
	return c.filtered
}

// lostOn returns the placeholder for the thread on a CPU while that is unknown.
func (e *encoder) lostOn(c *cpu, at int64) *task {
	if c.lost == nil {
		c.lost = e.placeholder(at, "(lost)", &format.Task{Tid: lostTID + int32(c.number), Pid: lostTID})
	}
	return c.lost
}

func (e *encoder) placeholder(at int64, name string, d *format.Task) *task {
	k := e.threads.newTask(&thread{tid: d.Tid, pid: d.Pid}, []byte(name))
	d.ProcessComm = k.name
	e.out = appendProcess(e.out, e.clock.boottime(at), d, nil, k.name)
	return k
}

// task returns a thread under one name, and describes it to Perfetto if it is new; for nil, a missing definition, the
// placeholder for unknown threads.
func (e *encoder) task(of *tracks.Task, c *cpu) *task {
	if k := e.threads.get(of); k != nil {
		return k
	}
	return e.introduce(of, c, nil)
}

// introduce describes a thread under a name that was not described yet. forked, if it is not nil, is called instead of describing
// its process, when the thread is new.
func (e *encoder) introduce(of *tracks.Task, c *cpu, forked func(*task)) *task {
	if of == nil {
		return e.lostOn(c, e.now)
	}
	if of.Idle {
		return e.threads.idle
	}
	d := of.Def
	t := e.threads.byTID[d.Tid]
	if t != nil && t.pid == 0 {
		t.start = d.Start // so far only its tid was known
	}
	isNew := t == nil || t.start != d.Start
	if isNew {
		if t != nil {
			if e.options.Sched {
				e.freeUnseen(c, t)
			}
			e.threads.remove(t.tid)
		}
		t = &thread{tid: d.Tid, pid: d.Pid, nsTID: d.NsTid, nsPID: d.NsPid, start: d.Start, isKernel: d.Ppid == kthreaddPID || d.Pid == kthreaddPID, shown: shownNothing}
		e.threads.byTID[d.Tid] = t
	}
	k := e.threads.put(of, t)
	moved := !isNew && t.pid != 0 && t.in != of.In.ID
	t.in = of.In.ID
	if moved {
		e.describe(of, e.clock.boottime(e.now)+1, nil) // after a rename at the same time, which would name the process
	}
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
		e.describe(of, e.clock.boottime(e.now), name)
	}
	return k
}

// describe assigns a thread to its process, and describes the process unless it has been: many threads have a long command line.
func (e *encoder) describe(of *tracks.Task, at uint64, name []byte) {
	d := of.Def
	if e.threads.isNewProcess(of) {
		e.out = appendProcess(e.out, at, d, processWords(of), name)
	} else {
		e.out = appendThread(e.out, at, d, name)
	}
}

// thread returns the thread of a task, for drawing. One that no event on a CPU has named yet is described to Perfetto.
func (e *encoder) thread(of *tracks.Task) *task {
	if k := e.threads.known(of); k != nil {
		return k
	}
	return e.task(of, e.cpu(0))
}

// describeKthreadd describes the parent of all kernel threads, by which the interface groups them. A filter may have
// hidden it.
func (e *encoder) describeKthreadd() {
	if !e.kthreadd && e.threads.byTID[kthreaddPID] == nil {
		e.out = appendParent(e.out, e.clock.boottime(e.now), kthreaddPID, "kthreadd")
	}
	e.kthreadd = true
}

// freeUnseen ends a thread whose tid is reused. It ends 1 ns earlier, because Perfetto would end the new
// one otherwise.
func (e *encoder) freeUnseen(c *cpu, t *thread) {
	at := e.clock.boottime(max(e.now-1, c.last))
	e.endUnknown(t, at)
	e.makeRoom(c, at, true)
	c.bundle.free(at, 0, &task{thread: t, name: []byte(stacks.Unnamed)})
}

// makeRoom begins a new bundle unless the next event fits into the current one.
func (e *encoder) makeRoom(c *cpu, at uint64, full bool) {
	if !c.bundle.takes(at, full) {
		e.out = c.bundle.appendPacket(e.out, c.number)
	}
}

// Close implements [tracks.Encoder]: every CPU becomes idle, so that no thread seems to run on, and everything is written. What is
// unknown from here on is written with the next window, if there is one.
func (e *encoder) Close(at int64) {
	e.endOpening()
	e.now = max(at, e.now)
	e.view.close(e.hides)
	if e.options.Threads {
		e.view.drawSession(e.session, e.now)
	}
	for _, c := range e.cpus {
		if c != nil && c.running != nil {
			e.takeOver(c, e.now, e.threads.idle, 120)
		}
	}
	_ = e.flush() // Flush returns the error too
}
