package spool

import (
	"encoding/binary"

	"wprof/format"
)

func (a *applier) applyLost(b []byte, at int64) error {
	le := binary.LittleEndian
	n := uint32(le.Uint16(b[hdrCPU:]))
	if le.Uint32(b[lostCounts+4*int(recSwitch):]) > 0 {
		a.lost(n, at)
	}
	if at < a.out.from {
		return nil
	}
	for kind := range lostKinds {
		count := le.Uint32(b[lostCounts+4*kind:])
		if count == 0 {
			continue
		}
		l := Loss{CPU: n, Kind: format.Kind(kind), Cause: lossCause(kind), Count: uint64(count), From: int64(le.Uint64(b[lostFrom:]))}
		if err := a.out.lost(at, &l); err != nil {
			return err
		}
	}
	return nil
}

// lossCause is why records of a kind did not fit; what is no event is no loss of events.
func lossCause(kind int) format.Cause {
	if kind == 0 {
		return format.CauseDefinition
	}
	return format.CauseRing
}

// applyGap tells that bytes of a ring are missing. Which CPUs used the ring is not known.
func (a *applier) applyGap(from, at int64) error {
	a.lost(format.AllCPUs, at)
	if at < a.out.from {
		return nil
	}
	return a.out.lost(at, &Loss{CPU: format.AllCPUs, Cause: format.CauseSpool, From: from})
}
