package perfetto

import (
	"encoding/binary"
)

// The columns of a compact bundle by their field numbers in FtraceEventBundle.CompactSched.
const (
	switchTime      = 1
	switchPrevState = 2
	switchNextTID   = 3
	switchNextPrio  = 4
	internTable     = 5
	switchNextName  = 6
	wakingTime      = 7
	wakingTID       = 8
	wakingCPU       = 9
	wakingPrio      = 10
	wakingName      = 11
	wakingFlags     = 12
)

// bundleEvents bounds a bundle. Its fixed part is some 60 bytes, so longer ones gain nothing, and a cut trace loses
// what the last bundles hold.
const bundleEvents = 4096

// flagIRQ is TRACE_FLAG_HARDIRQ in include/linux/trace_events.h. Perfetto takes a waking with it for one in an interrupt. It reads
// the flags of compact wakings only: whether a full one happens in an interrupt is null in its tables.
const flagIRQ = 0x08

// bundle is an FtraceEventBundle under construction: a CPU's events since the last one.
//
// Perfetto sorts a CPU's events by time, and of compact ones at the same time it takes switches before wakings. A
// waking that a switch follows within the same nanosecond is therefore made a full event, which names its waker.
type bundle struct {
	times, states, tids, prios, names                 []byte // of switches
	wakeTimes, wakeTIDs, wakeCPUs, wakePrios, wakeNms []byte // of wakings
	wakeFlags                                         []byte // of the first wakings; those of the others are 0
	wakings                                           int    // in the columns
	intern                                            []byte // names, as fields
	interned                                          uint32
	events                                            []byte // whole events, as fields

	count                            int
	lastSwitch, lastWaking, lastFull uint64
	undo                             lastWaking

	// recent finds a name's index in intern. A slot taken by another name costs that name a second entry.
	recent     [256]internedName
	generation uint32
}

type internedName struct{ id, generation, index uint32 }

// lastWaking has what is needed to turn the last compact waking into a full event.
type lastWaking struct {
	times, tids, cpus, prios, names int // lengths of the columns before it
	before                          uint64
	waker                           int32
	wakee                           *task // nil: there is no such waking
	prio                            int32
	target                          uint64
}

func (b *bundle) addSwitch(at uint64, prevState int64, next *task, prio int32) {
	if at == b.lastWaking && b.undo.wakee != nil {
		b.spellOutWaking()
	}
	b.times = binary.AppendUvarint(b.times, at-b.lastSwitch)
	b.states = binary.AppendUvarint(b.states, uint64(prevState))
	b.tids = binary.AppendUvarint(b.tids, uint64(int64(next.tid)))
	b.prios = binary.AppendUvarint(b.prios, uint64(int64(prio)))
	b.names = binary.AppendUvarint(b.names, uint64(b.index(next)))
	b.lastSwitch = at
	b.count++
}

func (b *bundle) addWaking(at uint64, waker int32, wakee *task, prio int32, targetCPU uint64, inIRQ bool) {
	b.undo = lastWaking{
		len(b.wakeTimes), len(b.wakeTIDs), len(b.wakeCPUs), len(b.wakePrios), len(b.wakeNms),
		b.lastWaking, waker, wakee, prio, targetCPU,
	}
	b.wakeTimes = binary.AppendUvarint(b.wakeTimes, at-b.lastWaking)
	b.wakeTIDs = binary.AppendUvarint(b.wakeTIDs, uint64(int64(wakee.tid)))
	b.wakeCPUs = binary.AppendUvarint(b.wakeCPUs, targetCPU)
	b.wakePrios = binary.AppendUvarint(b.wakePrios, uint64(int64(prio)))
	b.wakeNms = binary.AppendUvarint(b.wakeNms, uint64(b.index(wakee)))
	if inIRQ {
		b.wakeFlags = append(append(b.wakeFlags, make([]byte, b.wakings-len(b.wakeFlags))...), flagIRQ)
	}
	b.wakings++
	b.lastWaking = at
	b.count++
}

func (b *bundle) spellOutWaking() {
	at, u := b.lastWaking, &b.undo
	b.wakeTimes, b.wakeTIDs, b.wakeCPUs = b.wakeTimes[:u.times], b.wakeTIDs[:u.tids], b.wakeCPUs[:u.cpus]
	b.wakePrios, b.wakeNms = b.wakePrios[:u.prios], b.wakeNms[:u.names]
	b.lastWaking = u.before
	b.count--
	b.wakings--
	b.wakeFlags = b.wakeFlags[:min(len(b.wakeFlags), b.wakings)]
	b.fullWaking(eventWaking, at, u.waker, u.wakee, u.prio, u.target)
	u.wakee = nil
}

// index is the index of a task's name in the bundle's table.
func (b *bundle) index(k *task) uint32 {
	slot := &b.recent[k.id%uint32(len(b.recent))]
	if slot.id != k.id || slot.generation != b.generation {
		*slot = internedName{k.id, b.generation, b.interned}
		b.intern = appendString(b.intern, internTable, k.name)
		b.interned++
	}
	return slot.index
}

// takes reports whether an event fits into the bundle: in order of time, and no compact one at the same time as a
// full one, because the engine would process it first.
func (b *bundle) takes(at uint64, full bool) bool {
	return at >= b.lastSwitch && at >= b.lastWaking && (full || at > b.lastFull) && b.count < bundleEvents
}

