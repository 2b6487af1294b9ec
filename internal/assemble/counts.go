package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
)

// setCounts sets what counters have counted while the leaving thread was on the CPU, which stands behind the other parts of a switch.
func (a *applier) setCounts(e *format.Event, b []byte) {
	if b[ringdata.HdrFlags]&ringdata.FlagParts == 0 || len(b) < countsPlace+ringdata.CountsPartSize {
		return
	}
	part := b[countsPlace:]
	unknown, scaled := part[ringdata.CountsPartUnknown], part[ringdata.CountsPartScaled]
	a.counts = a.counts[:0]
	for i, words := 0, part[ringdata.CountsPartValues:]; len(words) >= 8 && i < ringdata.MaxCounters; i, words = i+1, words[8:] {
		a.counts = append(a.counts, format.Count{
			Number: binary.LittleEndian.Uint64(words), Known: unknown>>i&1 == 0, Scaled: scaled>>i&1 != 0,
		})
	}
	a.countsData = format.AppendCounts(a.countsData[:0], a.counts)
	e.Flags |= format.SwitchHasCounts
	e.Data = a.countsData
}

// countsPlace is where the counts are in an unpacked switch.
const countsPlace = ringdata.SwitchSize + ringdata.StacksSize + ringdata.WaitPartSize
