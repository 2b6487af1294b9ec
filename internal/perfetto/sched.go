package perfetto

import (
	"wprof/format"
	"wprof/internal/tracks"
)

// This file is the hot path. A conversion takes 60 to 100 ns an event, of which most is decoding, and allocates nothing
// for an event; BenchmarkConvert and BenchmarkDecode measure both.

// switched writes a switch. Filters may have hidden one of its threads.
func (e *encoder) switched(v *tracks.Event) {
	c := e.cpu(v.CPU)
	if c == nil {
		return
	}
	prev, next := e.sides(v, c)
	state := int64(e.states[v.Args[format.SwitchPrevState]&uint64(len(e.states)-1)])
	prio := int32(v.Args[format.SwitchNextPrio])
	if c.running == nil {
		e.firstSwitch(c, v.Time, prev, int32(v.Args[format.SwitchPrevPrio]), state, next, prio)
		return
	}
	if c.running != prev.thread {
		e.takeOver(c, v.Time, prev, int32(v.Args[format.SwitchPrevPrio]))
	}
	e.switchTo(c, v.Time, state, next, prio)
}

// sides returns the two threads of an event, or their placeholders.
func (e *encoder) sides(v *tracks.Event, c *cpu) (subject, object *task) {
	if v.Flags&format.FlagsVisible == format.FlagsVisible {
		return e.task(v.Task, c), e.task(v.Other, c)
	}
	if v.Flags&format.FlagSubject != 0 {
		return e.task(v.Task, c), e.filteredOn(c, v.Time)
	}
	return e.filteredOn(c, v.Time), e.task(v.Other, c)
}

// switchTo writes a switch from the thread that runs on a CPU, as written so far, to another one.
func (e *encoder) switchTo(c *cpu, at int64, state int64, next *task, prio int32) {
	if !c.running.isReal() {
		state = c.running.leftState()
	}
	ts := e.clock.boottime(at)
	e.makeRoom(c, ts, false)
	c.bundle.addSwitch(ts, state, next, prio)
	e.ran(c, at, state, next)
}

// firstSwitch writes a CPU's first switch, which Perfetto needs in full.
func (e *encoder) firstSwitch(c *cpu, at int64, prev *task, prevPrio int32, state int64, next *task, prio int32) {
	if !prev.isReal() {
		state = prev.leftState()
	}
	ts := e.clock.boottime(at)
	e.makeRoom(c, ts, true)
	c.bundle.fullSwitch(ts, prev, prevPrio, state, next, prio)
	c.running = prev.thread
	e.ran(c, at, state, next)
}

func (e *encoder) ran(c *cpu, at int64, state int64, next *task) {
	c.running.shown = shown(state)
	if next.shown <= shownRunning && next.isReal() {
		e.appears(c, at, next.thread)
	}
	c.running = next.thread
	next.shown = shownRunning
	c.last = at
}

// waking writes a waking. Perfetto takes the thread that runs on the CPU for the waker; where that is
// another thread, the full event names the waker.
func (e *encoder) waking(v *tracks.Event) {
	c := e.cpu(v.CPU)
	if c == nil || v.Flags&format.FlagObject == 0 || e.options.NoWakings {
		return
	}
	waker, wakee := e.sides(v, c)
	if c.lost != nil && c.running == c.lost.thread {
		e.switchTo(c, v.Time, 0, waker, 120) // after a loss: a waker runs
	}
	ts := e.clock.boottime(v.Time)
	prio, target, inIRQ := int32(v.Args[format.WakingPrio]), v.Args[format.WakingTargetCPU], v.Waking().Interrupt()
	if c.running == waker.thread {
		e.makeRoom(c, ts, false)
		c.bundle.addWaking(ts, waker.tid, wakee, prio, target, inIRQ)
	} else {
		e.makeRoom(c, ts, true)
		c.bundle.fullWaking(eventWaking, ts, waker.tid, wakee, prio, target)
	}
	e.woken(wakee, ts)
	c.last = v.Time
}

// woken updates a thread's state as Perfetto does: one that it takes for running or runnable stays so.
func (e *encoder) woken(k *task, ts uint64) {
	if k.shown == shownUnknown {
		e.endUnknown(k.thread, ts)
	}
	if k.shown != shownRunning {
		k.shown = shown(format.StateRunnable)
	}
}
