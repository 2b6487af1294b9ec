package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

// freshName is how long after a name was told by an event a list of tasks cannot change it: the list may have read the
// old one.
const freshName = int64(1e6)

// applyTask takes one thread of a list of all tasks. What events have told is exact and stays; the list's estimates
// are for those that no event has told of.
func (a *applier) applyTask(b []byte, at int64) {
	le := binary.LittleEndian
	for {
		begins, afterComplete := a.in.NextList(at)
		if !begins {
			break
		}
		a.newList(at, afterComplete)
	}
	who := decodeIdentity(b[ringdata.TaskWho:])
	if who.tid == 0 || who.tid >= maxTID {
		return
	}
	t := a.threads.get(who.tid)
	if t != nil && t.told && t.start > at {
		return // records made from /proc come a little later than their time
	}
	if b[ringdata.HdrFlags]&ringdata.FlagCut != 0 && t != nil && t.told && isNear(t.start, who.start) {
		who.start = t.start
	}
	if t != nil && t.told && t.start == who.start && at-t.named < freshName {
		t.listed = a.list
	} else {
		t = a.tell(&who, at)
	}
	flags := b[ringdata.HdrFlags]
	if flags&ringdata.FlagSubject == 0 && who.pid != a.recorder {
		a.filtered = true
	}
	if !a.out.states || t.status == gone || t.status == running || a.isOff(t) {
		return
	}
	t.visible = flags&ringdata.FlagSubject != 0
	t.prio = int32(int16(le.Uint16(b[ringdata.TaskPrio:])))
	t.cpu = uint32(le.Uint16(b[ringdata.HdrCPU:]))
	t.since, t.known = int64(le.Uint64(b[ringdata.TaskSinceNS:])), flags&ringdata.FlagSince != 0
	t.approx = t.known
	state := kernelState(le.Uint32(b[ringdata.TaskState:]))
	switch {
	case state&(format.StateDead|format.StateZombie) != 0:
		t.status = gone
	case flags&ringdata.FlagOnCPU != 0:
		a.place(t, at)
	case t.visible:
		t.status, t.losses, t.state, t.isNew, t.called = off, a.losses, state, false, false
		t.woken, t.waker = 0, nil
		if flags&ringdata.FlagQueued != 0 {
			t.state = format.StateRunnable
		}
	}
}

// startSlack is how far off a start is that /proc tells: it counts ticks of 10 ms, and by another clock.
const startSlack = 20e6

func isNear(a, b int64) bool { return a-b <= startSlack && b-a <= startSlack }

// place puts a thread on the CPU on which a list of tasks has found it, unless events have told who runs there.
func (a *applier) place(t *thread, at int64) {
	c := a.cpu(t.cpu)
	c.seen = true
	if c.running != nil || c.at > a.listFrom || !t.visible {
		return
	}
	c.running, c.prio = t, t.prio
	c.since, c.known, c.approx = t.since, t.known, t.approx
	if t.known {
		at = t.since
	}
	c.counted = max(c.counted, at)
	t.status, t.at = running, 0
}

// idleElsewhere puts the idle thread on every CPU where a complete list of tasks has found nobody.
func (a *applier) idleElsewhere(cpus []*format.Cpu) {
	if a.filtered || a.losses > 0 || !a.in.HasList() {
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
