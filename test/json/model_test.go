//go:build linux

package json

import (
	"strconv"
	"strings"
	"testing"
)

// model computes the scheduler state a second time, from the text form of a capture alone: what a switch shows about the time
// that its next thread was off the CPU. The definitions are those of the schema; only whole captures are supported.
type model struct {
	d       *dump
	threads map[threadKey]*thread
	running map[int]*thread // by CPU
	notIdle map[int]ns      // since when a CPU has not been idle
	// broken counts switches where events contradict each other, by the pid of the thread that comes back.
	broken map[int]int
}

type threadKey struct {
	tid   int
	start int64
}

type thread struct {
	task  taskLine
	id    int  // its latest definition
	on    bool // a CPU
	off   bool // it is off its CPU; neither: not known
	since ns
	timed bool // since is known
	state string
	fresh bool // it has never run
	by    *preemption
	woken *waking
	early *waking // while it ran, or nothing was known of it: it may have been on its way to sleep
	// What it has waited for CPUs, with what its wakers had.
	delay ns
	chain int
}

type preemption struct {
	by  taskLine
	cpu int
}

type waking struct {
	at    ns
	by    taskLine
	byID  int
	cpu   int
	irq   bool // an interrupt woke
	early bool // before the thread had left its CPU
	delay ns
	chain int
}

// want is what the line of a switch should say.
type want struct {
	derived
	waker *taskLine
}

func newModel(d *dump) *model {
	m := &model{d: d, threads: map[threadKey]*thread{}, running: map[int]*thread{}, notIdle: map[int]ns{}, broken: map[int]int{}}
	for i := range d.states {
		m.begins(&d.states[i])
	}
	return m
}

// of is the thread that an id names.
func (m *model) of(id int) *thread {
	k := m.d.tasks[id]
	key := threadKey{k.tid, k.start}
	t := m.threads[key]
	if t == nil {
		t = &thread{}
		m.threads[key] = t
	}
	t.task, t.id = k, id
	return t
}

// begins takes a state at the opening of the window.
func (m *model) begins(e *eventLine) {
	t := m.of(e.task)
	if e.kind == "state_cpu" {
		m.running[e.cpu] = t
		t.on = true
		if !t.task.idle {
			m.notIdle[e.cpu] = 0
		}
		return
	}
	t.off, t.state, t.fresh = true, e.fields["state"], e.flags["new"]
	t.since, t.timed = e.time("since")
	if at, has := e.time("woken"); has {
		t.woken = &waking{at: at, cpu: e.number("waker_cpu"), byID: e.number("waker"), irq: e.flags["interrupt"]}
		t.woken.by = m.d.tasks[t.woken.byID]
	}
}

// take takes the next event, and returns what its line should say if it is a switch; nil: the state is not known.
func (m *model) take(e *eventLine) *want {
	switch e.kind {
	case "switch":
		return m.switched(e)
	case "waking":
		t := m.of(e.number("wakee"))
		switch {
		case !t.off && m.of(e.task) != t: // one that wakes itself goes on to run
			t.early = m.wakes(e)
			t.early.early = true
		case t.off && (t.woken == nil || t.woken.early) && !t.fresh && (!t.timed || e.at >= t.since):
			t.woken = m.wakes(e)
		}
	case "wakeup_new":
		t := m.of(e.number("wakee"))
		*t = thread{task: t.task, id: t.id, off: true, fresh: true, woken: m.wakes(e)}
	case "exec":
		m.execs(e)
	}
	return nil
}

func (m *model) wakes(e *eventLine) *waking {
	w := &waking{at: e.at, by: m.d.tasks[e.task], byID: e.task, cpu: e.cpu, irq: e.flags["interrupt"]}
	if by := m.of(e.task); !w.irq && !by.task.idle && m.running[e.cpu] == by {
		w.delay, w.chain = by.delay, by.chain
	}
	return w
}

// execs: a thread that is not its process's first one gets that one's id when it runs a new program.
func (m *model) execs(e *eventLine) {
	if _, has := e.fields["old_tid"]; !has {
		return
	}
	t, was := m.of(e.task), m.running[e.cpu]
	if was == nil || was == t {
		return
	}
	t.on, t.off, t.delay, t.chain = true, false, was.delay, was.chain
	m.running[e.cpu] = t
	*was = thread{task: was.task, id: was.id}
}

func (m *model) switched(e *eventLine) *want {
	prev, next := m.of(e.task), m.of(e.number("next"))
	if was := m.running[e.cpu]; was != nil && was != prev && !was.task.idle {
		*was = thread{task: was.task, id: was.id} // no switch from it was seen
	}
	if !prev.task.idle {
		m.leaves(prev, next, e)
	}
	m.running[e.cpu] = next
	w := &want{}
	if next.task.idle {
		if since, known := m.notIdle[e.cpu]; known {
			off := e.at - max(since, 0)
			w.OffCPU = &off
		}
		delete(m.notIdle, e.cpu)
		return w
	}
	if prev.task.idle {
		m.notIdle[e.cpu] = e.at
	}
	return m.comesBack(next, e, w)
}

