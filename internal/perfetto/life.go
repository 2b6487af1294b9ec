package perfetto

import (
	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// applyRare handles the infrequent events.
func (e *encoder) applyRare(v *tracks.Event) {
	c := e.cpu(v.CPU)
	if v.Kind == format.KindCPULeft && v.CPU == format.AllCPUs {
		e.hide(v)
	}
	if c == nil {
		return
	}
	switch v.Kind {
	case format.KindFork:
		e.fork(v, c)
	case format.KindWakeupNew:
		e.wakeupNew(v, c)
	case format.KindStateCPU, format.KindStateThread:
		e.state(v)
		return // does not happen on the CPU
	}
	if v.Flags&format.FlagSubject == 0 {
		return
	}
	switch v.Kind {
	case format.KindExec:
		e.exec(v, c)
	case format.KindRename:
		e.rename(v, c)
	case format.KindExit:
		k := e.task(v.Task, c)
		e.full(v, c, func(ts uint64) { c.bundle.exit(ts, k) })
	case format.KindFree:
		e.free(v, c)
	case format.KindCPULeft:
		if k := e.task(v.Task, c); c.running == k.thread || c.running == nil {
			e.takeOver(c, v.Time, e.filteredOn(c, v.Time), 120)
		}
	}
}

// full writes an event with all its fields.
func (e *encoder) full(v *tracks.Event, c *cpu, write func(ts uint64)) {
	ts := e.clock.boottime(v.Time)
	e.makeRoom(c, ts, true)
	write(ts)
	c.last = v.Time
}

// handOver writes a switch to a thread for which there is no event. A CPU's first switch comes from idle.
func (e *encoder) handOver(c *cpu, at int64, state int64, next *task, prio int32) {
	if c.running == nil {
		e.firstSwitch(c, at, e.threads.idle, 120, 0, next, prio)
		return
	}
	e.switchTo(c, at, state, next, prio)
}

// fork writes the fork of a thread. With a hidden parent it is described like any other thread, because Perfetto would make it a
// part of the parent's process.
func (e *encoder) fork(v *tracks.Event, c *cpu) {
	if v.Flags&format.FlagObject == 0 {
		return
	}
	if v.Flags&format.FlagSubject == 0 {
		e.task(v.Other, c)
		return
	}
	parent := e.task(v.Task, c)
	if e.threads.get(v.Other) != nil {
		return
	}
	e.introduce(v.Other, c, func(child *task) {
		e.full(v, c, func(ts uint64) { c.bundle.newTask(ts, parent.tid, child, child.pid == parent.pid) })
		child.shown = shown(format.StateRunnable)
		if child.pid != parent.pid && (v.Other.Def.Command != 0 || v.Other.In.ID != "") {
			e.describeCommand(v, v.Other)
		}
	})
}

// wakeupNew writes the first wakeup of a thread. For Perfetto it is runnable since its fork.
func (e *encoder) wakeupNew(v *tracks.Event, c *cpu) {
	if v.Flags&format.FlagObject == 0 {
		return
	}
	waker, wakee := e.sides(v, c)
	prio, target := int32(v.Args[format.WakeupNewPrio]), v.Args[format.WakeupNewTargetCPU]
	kind := uint64(eventWakeupNew)
	if wakee.shown == shownNothing {
		kind = eventWaking // its fork was not seen
	}
	e.full(v, c, func(ts uint64) { c.bundle.fullWaking(kind, ts, waker.tid, wakee, prio, target) })
	e.woken(wakee, e.clock.boottime(v.Time))
}

func (e *encoder) rename(v *tracks.Event, c *cpu) {
	before, after := e.task(v.Other, c), e.task(v.Task, c)
	if before.thread == after.thread {
		e.full(v, c, func(ts uint64) { c.bundle.rename(ts, after.tid, before.name, after.name) })
		if v.Task != nil && v.Task.Command != nil && after.tid == after.pid {
			e.describeCommand(v, v.Task) // the rename has named the process
		}
	}
}

// exec writes an exec. A thread that is not its process's leader takes over the leader's tid: the thread with the
// old tid ends, and the leader goes on in its place.
func (e *encoder) exec(v *tracks.Event, c *cpu) {
	before, after := e.task(v.Other, c), e.task(v.Task, c)
	old := before.tid
	if tid, has := v.Exec().OldTID(); has {
		old = int32(tid)
	}
	if c.running != nil && c.running != after.thread && c.running.tid == old && c.running.isReal() {
		e.switchTo(c, v.Time, int64(format.StateDead), after, 120)
	}
	file := stacks.Clipped(stacks.Printable(v.Data, stacks.Unnamed))
	e.full(v, c, func(ts uint64) { c.bundle.exec(ts, after.tid, old, file) })
	if v.Task != nil && after.tid == v.Task.Def.Tid {
		e.describeCommand(v, v.Task)
	}
}

// describeCommand gives a process the command line that it has from an event on. It comes 1 ns after the event, because
// a rename at the same time would name the process.
func (e *encoder) describeCommand(v *tracks.Event, of *tracks.Task) {
	e.describe(of, e.clock.boottime(v.Time)+1, nil)
}

// free writes the end of a thread that was described, and removes it.
func (e *encoder) free(v *tracks.Event, c *cpu) {
	if v.Task == nil {
		return
	}
	if t := e.threads.byTID[v.Task.Def.Tid]; t == nil || t.start != v.Task.Def.Start {
		return
	}
	k := e.task(v.Task, c)
	by := int32(0)
	if c.running != nil {
		by = c.running.tid
	}
	e.endUnknown(k.thread, e.clock.boottime(v.Time))
	e.full(v, c, func(ts uint64) { c.bundle.free(ts, by, k) })
	e.threads.remove(k.tid)
}
