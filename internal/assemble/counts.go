package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

// seesCounts reports whether what counters have counted begins in the window: at the start of a span, or if that is 0, at the last switch of a CPU.
// The programs may have counted long before: a flight recorder's go on between its snapshots.
func (a *applier) seesCounts(cpu uint32, start int64) bool {
	if start == 0 {
		start = a.cpu(cpu).switched
	}
	return start >= a.out.from
}

// countsOf converts a struct rec_counts_part to the form of events, empty if no count is known. The result is valid until the next call.
func (a *applier) countsOf(part []byte) []byte {
	a.countsData = a.countsData[:0]
	if len(part) < ringdata.CountsPartSize {
		return nil
	}
	unknown, scaled := part[ringdata.CountsPartUnknown], part[ringdata.CountsPartScaled]
	a.counts = a.counts[:0]
	for i, words := 0, part[ringdata.CountsPartValues:]; len(words) >= 8 && i < ringdata.MaxCounters; i, words = i+1, words[8:] {
		a.counts = append(a.counts, format.Count{
			// The count of a work item is a sum of estimates less another one, and so may be below 0.
			Number: uint64(max(0, int64(binary.LittleEndian.Uint64(words)))), Known: unknown>>i&1 == 0, Scaled: scaled>>i&1 != 0,
		})
	}
	a.countsData = format.AppendCounts(a.countsData, a.counts)
	return a.countsData
}

// setCounts sets what counters have counted while a thread was on its CPU. The counts stand behind the other parts of a record whose own
// length is size; has is the flag of the event's field.
func (a *applier) setCounts(e *format.Event, b []byte, size int, has format.Flags) {
	if b[ringdata.HdrFlags]&ringdata.FlagParts == 0 {
		return
	}
	if at := size + ringdata.StacksSize + ringdata.WaitPartSize; len(b) > at {
		if e.Data = a.countsOf(b[at:]); len(e.Data) > 0 {
			e.Flags |= has
		}
	}
}