func (m *model) leaves(t, next *thread, e *eventLine) {
	delay, chain, early := t.delay, t.chain, t.early
	if !t.on {
		delay, chain = 0, 0 // no switch to it was seen
	}
	if isPreempted(e.fields["prev_state"]) {
		early = nil
	}
	*t = thread{
		task: t.task, id: t.id, off: true, since: e.at, timed: true, state: e.fields["prev_state"], woken: early, delay: delay, chain: chain,
		by: &preemption{next.task, e.cpu},
	}
}

func isPreempted(state string) bool { return state == "R" || state == "R+" }

func (m *model) comesBack(t *thread, e *eventLine, w *want) *want {
	was := *t
	*t = thread{task: was.task, id: was.id, on: true}
	since, timed := e.time("since")
	if timed {
		off := e.at - max(since, 0)
		w.OffCPU, w.NextState = &off, stateWord(e.fields["next_state"], e.flags["since_called"])
	}
	if text, has := e.fields["stack"]; has && text != "0" {
		id, _ := strconv.ParseInt(text, 10, 64)
		w.OffCPUStackID = &id
	}
	if !was.off || was.timed != timed || timed && was.since != since || timed && was.state != e.fields["next_state"] {
		if was.fresh && !timed {
			return m.wasWoken(t, &was, e, w)
		}
		if was.off && !was.timed && !timed {
			return m.wasOff(t, &was, e, w)
		}
		m.broken[t.task.pid]++
		return nil
	}
	return m.wasOff(t, &was, e, w)
}

func (m *model) wasOff(t, was *thread, e *eventLine, w *want) *want {
	switch {
	case isPreempted(was.state) && !was.fresh:
		if !was.timed {
			return w
		}
		delay, chain := was.delay+e.at-was.since, was.chain
		w.Delay, w.Chain = &delay, &chain
		if was.since >= 0 || was.state == "R+" {
			w.WakingReason = "preempted"
		}
		if was.since >= 0 {
			w.WakingTS = &was.since
		}
		if was.by != nil {
			w.waker, w.WakingCPU = &was.by.by, &was.by.cpu
		}
		t.delay, t.chain = delay, chain
	case was.woken != nil:
		return m.wasWoken(t, was, e, w)
	}
	return w
}

func (m *model) wasWoken(t, was *thread, e *eventLine, w *want) *want {
	by := was.woken
	if by == nil {
		return w
	}
	w.WakingReason = "woken"
	if was.fresh {
		w.WakingReason, w.NextState = "woken_new", "new"
	}
	ready := by.at
	if by.early {
		ready = max(ready, was.since)
	}
	delay, chain := by.delay+e.at-ready, by.chain+1
	w.Delay, w.Chain, w.WakingCPU = &delay, &chain, &by.cpu
	if by.irq {
		w.WakingContext = "interrupt"
	}
	if by.at >= 0 {
		w.WakingTS = &by.at
	}
	if by.byID != 0 {
		w.waker = &by.by
	}
	t.delay, t.chain = delay, chain
	return w
}

// stateWord is the word of the schema for a state as ps(1) writes it; a wait for I/O (i) has no word of its own. Who called the scheduler
// itself was not preempted.
func stateWord(letters string, called bool) string {
	letters = strings.ReplaceAll(letters, "i", "")
	if letters == "R+" && called {
		return "runnable"
	}
	return map[string]string{
		"R": "runnable", "R+": "preempted", "Rq+": "throttled", "S": "interruptible_sleep", "D": "uninterruptible_sleep", "DK": "killable_sleep",
		"T": "stopped", "t": "traced", "X": "exit_dead", "Z": "exit_zombie", "I": "idle", "P": "parked",
	}[letters]
}

func TestSwitchesAgreeWithASecondCalculation(t *testing.T) {
	c := theCapture(t)
	if len(c.lines.events) != len(c.dump.events) {
		t.Fatalf("%d lines, but %d events in the text form", len(c.lines.events), len(c.dump.events))
	}
	m := newModel(c.dump)
	compared, reasons := 0, map[string]int{}
	for i := range c.dump.events {
		line, e := &c.lines.events[i], &c.dump.events[i]
		if line.TS != e.at || line.CPU != nil && *line.CPU != e.cpu {
			t.Fatalf("event %d is of %d on CPU %d, in the text form of %d on %d", i, line.TS, *line.CPU, e.at, e.cpu)
		}
		w := m.take(e)
		if w == nil {
			continue
		}
		if want := stateWord(e.fields["prev_state"], e.flags["called"]); line.PrevState != want {
			t.Errorf("switch at %d from %d in %q, want %q", e.at, line.Prev.tid(), line.PrevState, want)
		}
		compared++
		reasons[line.WakingReason]++
		if got, want := shownLine(line), shownWant(w); got != want {
			t.Errorf("switch at %d to %d:\n got %s\nwant %s", e.at, line.Next.tid(), got, want)
		}
	}
	for pid, n := range m.broken {
		if pid != 1 { // the kernel may not report switches from it: docs/kernels.md
			t.Errorf("%d switches to threads of process %d contradict earlier events", n, pid)
		}
	}
	if compared < 5000 || reasons["woken"] < 1000 || reasons["woken_new"] < 100 || reasons["preempted"] < 20 {
		t.Errorf("%d switches compared, %v", compared, reasons)
	}
}
