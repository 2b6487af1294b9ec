package spool

import (
	"encoding/binary"

	"wprof/format"
)

// applier turns records, in the order of time, into what the roster knows and what the stream tells. Records before
// the window's opening only do the first.
type applier struct {
	*roster
	lists    *source // the lists of tasks
	out      *stream
	switched format.Event // reused: fields that do not change are set once
	woke     format.Event
	rare     format.Event
}

func newApplier(r *roster, lists *source, out *stream) *applier {
	a := &applier{roster: r, lists: lists, out: out}
	a.switched.Kind, a.woke.Kind = format.KindSwitch, format.KindWaking
	return a
}

const sides = recSubject | recObject

// apply takes the next record.
func (a *applier) apply(b []byte, at int64) error {
	switch b[hdrKind] {
	case recSwitch:
		return a.applySwitch(b, at)
	case recWaking:
		return a.applyWaking(b, at)
	}
	return a.applyRare(b, at)
}

func (a *applier) applyRare(b []byte, at int64) error {
	switch b[hdrKind] {
	case recWakeupNew:
		return a.applyWakeupNew(b, at)
	case recFork:
		return a.applyFork(b, at)
	case recExec:
		return a.applyExec(b, at)
	case recRename:
		return a.applyRename(b, at)
	case recExit:
		return a.applyExit(b, at)
	case recFree:
		return a.applyFree(b, at)
	case recLost:
		return a.applyLost(b, at)
	case recTask:
		a.applyTask(b, at)
	case recGap:
		return a.applyGap(int64(binary.LittleEndian.Uint64(b[gapFrom:])), at)
	}
	return nil
}

// subject is the thread that a record tells of, which runs on the record's CPU as a rule.
func (a *applier) subject(b []byte) *thread {
	tid := binary.LittleEndian.Uint32(b[hdrTID:])
	if n := int(binary.LittleEndian.Uint16(b[hdrCPU:])); n < len(a.cpus) {
		if t := a.cpus[n].running; t != nil && t.tid == tid {
			return t
		}
	}
	return a.thread(tid)
}

