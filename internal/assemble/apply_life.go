package assemble

import (
	"encoding/binary"
	"slices"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/timeline"
)

func (a *applier) applyFork(b []byte, at int64) error {
	parent := a.subject(b)
	ident := decodeIdentity(b[ringdata.ForkChild:])
	child := a.identify(&ident, at)
	child.visible = child.visible || b[ringdata.HdrFlags]&ringdata.FlagObject != 0
	inherit(child, parent)
	a.setCgroupOf(child, b, ringdata.ForkCgroup)
	e := a.event(b)
	if !a.isWritten(e, at) {
		return nil
	}
	e.Task = a.out.name(parent)
	e.Fork().SetChild(a.out.name(child))
	return a.out.write(e, at)
}

// inherit gives a new process the command line of its parent, which it has until it calls exec.
func inherit(child, parent *thread) {
	if c, p := child.process, parent.process; c != nil && p != nil && c != p && c.command == nil && p.command != nil {
		c.setCommand(p.command)
	}
}

// applyExec makes a new definition, also when the program has the same name as the one before. A thread that was not
// the leader continues under the leader's tid and start time, as in the kernel.
func (a *applier) applyExec(b []byte, at int64) error {
	le := binary.LittleEndian
	ident := decodeIdentity(b[ringdata.ExecIdent:])
	old := le.Uint32(b[ringdata.ExecOldTID:])
	e := a.event(b)
	e.Flags &= format.FlagSubject
	written := a.isWritten(e, at)

	t := a.thread(ident.tid)
	if old != ident.tid && old != 0 {
		caller, leader := a.threads.get(old), t
		if t.tid == old && t.key != old {
			caller, leader = t, caller
		}
		if caller != nil && leader != nil && caller.Status != timeline.Dead && !caller.isIdle && !leader.isIdle {
			a.takeOver(caller, leader)
			t = caller
		}
	}
	was := a.out.current(t)
	v := e.Exec()
	if written {
		v.SetPrev(a.out.define(was))
	}
	t.start = ident.start
	t = a.identify(&ident, at)
	t.visible = t.visible || e.Flags != 0
	t.def, t.was = nil, was
	if command := a.out.commands.taken(ident.pid); t.process != nil {
		t.process.command = command
	}
	if !written {
		return nil
	}
	e.Task = a.out.name(t)
	if old != ident.tid && old != 0 {
		v.SetOldTID(uint64(old))
	}
	length := min(int(le.Uint32(b[ringdata.ExecFilenameLen:])), len(b)-ringdata.ExecFilename)
	v.SetFilename(b[ringdata.ExecFilename : ringdata.ExecFilename+length])
	if b[ringdata.HdrFlags]&ringdata.FlagCut != 0 {
		e.Flags |= format.ExecCut
	}
	if err := a.out.write(e, at); err != nil {
		return err
	}
	return a.runsSince(t, uint32(le.Uint16(b[ringdata.HdrCPU:])), at)
}

// runsSince writes that a thread runs whose state was not known: the recording of a command begins with its exec, without a switch.
func (a *applier) runsSince(t *thread, n uint32, at int64) error {
	c := a.cpu(n)
	if !a.out.states || t.Status != timeline.Unknown || c.Running != nil {
		return nil
	}
	a.arrive(t, n, at, t.Prio)
	c.SetRunning(t, at, t.Prio, timeline.BeginAt(at))
	c.counted = max(c.counted, at)
	return a.out.stateOfCPU(c, n, at, 0)
}

// takeOver does what the kernel does when a thread that is not the leader calls exec: the two exchange their tids, and
// the caller is the leader from then on, with the leader's start time. The old leader is freed under the caller's tid.
func (a *applier) takeOver(caller, leader *thread) {
	was := a.out.current(caller)
	if caller.key == caller.tid {
		a.threads.exchange(caller, leader)
	}
	caller.tid, leader.tid = caller.key, leader.key
	if leader.identified {
		caller.start = leader.start
	}
	caller.def, caller.was = nil, was
	leader.was, leader.def = leader.latest(), nil
	a.vacate(leader)
	leader.Status = timeline.Dead
}

