package perfetto

import (
	"slices"

	"wprof/format"
	"wprof/internal/tracks"
)

// opening is a state under construction: the running and the off-CPU threads in the state records of one time.
type opening struct {
	pending bool
	at      int64
	first   bool // it opens a window: a CPU without a record runs a hidden thread
	known   bool // from records, or the stream went through a filter, or is of a command, which has none before its exec
	online  []uint32
	running []runs
	off     []off
}

type runs struct {
	cpu  *cpu
	task *task
	prio int32
}

type off struct {
	cpu      uint32
	task     *task
	prio     int32
	state    shown
	waker    *task // who made it runnable, if that is known
	wakerCPU uint32
}

// Open implements [tracks.Encoder]. The state that follows opens the window.
func (e *encoder) Open(at int64, s *format.Session) {
	e.session = s
	e.now, e.opened = at, at
	e.view.opened = at
	e.view.sleepers.open()
	e.opening.pending, e.opening.first, e.opening.at = e.options.Sched, true, at
	e.opening.known = len(s.History) > 0 || s.IsOfCommand()
	e.opening.online = e.opening.online[:0]
	for _, c := range s.Cpus {
		if !c.Offline && c.Id < maxCPUs {
			e.opening.online = append(e.opening.online, c.Id)
		}
	}
}

// state handles one state record. Those marked open are at the end and repeat what closing the window does.
func (e *encoder) state(v *tracks.Event) {
	if v.Flags&format.FlagOpen != 0 || v.Flags&format.FlagSubject == 0 {
		return
	}
	o := &e.opening
	o.pending, o.known, o.at = true, true, v.Time
	c := e.cpu(v.CPU)
	k := e.task(v.Task, c)
	if k == c.lost || v.Kind == format.KindStateThread && k == e.threads.idle {
		return
	}
	if v.Kind == format.KindStateCPU {
		o.running = append(o.running, runs{c, k, int32(v.Args[format.StateCPUPrio])})
		return
	}
	one := off{cpu: v.CPU, task: k, prio: int32(v.Args[format.StateThreadPrio]), state: shown(rawState(v.StateThread().State()))}
	if _, woken := v.StateThread().Woken(); woken && one.state != shown(format.StatePreempted) {
		one.state = shown(format.StateRunnable)
		if v.Other != nil {
			one.waker = e.task(v.Other, c)
			number, _ := v.StateThread().WakerCPU()
			one.wakerCPU = uint32(min(number, maxCPUs))
		}
	}
	o.off = append(o.off, one)
}

// endOpening writes what differs from the state written so far: at a window's opening everything, in the middle of
// it only what was lost before.
//
// A thread that is off the CPU needs a row in thread_state. A task state packet adds one, but has only the states
// R, S, D, T and Z. For idle kernel threads (I), traced (t) and parked (P) ones, only a switch adds the right
// row: on one CPU, before its first thread, they run one after the other for no time.
func (e *encoder) endOpening() {
	o := &e.opening
	if !o.pending {
		return
	}
	o.pending = false
	o.off = slices.DeleteFunc(o.off, func(f off) bool { return f.task.shown == f.state })
	e.showRunning()
	for _, f := range o.off {
		if f.task.shown != f.state && f.task.shown != shownRunning {
			e.showOff(f)
		}
	}
	if o.first && o.known {
		e.hideOthers()
	}
	clear(o.running)
	clear(o.off)
	*o = opening{online: o.online, running: o.running[:0], off: o.off[:0]}
}

func (e *encoder) showRunning() {
	o := &e.opening
	chained := false
	for _, r := range o.running {
		if r.cpu.running == r.task.thread {
			continue
		}
		state := o.left(r.cpu.running)
		if !chained {
			state = e.chain(r.cpu, state)
			chained = true
		}
		e.replace(r.cpu, state, r.task, r.prio)
	}
}

// left returns the state in which a thread has left its CPU, as far as the opening contains it.
func (o *opening) left(t *thread) shown {
	if t != nil && t.isReal() {
		for _, f := range o.off {
			if f.task.thread == t {
				return f.state
			}
		}
	}
	return shownUnknown
}

// chain writes zero-length runs of the threads whose state only a switch can show, and returns the state in which the
// last one leaves it.
func (e *encoder) chain(c *cpu, state shown) shown {
	for _, f := range e.opening.off {
		if taskState(f.state) == 0 && f.task.shown != shownRunning {
			e.replace(c, state, f.task, f.prio)
			state = f.state
		}
	}
	return state
}

func (e *encoder) replace(c *cpu, state shown, next *task, prio int32) {
	if state == shownUnknown {
		e.takeOver(c, e.opening.at, next, prio)
		return
	}
	e.handOver(c, e.opening.at, int64(state), next, prio)
}

// showOff writes the state of a thread that is off the CPU, with its waker if it was woken.
func (e *encoder) showOff(f off) {
	at := e.clock.boottime(e.opening.at)
	if e.endUnknown(f.task.thread, at) {
		at++ // the engine would take it before the switch
	}
	if f.waker != nil {
		if c := e.cpu(f.wakerCPU); c != nil {
			e.makeRoom(c, at, true)
			c.bundle.fullWaking(eventWaking, at, f.waker.tid, f.task, f.prio, uint64(f.cpu))
			c.last = max(c.last, e.opening.at)
			e.woken(f.task, at)
			return
		}
	}
	if state := taskState(f.state); state != 0 {
		e.out = appendTaskState(e.out, at, f.cpu, f.task, f.prio, state)
		f.task.shown = f.state
	}
}

// hideOthers gives CPUs without a state record to the placeholder for hidden threads: a filter has removed their threads.
func (e *encoder) hideOthers() {
	o := &e.opening
	for _, number := range o.online {
		isKnown := slices.ContainsFunc(o.running, func(r runs) bool { return r.cpu.number == number })
		if c := e.cpu(number); c != nil && !isKnown {
			e.takeOver(c, o.at, e.filteredOn(c, o.at), 120)
		}
	}
}