func (a *applier) applySwitch(b []byte, at int64) error {
	_ = b[switchSize-1]
	le := binary.LittleEndian
	flags := b[hdrFlags]
	n := uint32(le.Uint16(b[hdrCPU:]))
	c := a.cpu(n)
	tid := le.Uint32(b[hdrTID:])
	prev := c.running
	if prev == nil || prev.tid != tid {
		prev = a.leaving(c, tid)
	}
	next := a.thread(le.Uint32(b[switchNext:]))
	prevPrio, nextPrio := int32(int16(le.Uint16(b[switchPrevPrio:]))), int32(int16(le.Uint16(b[switchNextPrio:])))
	state := kernelState(le.Uint32(b[switchPrevState:]))
	if flags&recPreempted != 0 {
		state = format.StatePreempted
	}
	prev.visible = flags&recSubject != 0
	next.visible = flags&recObject != 0

	if at >= a.out.from && flags&sides != 0 {
		e := &a.switched
		e.Flags = format.Flags(flags & sides)
		e.CPU = n
		e.Task = a.out.name(prev)
		e.Args[format.SwitchNext] = uint64(a.out.name(next))
		e.Args[format.SwitchPrevState] = uint64(state)
		e.Args[format.SwitchPrevPrio] = uint64(int64(prevPrio))
		e.Args[format.SwitchNextPrio] = uint64(int64(nextPrio))
		if next.known && next.visible && next.status == off && next.losses == a.losses && !next.isNew && !next.isIdle {
			e.Flags |= format.SwitchHasSince
			if next.approx {
				e.Flags |= format.SwitchApprox
			}
			e.Args[format.SwitchSince] = uint64(next.since)
			e.Args[format.SwitchNextState] = uint64(next.state)
		}
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	if at < c.at || !prev.isIdle && prev.at > at || !next.isIdle && next.at > at {
		a.switchedBefore(c, n, prev, at, state, prevPrio)
		return nil
	}

	if was := c.running; was != nil && was != prev {
		c.running = nil
		was.forget()
	} else if was != nil && was.group != nil && at > c.counted {
		was.group.ns += at - c.counted
	}
	switch {
	case prev.isIdle:
	case !prev.visible:
		if prev.status == running && prev.cpu != n {
			a.vacate(prev)
		}
		prev.forget()
	default:
		a.leave(prev, n, at, state, prevPrio)
	}
	c.seen, c.at, c.prio, c.counted = true, at, nextPrio, at
	c.since, c.known, c.approx = at, true, false
	if !next.visible {
		a.hide(next)
		c.running = nil
		return nil
	}
	c.running = next
	if next.isIdle {
		return nil
	}
	a.arrive(next, n, at)
	next.prio = nextPrio
	return nil
}

// leaving is the thread that leaves a CPU on which another one was thought to run, or none.
func (a *applier) leaving(c *cpu, tid uint32) *thread {
	t := a.thread(tid)
	was := c.running
	// A thread that is not the leader and has called exec has the leader's tid some time before the exec is told.
	if was != nil && t.status == gone && was.told && was.pid == tid && was.tid != tid {
		a.takeOver(was, t)
		return was
	}
	return t
}

// switchedBefore takes a switch that is older than what is known of its CPU or its threads: only the one that left can
// still be news.
func (a *applier) switchedBefore(c *cpu, n uint32, prev *thread, at int64, state format.State, prio int32) {
	if prev.isIdle || prev.at > at || !prev.visible {
		return
	}
	if c.running == prev {
		c.running = nil
	}
	a.leave(prev, n, at, state, prio)
}

// hide makes a thread unknown that the filters do not want: what it does next is not recorded.
func (a *applier) hide(t *thread) {
	if t.status == running {
		a.vacate(t)
	}
	t.forget()
}

func (a *applier) applyWaking(b []byte, at int64) error {
	_ = b[wakingSize-1]
	le := binary.LittleEndian
	flags := b[hdrFlags]
	n := uint32(le.Uint16(b[hdrCPU:]))
	waker := a.subject(b)
	wakee := a.thread(le.Uint32(b[wakingWakee:]))
	if at >= a.out.from && flags&sides != 0 {
		e := &a.woke
		e.Flags = format.Flags(flags & sides)
		e.CPU = n
		e.Task = a.out.name(waker)
		e.Args[format.WakingWakee] = uint64(a.out.name(wakee))
		e.Args[format.WakingPrio] = uint64(int64(int16(le.Uint16(b[wakingPrio:]))))
		e.Args[format.WakingTargetCPU] = uint64(le.Uint16(b[wakingTarget:]))
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	// The first waking counts. One that comes while the thread runs ends no time off the CPU.
	if flags&recObject != 0 && wakee.status == off && wakee.losses == a.losses && wakee.woken == 0 && !wakee.isNew && at >= wakee.since {
		wakee.woken, wakee.waker, wakee.wakerCPU = at, a.out.current(waker), n
	}
	return nil
}

func (a *applier) applyWakeupNew(b []byte, at int64) error {
	le := binary.LittleEndian
	waker, wakee := a.subject(b), a.thread(le.Uint32(b[wakingWakee:]))
	wakee.visible = b[hdrFlags]&recObject != 0
	prio, target := int32(int16(le.Uint16(b[wakingPrio:]))), uint32(le.Uint16(b[wakingTarget:]))
	e := a.event(b)
	if a.tells(e, at) {
		e.Task = a.out.name(waker)
		v := e.WakeupNew()
		v.SetWakee(a.out.name(wakee))
		v.SetPrio(prio)
		v.SetTargetCPU(uint64(target))
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	if wakee.visible && wakee.status == unknown && !wakee.isIdle {
		wakee.status, wakee.losses, wakee.isNew, wakee.cpu, wakee.prio = off, a.losses, true, target, prio
		wakee.since, wakee.known, wakee.at = at, true, at
		wakee.woken, wakee.waker, wakee.wakerCPU = at, a.out.current(waker), e.CPU
	}
	return nil
}

// event is the beginning of an event that tells of a record.
func (a *applier) event(b []byte) *format.Event {
	e := &a.rare
	*e = format.Event{
		Kind: format.Kind(b[hdrKind]), Flags: format.Flags(b[hdrFlags] & sides),
		CPU: uint32(binary.LittleEndian.Uint16(b[hdrCPU:])),
	}
	return e
}

// tells is false for records that only build up the roster. What the flags of a record do not want may still be a
// visible thread: with -f no-task-life they want no record of life.
func (a *applier) tells(e *format.Event, at int64) bool {
	return at >= a.out.from && e.Flags&format.FlagsVisible != 0
}

func (a *applier) applyFork(b []byte, at int64) error {
	parent := a.subject(b)
	who := decodeIdentity(b[forkChild:])
	child := a.tell(&who, at)
	child.visible = child.visible || b[hdrFlags]&recObject != 0
	e := a.event(b)
	if !a.tells(e, at) {
		return nil
	}
	e.Task = a.out.name(parent)
	e.Fork().SetChild(a.out.name(child))
	return a.out.write(e, at)
}

// applyExec makes a new definition, also when the program has the same name as the one before. A thread that was not
// the leader continues under the leader's tid and start time, as in the kernel.
func (a *applier) applyExec(b []byte, at int64) error {
	le := binary.LittleEndian
	who := decodeIdentity(b[execWho:])
	old := le.Uint32(b[execOldTID:])
	e := a.event(b)
	e.Flags &= format.FlagSubject
	tells := a.tells(e, at)

	t := a.thread(who.tid)
	if old != who.tid && old != 0 {
		if caller := a.threads.get(old); caller != nil && caller.status != gone && !caller.isIdle {
			a.takeOver(caller, t)
			t = caller
		}
	}
	was := a.out.current(t)
	v := e.Exec()
	if tells {
		v.SetPrev(a.out.define(was))
	}
	t.start = who.start
	t = a.tell(&who, at)
	t.visible = t.visible || e.Flags != 0
	t.def, t.was = nil, was
	if !tells {
		return nil
	}
	e.Task = a.out.name(t)
	if old != who.tid && old != 0 {
		v.SetOldTID(uint64(old))
	}
	length := min(int(le.Uint32(b[execFilenameLength:])), len(b)-execFilename)
	v.SetFilename(b[execFilename : execFilename+length])
	if b[hdrFlags]&recCut != 0 {
		e.Flags |= format.ExecCut
	}
	return a.out.write(e, at)
}

// takeOver does what the kernel does when a thread that is not the leader calls exec: the two exchange their tids, and
// the caller is the leader from then on, with the leader's start time. The old leader is freed under the caller's tid.
func (a *applier) takeOver(caller, leader *thread) {
	was := a.out.current(caller)
	tid := caller.tid
	a.threads.take(caller)
	a.threads.take(leader)
	caller.tid, leader.tid = leader.tid, tid
	if leader.told {
		caller.start = leader.start
	}
	caller.def, caller.was = nil, was
	leader.was, leader.def = leader.latest(), nil
	if leader.status == running {
		a.vacate(leader)
	}
	leader.status = gone
	a.threads.put(caller)
	a.threads.put(leader)
}

func (a *applier) applyRename(b []byte, at int64) error {
	who := decodeIdentity(b[renameWho:])
	e := a.event(b)
	e.Flags &= format.FlagSubject
	tells := a.tells(e, at)
	t := a.thread(who.tid)
	if !t.told {
		// Only the name before is known of what it was before.
		before := who
		copy(before.comm[:], b[renameWho+identSize:][:commLength])
		if before.tid == before.pid {
			before.processComm = before.comm
		}
		t = a.tell(&before, at)
	}
	was := a.out.current(t)
	v := e.Rename()
	if tells {
		v.SetPrev(a.out.define(was))
	}
	t = a.tell(&who, at)
	t.visible = t.visible || e.Flags != 0
	if !tells {
		return nil
	}
	e.Task = a.out.name(t)
	return a.out.write(e, at)
}

func (a *applier) applyExit(b []byte, at int64) error {
	e := a.event(b)
	e.Flags &= format.FlagSubject
	if !a.tells(e, at) {
		return nil
	}
	e.Task = a.out.name(a.subject(b))
	v := e.Exit()
	v.SetCode(uint64(binary.LittleEndian.Uint32(b[exitCode:])))
	if b[hdrFlags]&recLast != 0 {
		e.Flags |= format.ExitLast
	}
	return a.out.write(e, at)
}

func (a *applier) applyFree(b []byte, at int64) error {
	le := binary.LittleEndian
	tid, start := le.Uint32(b[hdrTID:]), int64(le.Uint64(b[freeStart:]))
	t := a.threads.get(tid)
	if t == nil || t.told && t.start != start {
		t = a.threads.ghosts[threadKey{tid, start}]
	}
	if t == nil {
		// Nothing but its end was ever told of it. It has no place in the table: the tid may be another one's.
		t = &thread{identity: identity{tid: tid, start: start}}
		t.comm = nameless(tid)
	}
	e := a.event(b)
	e.Flags &= format.FlagSubject
	var err error
	if a.tells(e, at) {
		e.Task = a.out.name(t)
		err = a.out.write(e, at)
	}
	a.drop(t)
	return err
}

func (a *applier) applyLost(b []byte, at int64) error {
	le := binary.LittleEndian
	n := uint32(le.Uint16(b[hdrCPU:]))
	if le.Uint32(b[lostCounts+4*int(recSwitch):]) > 0 {
		a.lost(n, at)
	}
	if at < a.out.from {
		return nil
	}
	for kind := range lostKinds {
		count := le.Uint32(b[lostCounts+4*kind:])
		if count == 0 {
			continue
		}
		l := Loss{CPU: n, Kind: format.Kind(kind), Cause: format.CauseRing, Count: uint64(count), From: int64(le.Uint64(b[lostFrom:]))}
		if err := a.out.lost(at, &l); err != nil {
			return err
		}
	}
	return nil
}

// applyGap tells that bytes of a ring are missing. Which CPUs used the ring is not known.
func (a *applier) applyGap(from, at int64) error {
	a.lost(format.AllCPUs, at)
	if at < a.out.from {
		return nil
	}
	return a.out.lost(at, &Loss{CPU: format.AllCPUs, Cause: format.CauseSpool, From: from})
}

// freshName is how long after a name was told by an event a list of tasks cannot change it: the list may have read the
// old one.
const freshName = int64(1e6)

// applyTask takes one thread of a list of all tasks. What events have told is exact and stays; the list's estimates
// are for those that no event has told of.
func (a *applier) applyTask(b []byte, at int64) {
	le := binary.LittleEndian
	for len(a.lists.starts) > 0 && at >= a.lists.starts[0] {
		a.newList(at)
		a.lists.starts = a.lists.starts[1:]
	}
	who := decodeIdentity(b[taskWho:])
	if who.tid == 0 || who.tid >= maxTID {
		return
	}
	t := a.threads.get(who.tid)
	if t != nil && t.told && t.start == who.start && at-t.named < freshName {
		t.listed = a.list
	} else {
		t = a.tell(&who, at)
	}
	flags := b[hdrFlags]
	if flags&recSubject == 0 && who.pid != a.recorder {
		a.filtered = true
	}
	if !a.out.states || t.status == gone || t.status == running || a.isOff(t) {
		return
	}
	t.visible = flags&recSubject != 0
	t.prio = int32(int16(le.Uint16(b[taskPrio:])))
	t.cpu = uint32(le.Uint16(b[hdrCPU:]))
	t.since, t.known = int64(le.Uint64(b[taskTime:])), flags&recSince != 0
	t.approx = t.known
	state := kernelState(le.Uint32(b[taskState:]))
	switch {
	case state&(format.StateDead|format.StateZombie) != 0:
		t.status = gone
	case flags&recOnCPU != 0:
		a.place(t)
	case t.visible:
		t.status, t.losses, t.state, t.isNew = off, a.losses, state, false
		t.woken, t.waker = 0, nil
		if flags&recQueued != 0 {
			t.state = format.StateRunnable
		}
	}
}

// place puts a thread on the CPU on which a list of tasks has found it, unless events have told who runs there.
func (a *applier) place(t *thread) {
	c := a.cpu(t.cpu)
	c.seen = true
	if c.running != nil || c.at > a.listFrom || !t.visible {
		return
	}
	c.running, c.prio = t, t.prio
	c.since, c.known, c.approx = t.since, t.known, t.approx
	t.status, t.at = running, 0
}

// idleElsewhere puts the idle thread on every CPU where a complete list of tasks has found nobody.
func (a *applier) idleElsewhere(cpus []*format.Cpu) {
	if a.filtered || a.losses > 0 {
		return
	}
	for _, info := range cpus {
		if info.Offline || info.Id >= 1<<16 {
			continue
		}
		if c := a.cpu(info.Id); c.running == nil && !c.seen {
			c.running, c.prio = a.idle, idlePrio
		}
	}
}

// idlePrio is the priority that the kernel's switches tell of idle threads: MAX_RT_PRIO + 20.
const idlePrio = 120
