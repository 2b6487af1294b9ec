package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/timeline"
)

// freshName is how long after an event named a thread, or moved it to another cgroup, a list of tasks cannot change that: the list may
// have read the old name or cgroup.
const freshName = int64(1e6)

// applyTask applies one thread of a list of all tasks. State from events is exact and remains; the list's estimates
// are used for threads without events.
func (a *applier) applyTask(b []byte, at int64) {
	le := binary.LittleEndian
	for {
		begins, afterComplete := a.in.NextList(at)
		if !begins {
			break
		}
		a.newList(at, afterComplete)
	}
	ident := decodeIdentity(b[ringdata.TaskIdent:])
	if ident.tid == 0 || ident.tid >= maxTID {
		return
	}
	t := a.threads.get(ident.tid)
	if t != nil && t.identified && t.start > at {
		return // records made from /proc are written a little later than their time
	}
	if b[ringdata.HdrFlags]&ringdata.FlagCut != 0 && t != nil && t.identified && isNear(t.start, ident.start) {
		ident.start = t.start
	}
	if t != nil && t.identified && t.start == ident.start && at-t.named < freshName {
		t.listed = a.list
	} else {
		t = a.identify(&ident, at)
	}
	if t.moved == 0 || at-t.moved >= freshName {
		a.setCgroupOf(t, b, ringdata.TaskCgroup)
	}
	flags := b[ringdata.HdrFlags]
	if flags&ringdata.FlagSubject == 0 && ident.pid != a.recorder {
		a.filtered = true
	}
	if !a.out.states || t.Status == timeline.Dead || t.Status == timeline.Running || a.isOff(t) {
		return
	}
	t.visible = flags&ringdata.FlagSubject != 0
	t.Prio = int32(int16(le.Uint16(b[ringdata.TaskPrio:])))
	t.CPU = uint32(le.Uint16(b[ringdata.HdrCPU:]))
	known := flags&ringdata.FlagSince != 0
	t.Begin = timeline.Begin{Since: int64(le.Uint64(b[ringdata.TaskSinceNS:])), SinceKnown: known, Approx: known}
	state := kernelState(le.Uint32(b[ringdata.TaskState:]))
	switch {
	case timeline.Ends(state):
		t.Status = timeline.Dead
	case flags&ringdata.FlagOnCPU != 0:
		a.place(t, at)
	case t.visible:
		t.Status, t.losses, t.State, t.New, t.called = timeline.Off, a.losses, state, false, false
		t.Waking = timeline.Waking[*definition]{}
		if flags&ringdata.FlagQueued != 0 {
			t.State = format.StateRunnable
			if state&format.StateThrottled != 0 {
				t.State = format.StatePreempted | format.StateThrottled
			}
		}
	}
}

// startSlack is the error of a start time of /proc: it counts ticks of 10 ms, and by another clock.
const startSlack = 20e6

func isNear(a, b int64) bool { return a-b <= startSlack && b-a <= startSlack }

// place puts a thread on the CPU on which a list of tasks has found it, unless events show which thread runs there.
func (a *applier) place(t *thread, at int64) {
	c := a.cpu(t.CPU)
	c.Seen = true
	if c.Running != nil || c.ChangedAt > a.listFrom || !t.visible {
		return
	}
	c.Running, c.Prio = t, t.Prio
	c.Begin = t.Begin
	if t.SinceKnown {
		at = t.Since
	}
	c.counted = max(c.counted, at)
	t.Status, t.ChangedAt = timeline.Running, 0
}

// idleElsewhere puts the idle thread on every CPU where a complete list of tasks has found no thread.
func (a *applier) idleElsewhere(cpus []*format.Cpu) {
	if a.filtered || a.losses > 0 || !a.in.HasList() {
		return
	}
	for _, info := range cpus {
		if info.Offline || info.Id >= 1<<16 {
			continue
		}
		if c := a.cpu(info.Id); c.Running == nil && !c.Seen {
			c.Running, c.Prio = a.idle, idlePrio
		}
	}
}

// idlePrio is the priority of idle threads in the kernel's switches: MAX_RT_PRIO + 20.
const idlePrio = 120