// appendPacket appends the bundle as a packet and empties it.
func (b *bundle) appendPacket(out []byte, cpu uint32) []byte {
	if b.count == 0 {
		return out
	}
	out, packet := begin(out, tracePacket)
	out, body := begin(out, packetFtraceEvents)
	out = appendUint(out, 1, uint64(cpu))
	out = append(out, b.events...)
	if len(b.times)+len(b.wakeTimes) > 0 {
		var compact int
		out, compact = begin(out, 4)
		out = b.appendColumns(out)
		end(out, compact)
	}
	end(out, body)
	out = appendUint(out, packetSequence, sequenceID)
	end(out, packet)
	b.reset()
	return out
}

func (b *bundle) appendColumns(out []byte) []byte {
	out = append(out, b.intern...)
	out = appendColumn(out, switchTime, b.times)
	out = appendColumn(out, switchPrevState, b.states)
	out = appendColumn(out, switchNextTID, b.tids)
	out = appendColumn(out, switchNextPrio, b.prios)
	out = appendColumn(out, switchNextName, b.names)
	out = appendColumn(out, wakingTime, b.wakeTimes)
	out = appendColumn(out, wakingTID, b.wakeTIDs)
	out = appendColumn(out, wakingCPU, b.wakeCPUs)
	out = appendColumn(out, wakingPrio, b.wakePrios)
	out = appendColumn(out, wakingName, b.wakeNms)
	return appendColumn(out, wakingFlags, b.wakeFlags)
}

func (b *bundle) reset() {
	for _, column := range []*[]byte{
		&b.times, &b.states, &b.tids, &b.prios, &b.names,
		&b.wakeTimes, &b.wakeTIDs, &b.wakeCPUs, &b.wakePrios, &b.wakeNms, &b.wakeFlags, &b.intern, &b.events,
	} {
		*column = (*column)[:0]
	}
	b.interned, b.count, b.wakings = 0, 0, 0
	b.lastSwitch, b.lastWaking, b.lastFull = 0, 0, 0
	b.undo = lastWaking{}
	b.generation++
}

// Events with all their fields, by their numbers in FtraceEvent.
const (
	eventSwitch    = 4
	eventWaking    = 20
	eventWakeupNew = 114
	eventNewTask   = 235
	eventRename    = 236
	eventExec      = 237
	eventExit      = 238
	eventFree      = 240
)

// beginEvent appends the head of an event; the caller appends its fields and calls endEvent with what it returns.
func (b *bundle) beginEvent(at uint64, tid int32, kind uint64) (event, fields int) {
	b.events, event = begin(b.events, 2)
	b.events = appendUint(b.events, 1, at)
	b.events = appendUint(b.events, 2, uint64(uint32(tid)))
	b.events, fields = begin(b.events, kind)
	b.lastFull = at
	b.count++
	return event, fields
}

func (b *bundle) endEvent(event, fields int) {
	end(b.events, fields)
	end(b.events, event)
}

func (b *bundle) fullSwitch(at uint64, prev *task, prevPrio int32, prevState int64, next *task, nextPrio int32) {
	event, fields := b.beginEvent(at, prev.tid, eventSwitch)
	b.events = appendString(b.events, 1, prev.name)
	b.events = appendInt(b.events, 2, int64(prev.tid))
	b.events = appendInt(b.events, 3, int64(prevPrio))
	b.events = appendInt(b.events, 4, prevState)
	b.events = appendString(b.events, 5, next.name)
	b.events = appendInt(b.events, 6, int64(next.tid))
	b.events = appendInt(b.events, 7, int64(nextPrio))
	b.endEvent(event, fields)
}

// fullWaking appends a waking, or with eventWakeupNew that of a new thread: the two have the same fields.
func (b *bundle) fullWaking(kind, at uint64, wakerTID int32, wakee *task, prio int32, targetCPU uint64) {
	event, fields := b.beginEvent(at, wakerTID, kind)
	b.events = appendString(b.events, 1, wakee.name)
	b.events = appendInt(b.events, 2, int64(wakee.tid))
	b.events = appendInt(b.events, 3, int64(prio))
	b.events = appendUint(b.events, 5, targetCPU)
	b.endEvent(event, fields)
}

func (b *bundle) newTask(at uint64, parentTID int32, child *task, sameProcess bool) {
	const cloneThread = 0x00010000 // include/uapi/linux/sched.h
	event, fields := b.beginEvent(at, parentTID, eventNewTask)
	b.events = appendInt(b.events, 1, int64(child.tid))
	b.events = appendString(b.events, 2, child.name)
	if sameProcess {
		b.events = appendUint(b.events, 3, cloneThread)
	}
	b.endEvent(event, fields)
}

func (b *bundle) rename(at uint64, tid int32, before, after []byte) {
	event, fields := b.beginEvent(at, tid, eventRename)
	b.events = appendInt(b.events, 1, int64(tid))
	b.events = appendString(b.events, 2, before)
	b.events = appendString(b.events, 3, after)
	b.endEvent(event, fields)
}

func (b *bundle) exec(at uint64, tid, oldTID int32, file []byte) {
	event, fields := b.beginEvent(at, tid, eventExec)
	b.events = appendString(b.events, 1, file)
	b.events = appendInt(b.events, 2, int64(tid))
	b.events = appendInt(b.events, 3, int64(oldTID))
	b.endEvent(event, fields)
}

func (b *bundle) exit(at uint64, k *task) {
	event, fields := b.beginEvent(at, k.tid, eventExit)
	b.events = appendString(b.events, 1, k.name)
	b.events = appendInt(b.events, 2, int64(k.tid))
	b.events = appendInt(b.events, 3, int64(k.pid))
	b.endEvent(event, fields)
}

func (b *bundle) free(at uint64, byTID int32, k *task) {
	event, fields := b.beginEvent(at, byTID, eventFree)
	b.events = appendString(b.events, 1, k.name)
	b.events = appendInt(b.events, 2, int64(k.tid))
	b.endEvent(event, fields)
}
