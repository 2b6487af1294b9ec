package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

func (a *applier) applySwitch(b []byte, at int64) error {
	_ = b[ringdata.SwitchSize-1]
	le := binary.LittleEndian
	flags := b[ringdata.HdrFlags]
	n := uint32(le.Uint16(b[ringdata.HdrCPU:]))
	c := a.cpu(n)
	tid := le.Uint32(b[ringdata.HdrTID:])
	prev := c.running
	if prev == nil || prev.tid != tid {
		prev = a.leaving(c, tid, le.Uint32(b[ringdata.SwitchPrevState:]))
	}
	next := a.thread(le.Uint32(b[ringdata.SwitchNextTID:]))
	prevPrio, nextPrio := int32(int16(le.Uint16(b[ringdata.SwitchPrevPrio:]))), int32(int16(le.Uint16(b[ringdata.SwitchNextPrio:])))
	state := kernelState(le.Uint32(b[ringdata.SwitchPrevState:]))
	called := flags&ringdata.FlagPreempted == 0 && state == format.StateRunnable && !prev.isIdle
	// A thread that leaves while it could run on did not wait for anything. The kernel's own word covers only what is
	// preempted inside the kernel: on the way back to user mode schedule() is called as if the thread wanted it.
	if flags&ringdata.FlagPreempted != 0 || called {
		state = format.StatePreempted
	}
	prev.visible = flags&ringdata.FlagSubject != 0
	next.visible = flags&ringdata.FlagObject != 0

	if at >= a.out.from && flags&sides != 0 {
		e := &a.switched
		e.Flags = switchFlags(flags, called)
		e.CPU = n
		e.Task = a.out.name(prev)
		e.Args[format.SwitchNext] = uint64(a.out.name(next))
		e.Args[format.SwitchPrevState] = uint64(state)
		e.Args[format.SwitchPrevPrio] = uint64(int64(prevPrio))
		e.Args[format.SwitchNextPrio] = uint64(int64(nextPrio))
		if next.known && next.visible && a.isOff(next) && !next.isNew && !next.isIdle {
			e.Flags |= format.SwitchHasSince
			if next.approx {
				e.Flags |= format.SwitchApprox
			}
			if next.called {
				e.Flags |= format.SwitchSinceCalled
			}
			e.Args[format.SwitchSince] = uint64(next.since)
			e.Args[format.SwitchNextState] = uint64(next.state)
		}
		e.Args[format.SwitchStack] = 0
		if next.visible && !next.isIdle {
			if err := a.tellOff(e, b, next, at); err != nil {
				return err
			}
		}
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	if at < c.at || !prev.isIdle && prev.at > at || !next.isIdle && next.at > at {
		a.switchedBefore(c, n, prev, at, state, called, prevPrio)
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
		a.leave(prev, n, at, state, called, prevPrio)
		if s := trailing(b, ringdata.SwitchSize); s != nil {
			user, kernel := stackIDs(s)
			prev.user, prev.kernel = a.code.told.find(user, at), a.code.told.find(kernel, at)
		}
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

func switchFlags(flags uint8, called bool) format.Flags {
	f := format.Flags(flags & sides)
	if flags&ringdata.FlagPreempted != 0 {
		f |= format.SwitchPreempt
	}
	if flags&ringdata.FlagYielded != 0 {
		f |= format.SwitchYield
	}
	if called {
		f |= format.SwitchCalled
	}
	return f
}

// leaving is the thread that leaves a CPU on which another one was thought to run, or none.
func (a *applier) leaving(c *cpu, tid, state uint32) *thread {
	t, was := a.thread(tid), c.running
	if was == nil || t == was {
		return t
	}
	if state&(taskDead|exitDead|exitZombie) != 0 {
		// The other side of an exchange: the leader is still dying, under the tid of the thread that runs elsewhere.
		a.noticeExchange(t, was.tid)
	} else {
		a.noticeExchange(was, tid)
	}
	return a.thread(tid)
}

// switchedBefore takes a switch that is older than what is known of its CPU or its threads: only the one that left can
// still be news.
func (a *applier) switchedBefore(c *cpu, n uint32, prev *thread, at int64, state format.State, called bool, prio int32) {
	if prev.isIdle || prev.at > at || !prev.visible {
		return
	}
	if c.running == prev {
		c.running = nil
	}
	a.leave(prev, n, at, state, called, prio)
}

// hide makes a thread unknown that the filters do not want: what it does next is not recorded.
func (a *applier) hide(t *thread) {
	if t.status == running {
		a.vacate(t)
	}
	t.forget()
}

func (a *applier) applyWaking(b []byte, at int64) error {
	_ = b[ringdata.WakingSize-1]
	le := binary.LittleEndian
	flags := b[ringdata.HdrFlags]
	n := uint32(le.Uint16(b[ringdata.HdrCPU:]))
	waker := a.subject(b)
	wakee := a.thread(le.Uint32(b[ringdata.WakingWakeeTID:]))
	if at >= a.out.from && flags&sides != 0 {
		e := &a.woke
		e.Flags = format.Flags(flags & sides)
		if flags&ringdata.FlagInterrupt != 0 {
			e.Flags |= format.WakingInIRQ
		}
		e.CPU = n
		e.Task = a.out.name(waker)
		e.Args[format.WakingWakee] = uint64(a.out.name(wakee))
		e.Args[format.WakingPrio] = uint64(int64(int16(le.Uint16(b[ringdata.WakingPrio:]))))
		e.Args[format.WakingTargetCPU] = uint64(le.Uint16(b[ringdata.WakingTargetCPU:]))
		a.tellWaker(e, format.WakingStack, b, at)
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	// The first waking counts. One that comes while the thread runs ends no time off the CPU.
	if flags&ringdata.FlagObject != 0 && wakee.status == off && wakee.losses == a.losses && wakee.woken == 0 && !wakee.isNew && at >= wakee.since {
		wakee.woken, wakee.waker, wakee.wakerCPU, wakee.wokenIRQ = at, a.out.current(waker), n, flags&ringdata.FlagInterrupt != 0
	}
	return nil
}

func (a *applier) applyWakeupNew(b []byte, at int64) error {
	le := binary.LittleEndian
	waker, wakee := a.subject(b), a.thread(le.Uint32(b[ringdata.WakingWakeeTID:]))
	wakee.visible = b[ringdata.HdrFlags]&ringdata.FlagObject != 0
	prio, target := int32(int16(le.Uint16(b[ringdata.WakingPrio:]))), uint32(le.Uint16(b[ringdata.WakingTargetCPU:]))
	e := a.event(b)
	if a.tells(e, at) {
		e.Task = a.out.name(waker)
		v := e.WakeupNew()
		v.SetWakee(a.out.name(wakee))
		v.SetPrio(prio)
		v.SetTargetCPU(uint64(target))
		a.tellWaker(e, format.WakeupNewStack, b, at)
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	if wakee.visible && wakee.status == unknown && !wakee.isIdle {
		wakee.status, wakee.losses, wakee.isNew, wakee.cpu, wakee.prio = off, a.losses, true, target, prio
		wakee.since, wakee.known, wakee.at = at, true, at
		wakee.woken, wakee.waker, wakee.wakerCPU, wakee.wokenIRQ = at, a.out.current(waker), e.CPU, false
	}
	return nil
}
