package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/ringdata"
	"wprof/internal/timeline"
)

// applier applies records, in the order of time, to the state of threads and writes events of the stream. Records before
// the window's opening only change the state.
type applier struct {
	*schedState
	in       *merge.Reader
	out      *stream
	switched format.Event // reused: fields that do not change are set once
	woke     format.Event
	rare     format.Event
	sampled  format.Event
	plain    [format.MaxKind + 1]*plainRecord
	code     *code

	counts     []format.Count // of the current event
	countsData []byte

	ended        map[spanKey]bool // spans in the records after the close; true: the record was in a list of open ones
	endedThreads endedThreads

	offCPUMin int64 // ns; shorter times off have no stack
}

func newApplier(r *schedState, out *stream) *applier {
	a := &applier{schedState: r, out: out, plain: plainRecords()}
	a.switched.Kind, a.woke.Kind, a.sampled.Kind = format.KindSwitch, format.KindWaking, format.KindSample
	return a
}

const sides = ringdata.FlagSubject | ringdata.FlagObject

// apply takes the next record.
func (a *applier) apply(b []byte, at int64) error {
	switch b[ringdata.HdrKind] {
	case ringdata.KindSwitch:
		return a.applySwitch(b, at)
	case ringdata.KindWaking:
		return a.applyWaking(b, at)
	}
	return a.applyRare(b, at)
}

func (a *applier) applyRare(b []byte, at int64) error {
	switch b[ringdata.HdrKind] {
	case ringdata.KindWakeupNew:
		return a.applyWakeupNew(b, at)
	case ringdata.KindFork:
		return a.applyFork(b, at)
	case ringdata.KindExec:
		return a.applyExec(b, at)
	case ringdata.KindRename:
		return a.applyRename(b, at)
	case ringdata.KindExit:
		return a.applyExit(b, at)
	case ringdata.KindFree:
		return a.applyFree(b, at)
	case ringdata.KindLost:
		return a.applyLost(b, at)
	case ringdata.KindMissing:
		return a.applyMissing(b, at)
	case ringdata.KindTask:
		a.applyTask(b, at)
	case ringdata.KindStack:
		a.code.defs.define(b, at)
	case ringdata.KindCode:
		a.code.defs.reach(at)
		a.code.python.keep(b)
	case ringdata.KindWait:
		a.code.defs.reach(at)
		a.out.waits.keep(b)
	case ringdata.KindSample:
		return a.applySample(b, at)
	case ringdata.KindArgs:
		a.applyArgs(b)
	case ringdata.KindText:
		a.out.types.keep(b)
	case ringdata.KindCgroup:
		a.code.defs.reach(at)
		a.out.cgroups.keep(b)
	case ringdata.KindMove:
		a.applyMove(b, at)
	case ringdata.KindTyped:
		if b[ringdata.HdrFlags]&ringdata.FlagListed != 0 {
			return nil // it was listed for an earlier snapshot
		}
		return a.applyTyped(b, at, format.Flags(b[ringdata.HdrFlags])&ringdata.FlagOpen)
	case ringdata.KindInstant:
		return a.applyInstant(b, at)
	case merge.KindHole:
		return a.applyHole(int64(binary.LittleEndian.Uint64(b[merge.HoleFrom:])), at)
	}
	if kind := b[ringdata.HdrKind]; int(kind) < len(a.plain) && a.plain[kind] != nil {
		return a.applyPlain(a.plain[kind], b, at)
	}
	return nil
}

// define takes a stack, a wait or a code object before its turn.
func (a *applier) define(b []byte) {
	switch b[ringdata.HdrKind] {
	case ringdata.KindWait:
		a.out.waits.keep(b)
	case ringdata.KindCode:
		a.code.python.keep(b)
	default:
		a.code.defs.keep(b)
	}
}

// subject returns the thread of a record, which usually runs on the record's CPU.
func (a *applier) subject(b []byte) *thread {
	tid := binary.LittleEndian.Uint32(b[ringdata.HdrTID:])
	if n := int(binary.LittleEndian.Uint16(b[ringdata.HdrCPU:])); n < len(a.cpus) {
		if t := a.cpus[n].Running; t != nil {
			if t.tid == tid {
				return t
			}
			a.noticeExchange(t, tid)
		}
	}
	return a.thread(tid)
}

// noticeExchange handles a record with another tid than that of the thread that runs on its CPU. If it is the tid of the leader,
// which has exited, the thread is calling exec: the two have exchanged their tids. The kernel reports the exec later; until
// then the stream continues to use the thread's definition.
func (a *applier) noticeExchange(running *thread, tid uint32) {
	if !running.identified || running.pid != tid || running.key != running.tid {
		return
	}
	if leader := a.threads.get(tid); leader != nil && leader != running && (leader.exited || leader.Status == timeline.Dead) && leader.key == tid {
		a.threads.exchange(running, leader)
	}
}

// event returns an event for a record, without the fields of its kind.
func (a *applier) event(b []byte) *format.Event {
	e := &a.rare
	*e = format.Event{
		Kind: format.Kind(b[ringdata.HdrKind]), Flags: format.Flags(b[ringdata.HdrFlags] & sides),
		CPU: uint32(binary.LittleEndian.Uint16(b[ringdata.HdrCPU:])),
	}
	return e
}

// isWritten reports whether the event is in the window and selected by its flags; other records only change the state. With
// -f no-task-life, records of visible threads do not have these flags.
func (a *applier) isWritten(e *format.Event, at int64) bool {
	return at >= a.out.from && e.Flags&format.FlagsVisible != 0
}
