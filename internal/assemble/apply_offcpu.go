package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/ringdata"
)

// setOffStack sets the stack of the switch that brings a thread back: where the thread was while it was off-CPU.
func (a *applier) setOffStack(e *format.Event, b []byte, next *thread, at int64) error {
	if e.Flags&format.SwitchHasSince != 0 && at-next.Since < a.offCPUMin {
		return nil
	}
	id := a.code.stackOf(next.user, next.kernel)
	if r := b[ringdata.SwitchDistance:]; binary.LittleEndian.Uint32(r) != 0 {
		var err error
		if id, err = a.returned(merge.ReturnOf(b), at); err != nil {
			return err
		}
	}
	if id != 0 {
		e.Flags |= format.SwitchHasStack
		e.Args[format.SwitchStack] = uint64(id)
	}
	return nil
}

// returned returns the stack of a thread that has come back. Another ring may define it in a record that is younger than
// the switch.
func (a *applier) returned(b []byte, at int64) (format.StackID, error) {
	if b == nil {
		return 0, nil
	}
	user, kernel := stackIDs(b[ringdata.ReturnStacks:])
	for _, id := range [...]uint64{user, kernel} {
		if _, ok := a.code.find(id, at); !ok {
			if err := a.in.ReadAhead(merge.RecordTime(b)); err != nil {
				return 0, err
			}
		}
	}
	return a.code.stack(user, kernel, at), nil
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
