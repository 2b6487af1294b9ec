package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/timeline"
)

func (a *applier) applySwitch(b []byte, at int64) error {
	_ = b[ringdata.SwitchSize-1]
	le := binary.LittleEndian
	flags := b[ringdata.HdrFlags]
	n := uint32(le.Uint16(b[ringdata.HdrCPU:]))
	c := a.cpu(n)
	tid := le.Uint32(b[ringdata.HdrTID:])
	prev := c.Running
	if prev == nil || prev.tid != tid {
		prev = a.leaving(c, tid, le.Uint32(b[ringdata.SwitchPrevState:]))
	}
	next := a.thread(le.Uint32(b[ringdata.SwitchNextTID:]))
	prevPrio, nextPrio := int32(int16(le.Uint16(b[ringdata.SwitchPrevPrio:]))), int32(int16(le.Uint16(b[ringdata.SwitchNextPrio:])))
	state := kernelState(le.Uint32(b[ringdata.SwitchPrevState:]))
	called := flags&ringdata.FlagPreempted == 0 && state.IsRunnable() && !prev.isIdle
	// A runnable thread that leaves its CPU does not wait for anything. The kernel's preempt flag covers only threads
	// that are preempted inside the kernel: on the way back to user mode schedule() is called as if by the thread itself.
	if flags&ringdata.FlagPreempted != 0 || called {
		state = format.StatePreempted | state&format.StateThrottled
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
		if next.SinceKnown && next.visible && a.isOff(next) && !next.New && !next.isIdle {
			e.Flags |= format.SwitchHasSince
			if next.Approx {
				e.Flags |= format.SwitchApprox
			}
			if next.called {
				e.Flags |= format.SwitchSinceCalled
			}
			e.Args[format.SwitchSince] = uint64(next.Since)
			e.Args[format.SwitchNextState] = uint64(next.State)
		}
		e.Args[format.SwitchStack], e.Args[format.SwitchWait] = 0, 0
		if next.visible && !next.isIdle {
			if err := a.setOff(e, b, next, at); err != nil {
				return err
			}
		}
		if prev.visible && a.seesCounts(n, 0) {
			a.setCounts(e, b, ringdata.SwitchSize, format.SwitchHasCounts)
		}
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	c.switched = max(c.switched, at)
	if at < c.ChangedAt || !prev.isIdle && prev.ChangedAt > at || !next.isIdle && next.ChangedAt > at {
		a.switchedBefore(c, n, prev, at, state, called, prevPrio)
		return nil
	}

	if was := c.Running; was != nil && was != prev {
		c.Running = nil
		was.setUnknown(at)
	} else if was != nil && was.process != nil && at > c.counted {
		was.process.ns += at - c.counted
	}
	switch {
	case prev.isIdle:
	case !prev.visible:
		a.hide(prev, at)
	default:
		a.leave(prev, n, at, state, called, prevPrio)
		a.setDeparted(prev, b, at)
	}
	switch {
	case !next.visible:
		a.hide(next, at)
		next = nil
	case !next.isIdle:
		a.arrive(next, n, at, nextPrio)
	}
	c.SetRunning(next, at, nextPrio, timeline.BeginAt(at))
	c.counted = at
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

// leaving returns the thread that leaves a CPU on which another one, or none, was last known to run.
func (a *applier) leaving(c *cpu, tid, state uint32) *thread {
	t, was := a.thread(tid), c.Running
	if was == nil || t == was {
		return t
	}
	if state&(taskDead|exitDead|exitZombie) != 0 {
		// The other side of an exchange: the leader is still exiting, under the tid of the thread that runs elsewhere.
		a.noticeExchange(t, was.tid)
	} else {
		a.noticeExchange(was, tid)
	}
	return a.thread(tid)
}

// switchedBefore applies a switch that is older than the state of its CPU or its threads: only the state of the leaving
// thread can still change.
func (a *applier) switchedBefore(c *cpu, n uint32, prev *thread, at int64, state format.State, called bool, prio int32) {
	if prev.isIdle || prev.ChangedAt > at || !prev.visible {
		return
	}
	if c.Running == prev {
		c.Running = nil
	}
	a.leave(prev, n, at, state, called, prio)
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
		a.setWakerStack(e, format.WakingStack, b, at)
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	if flags&ringdata.FlagObject != 0 && wakee.losses == a.losses && wakee.TakesWaking(at) {
		wakee.Waking = timeline.Waking[*definition]{Woken: at, Waker: a.out.current(waker), WakerCPU: n, WokenIRQ: flags&ringdata.FlagInterrupt != 0}
	}
	return nil
}

func (a *applier) applyWakeupNew(b []byte, at int64) error {
	le := binary.LittleEndian
	waker, wakee := a.subject(b), a.thread(le.Uint32(b[ringdata.WakingWakeeTID:]))
	wakee.visible = b[ringdata.HdrFlags]&ringdata.FlagObject != 0
	prio, target := int32(int16(le.Uint16(b[ringdata.WakingPrio:]))), uint32(le.Uint16(b[ringdata.WakingTargetCPU:]))
	e := a.event(b)
	if a.isWritten(e, at) {
		e.Task = a.out.name(waker)
		v := e.WakeupNew()
		v.SetWakee(a.out.name(wakee))
		v.SetPrio(prio)
		v.SetTargetCPU(uint64(target))
		a.setWakerStack(e, format.WakeupNewStack, b, at)
		if err := a.out.write(e, at); err != nil {
			return err
		}
	}
	if wakee.visible && wakee.Status == timeline.Unknown && !wakee.isIdle {
		wakee.WakeNew(target, prio, timeline.Waking[*definition]{Woken: at, Waker: a.out.current(waker), WakerCPU: e.CPU})
		wakee.losses = a.losses
	}
	return nil
}
