package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/ringdata"
)

// spanKey identifies a span in the records after the close. One that ended while open spans were being listed may have two records.
type spanKey struct {
	number   uint32 // of its type
	start    int64
	cpu, tid uint32 // where they are the same at its beginning and at its end
}

// maxEnded bounds the spans that are remembered; fewer end in the milliseconds after the close.
const maxEnded = 1 << 18

// applyAfterClose takes a record that was written between the close of the window and the moment from which the kernel programs write no
// more, or up to which a snapshot has records. What it reports belongs to the window if it began there: spans, which are open at the close, and
// losses.
func (a *applier) applyAfterClose(b []byte, closed int64) error {
	started := func(at int) bool {
		from := int64(binary.LittleEndian.Uint64(b[at:]))
		return from > 0 && from < closed
	}
	switch b[ringdata.HdrKind] {
	case ringdata.KindWait:
		a.out.waits.keep(b)
	case ringdata.KindText:
		a.out.types.keep(b)
	case ringdata.KindTyped:
		if started(ringdata.TypedStart) && a.isFirst(b) {
			return a.applyTyped(b, closed, format.FlagOpen)
		}
	case ringdata.KindInstant: // of what was counted until then
		if merge.RecordTime(b) == closed {
			return a.applyInstant(b, closed)
		}
	case ringdata.KindLost:
		if started(ringdata.LostFrom) {
			return a.applyLost(b, closed)
		}
	case ringdata.KindMissing:
		if started(ringdata.MissingFrom) {
			return a.applyMissing(b, closed)
		}
	case merge.KindHole:
		if started(merge.HoleFrom) {
			return a.applyHole(int64(binary.LittleEndian.Uint64(b[merge.HoleFrom:])), closed)
		}
	}
	return nil
}

// keyOf returns what distinguishes a span from those that begin elsewhere in the same nanosecond. A list has the CPU of the list, but for interrupts.
func (a *applier) keyOf(b []byte) spanKey {
	le := binary.LittleEndian
	key := spanKey{number: le.Uint32(b[ringdata.TypedType:]), start: int64(le.Uint64(b[ringdata.TypedStart:]))}
	switch number := key.number; {
	case number >= ringdata.TypeTracepoint && a.endsAnywhere(number-ringdata.TypeTracepoint):
		return key
	case number >= ringdata.TypeHardirq && number <= ringdata.TypeCall:
		key.cpu = uint32(le.Uint16(b[ringdata.HdrCPU:]))
	}
	key.tid = le.Uint32(b[ringdata.HdrTID:])
	return key
}

// isFirst reports whether this is the first record of a span: false if this one is of its end and the list had it, or the other way round.
func (a *applier) isFirst(b []byte) bool {
	key := a.keyOf(b)
	isListed := b[ringdata.HdrFlags]&ringdata.FlagListed != 0
	if before, found := a.ended[key]; found && before != isListed {
		return false
	}
	if a.ended == nil {
		a.ended = make(map[spanKey]bool)
	}
	if len(a.ended) < maxEnded {
		a.ended[key] = isListed
	}
	return true
}