func (a *applier) applyRename(b []byte, at int64) error {
	ident := decodeIdentity(b[ringdata.RenameIdent:])
	e := a.event(b)
	e.Flags &= format.FlagSubject
	written := a.isWritten(e, at)
	t := a.subject(b)
	if !t.identified {
		// Of its earlier identity, only the name is known to differ.
		before := ident
		copy(before.comm[:], b[ringdata.RenameOldComm:][:ringdata.IdentCommSize])
		if before.tid == before.pid {
			before.processComm = before.comm
		}
		t = a.identify(&before, at)
	}
	was := a.out.current(t)
	v := e.Rename()
	if written {
		v.SetPrev(a.out.define(was))
	}
	t = a.identify(&ident, at)
	t.visible = t.visible || e.Flags != 0
	if !written {
		return nil
	}
	e.Task = a.out.name(t)
	return a.out.write(e, at)
}

func (a *applier) applyExit(b []byte, at int64) error {
	t := a.subject(b)
	t.exited, t.exitedAt = true, at
	last := b[ringdata.HdrFlags]&ringdata.FlagLast != 0 && a.endsProcess(t, binary.LittleEndian.Uint32(b[ringdata.ExitPID:]))
	e := a.event(b)
	e.Flags &= format.FlagSubject
	if !a.isWritten(e, at) {
		return nil
	}
	e.Task = a.out.name(t)
	v := e.Exit()
	v.SetCode(uint64(binary.LittleEndian.Uint32(b[ringdata.ExitCode:])))
	if last {
		e.Flags |= format.ExitLast
	}
	return a.out.write(e, at)
}

// endsProcess reports whether an exit with FlagLast is its process's last. The kernel decrements signal->live some time
// before the tracepoint (do_exit in kernel/exit.c), so several threads that exit together find it 0; the last of them ends
// the process.
func (a *applier) endsProcess(t *thread, pid uint32) bool {
	g := t.process
	if g == nil {
		g = a.processes[pid]
	}
	if g == nil {
		return true // no other record is of this process
	}
	if g.ended || slices.ContainsFunc(g.threads, (*thread).isLive) {
		return false
	}
	g.ended = true
	return true
}

func (a *applier) applyFree(b []byte, at int64) error {
	le := binary.LittleEndian
	tid, start := le.Uint32(b[ringdata.HdrTID:]), int64(le.Uint64(b[ringdata.FreeStartNS:]))
	t := a.threads.get(tid)
	if t == nil || t.identified && t.start != start && t.key == t.tid {
		t = a.threads.replaced[threadKey{tid, start}]
	}
	if t == nil {
		// Only its end was recorded. It is not in the table: the tid may be another thread's.
		t = a.freedThread(b, tid, start)
	}
	e := a.event(b)
	e.Flags &= format.FlagSubject
	var err error
	if a.isWritten(e, at) {
		e.Task = a.out.name(t)
		err = a.out.write(e, at)
	}
	a.keepEnded(t)
	a.drop(t)
	return err
}

// freedThread is a thread that only the record of its freeing names.
func (a *applier) freedThread(b []byte, tid uint32, start int64) *thread {
	t := &thread{identity: identity{tid: tid, start: start}}
	if len(b) < ringdata.FreeSize {
		t.comm = nameless(tid)
		return t
	}
	le := binary.LittleEndian
	t.pid, t.flags = le.Uint32(b[ringdata.FreePID:]), le.Uint32(b[ringdata.FreeTaskFlags:])
	t.comm, t.processComm = comm(b[ringdata.FreeComm:]), comm(b[ringdata.FreeProcessComm:])
	t.identified = true
	// Its process may still be alive. If the id is another process's by now, that is younger than the thread.
	if leader := a.threads.get(t.pid); leader != nil && leader.identified && leader.pid == t.pid && leader.start <= start && tid != t.pid {
		t.ppid = leader.ppid
	}
	return t
}
