package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/ringdata"
)

// setOff sets where the thread that a switch brings back was while it was off-CPU, and what it waited for.
func (a *applier) setOff(e *format.Event, b []byte, next *thread, at int64) error {
	if e.Flags&format.SwitchHasSince != 0 && at-next.Since < a.offCPUMin {
		return nil
	}
	id, wait := a.code.stackOf(next.user, next.kernel), next.wait
	if r := b[ringdata.SwitchDistance:]; binary.LittleEndian.Uint32(r) != 0 {
		var err error
		if id, wait, err = a.returned(merge.ReturnOf(b), next, at); err != nil {
			return err
		}
	}
	if id != 0 {
		e.Flags |= format.SwitchHasStack
		e.Args[format.SwitchStack] = uint64(id)
	}
	if e.Flags&format.SwitchHasSince != 0 && next.State&format.StatePreempted != 0 {
		return nil // the registers are of the system call that it was in by chance, or of an earlier one
	}
	if id := a.out.waits.define(a.out, wait); id != 0 {
		e.Flags |= format.SwitchHasWait
		e.Args[format.SwitchWait] = uint64(id)
	}
	return nil
}

// returned returns the stack of a thread that has come back, and what it waited for. Another ring may define them in a record that is
// younger than the switch.
func (a *applier) returned(b []byte, t *thread, at int64) (format.StackID, *waitDef, error) {
	if b == nil {
		return 0, nil, nil
	}
	user, kernel := stackIDs(b[ringdata.ReturnStacks:])
	waitID := uint64(0)
	if len(b) >= ringdata.ReturnSize {
		waitID = binary.LittleEndian.Uint64(b[ringdata.ReturnWait:])
	}
	complete := a.out.waits.has(waitID)
	for _, id := range [...]uint64{user, kernel} {
		_, ok := a.code.find(id, at)
		complete = complete && ok
	}
	if !complete {
		if err := a.in.ReadAhead(merge.RecordTime(b)); err != nil {
			return 0, nil, err
		}
	}
	return a.code.stack(user, kernel, at), a.out.waits.find(waitID, t.owner), nil
}

// setDeparted keeps what a switch has of the thread that leaves.
func (a *applier) setDeparted(t *thread, b []byte, at int64) {
	t.wait, t.owner = nil, 0
	parts := trailing(b, ringdata.SwitchSize)
	if parts == nil {
		return
	}
	user, kernel := stackIDs(parts)
	t.user, t.kernel = a.code.defs.find(user, at), a.code.defs.find(kernel, at)
	wait := parts[ringdata.StacksSize:]
	t.owner = t.process.member(binary.LittleEndian.Uint32(wait[ringdata.WaitPartOwner:]))
	t.wait = a.out.waits.find(binary.LittleEndian.Uint64(wait[ringdata.WaitPartWait:]), t.owner)
}

// member returns the tid of the process's thread that has a tid in the process's own PID namespace; 0: it has none such. p may be nil.
func (p *process) member(tid uint32) uint32 {
	if p == nil || tid == 0 {
		return 0
	}
	for _, t := range p.threads {
		if t.nsTID == tid || t.nsTID == 0 && t.tid == tid {
			return t.tid
		}
	}
	return 0
}

// setWakerStack sets the stack of the waker in a waking, even if filters drop the waker: it explains why the wakee continues.
func (a *applier) setWakerStack(e *format.Event, arg int, b []byte, at int64) {
	e.Args[arg] = 0
	s := trailing(b, ringdata.WakingSize)
	if s == nil {
		return
	}
	user, kernel := stackIDs(s)
	if id := a.code.stack(user, kernel, at); id != 0 {
		e.Flags |= format.WakingHasStack
		e.Args[arg] = uint64(id)
	}
}

// keepBlocked lets the stacks of threads that are off their CPU outlive the memory that stacks of a generation share.
func (r *schedState) keepBlocked() {
	_ = r.threads.all(func(t *thread) error {
		t.user, t.kernel = t.user.own(), t.kernel.own()
		return nil
	})
}
