package assemble

import (
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

func (a *applier) applyLost(b []byte, at int64) error {
	le := binary.LittleEndian
	l := spool.Loss{CPU: uint32(le.Uint16(b[ringdata.HdrCPU:])), From: int64(le.Uint64(b[ringdata.LostFrom:]))}
	counts := b[ringdata.LostCounts:min(len(b), ringdata.LostSize)]
	if losesSwitches(counts) {
		a.lost(l.CPU, at)
	}
	if at < a.out.from {
		return nil
	}
	for kind := range len(counts) / 4 {
		l.Count = uint64(le.Uint32(counts[4*kind:]))
		if l.Count == 0 {
			continue
		}
		l.Kind, l.Cause = lossOf(kind)
		if err := a.out.lost(at, &l); err != nil {
			return err
		}
	}
	return nil
}

// applyMissing takes the counts of records of sources.
func (a *applier) applyMissing(b []byte, at int64) error {
	if at < a.out.from {
		return nil
	}
	le := binary.LittleEndian
	l := spool.Loss{CPU: uint32(le.Uint16(b[ringdata.HdrCPU:])), From: int64(le.Uint64(b[ringdata.MissingFrom:]))}
	cause := format.CauseRing
	switch le.Uint32(b[ringdata.MissingCause:]) {
	case ringdata.MissingCauseLimit:
		cause = format.CauseLimit
	case ringdata.MissingCauseTable:
		cause = format.CauseTable
	}
	counts := b[ringdata.MissingCounts:ringdata.MissingSize]
	for number := range len(counts) / 4 {
		l.Count = uint64(le.Uint32(counts[4*number:]))
		if l.Count == 0 {
			continue
		}
		l.Kind, l.Cause, l.Type = format.KindTyped, cause, uint32(number)
		switch number {
		case 0:
			l.Cause = format.CauseDefinition
		case ringdata.TypePython, ringdata.TypeTorch: // in the process's memory, which no CPU owns and no option makes larger
			l.CPU = format.AllCPUs
			if cause == format.CauseRing {
				l.Cause = format.CauseTable
			}
		}
		if err := a.out.lost(at, &l); err != nil {
			return err
		}
	}
	return nil
}

// losesSwitches reports whether a count of a lost record may be of switches.
func losesSwitches(counts []byte) bool {
	for kind := range len(counts) / 4 {
		if binary.LittleEndian.Uint32(counts[4*kind:]) == 0 {
			continue
		}
		if what, cause := lossOf(kind); cause == format.CauseRing && (what == 0 || what == format.KindSwitch) {
			return true
		}
	}
	return false
}

// lossOf returns what a count in a lost record counts: no events at 0, and events of unknown kind if a newer recorder
// wrote it.
func lossOf(kind int) (format.Kind, format.Cause) {
	switch {
	case kind == 0:
		return 0, format.CauseDefinition
	case kind > int(format.MaxKind):
		return 0, format.CauseRing
	}
	return format.Kind(kind), format.CauseRing
}

// applyHole handles missing bytes of a ring. Which CPUs used the ring is not known.
func (a *applier) applyHole(from, at int64) error {
	a.lost(format.AllCPUs, at)
	if at < a.out.from {
		return nil
	}
	return a.out.lost(at, &spool.Loss{CPU: format.AllCPUs, Cause: format.CauseSpool, From: from})
}
