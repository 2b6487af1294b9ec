package assemble

import (
	"bytes"
	"encoding/binary"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
	"wprof/internal/timeline"
)

// eachBlocked calls take with every rec_blocked, rec_wait and rec_code of the lists in some chunks.
func eachBlocked(in *merge.Reader, lists []spool.Chunk, take func(b []byte)) error {
	for i := range lists {
		b, err := in.Payload(&lists[i])
		if err != nil {
			return err
		}
		for n := spool.BlockedLength(b); n > 0; n = spool.BlockedLength(b) {
			take(b[:n])
			b = b[n:]
		}
	}
	return nil
}

// setBlockedStacks sets the stacks of the threads that are still blocked at the end.
func (f *finaliser) setBlockedStacks(end int64) error {
	blocked := func(t *thread) bool {
		short := t.SinceKnown && end-t.Since < f.apply.offCPUMin
		return f.apply.isOff(t) && t.Woken == 0 && !short && t.State != format.StateRunnable && t.State&format.StatePreempted == 0
	}
	_ = f.apply.threads.all(func(t *thread) error {
		if !blocked(t) {
			t.user, t.kernel, t.wait = nil, nil, nil // as taken when it left
		}
		return nil
	})
	var shared arena
	var wait []byte // the last rec_wait, which comes before its thread's rec_blocked
	return eachBlocked(f.in, f.blocked, func(b []byte) {
		le := binary.LittleEndian
		switch b[ringdata.HdrKind] {
		case ringdata.KindWait:
			wait = bytes.Clone(b)
			return
		case ringdata.KindCode:
			f.apply.code.python.keep(b)
			return
		}
		described := wait
		wait = nil
		t := f.apply.threads.get(le.Uint32(b[ringdata.HdrTID:]))
		if t == nil || t.start != int64(le.Uint64(b[ringdata.BlockedStartNS:])) {
			return
		}
		f.apply.findBlocked(t, b, end)
		if !blocked(t) {
			return
		}
		if t.wait == nil && described != nil && le.Uint32(described[ringdata.HdrTID:]) == t.tid {
			t.wait = f.out.waits.blocked(described, t.process.member(le.Uint32(described[ringdata.WaitOwner:])))
		}
		if t.user == nil && t.kernel == nil {
			t.kernel, t.user = blockedStacks(&shared, b)
		}
	})
}

// findBlocked sets the state of a thread that only the iterator has found off its CPU, because switches were
// lost after all threads were listed. It may still have been on a CPU when the window closed.
func (a *applier) findBlocked(t *thread, b []byte, end int64) {
	le := binary.LittleEndian
	since := int64(le.Uint64(b[ringdata.BlockedSinceNS:]))
	if t.Status == timeline.Running || t.Status == timeline.Dead || a.isOff(t) || b[ringdata.HdrFlags]&ringdata.FlagSince == 0 || since >= end {
		return
	}
	a.leave(t, t.CPU, since, kernelState(le.Uint32(b[ringdata.BlockedState:])), false, int32(le.Uint32(b[ringdata.BlockedPrio:])))
	t.Approx, t.visible = true, true
}

// blockedStacks are the two parts of a stack that the iterator has taken; nil: there is none.
func blockedStacks(shared *arena, b []byte) (kernel, user *stackDef) {
	le := binary.LittleEndian
	cut, split := b[ringdata.BlockedCut], ringdata.BlockedAddrs+8*int(le.Uint32(b[ringdata.BlockedKernelCount:]))
	kernel = newStackDef(shared, 0, b[ringdata.BlockedAddrs:split], cut&1 != 0)
	if kernel != nil {
		kernel.called = true
	}
	words := split + 8*int(le.Uint32(b[ringdata.BlockedUserCount:]))
	user = newStackDef(shared, le.Uint32(b[ringdata.BlockedPID:]), b[split:words], cut&2 != 0)
	if user != nil {
		user.end = format.StackEnd(b[ringdata.BlockedEnded])
		user.python, user.whole = bytes.Clone(b[words:]), cut&4 != 0
	}
	return kernel, user
}

func newStackDef(shared *arena, pid uint32, raw []byte, cut bool) *stackDef {
	if len(raw) == 0 {
		return nil
	}
	return &stackDef{pid: pid, count: uint32(len(raw) / 8), cut: cut, packed: shared.keep(raw)}
}
