package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/ringdata"
)

// applyAfterClose takes a record that was written between the close of the window and the moment from which the kernel programs write no
// more. What it reports belongs to the window if it began there: spans, which are open at the close, and losses.
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
		if started(ringdata.TypedStart) {
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
