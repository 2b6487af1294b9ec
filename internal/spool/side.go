package spool

import (
	"maps"
	"slices"

	"wprof/format"
)

// sideband reads the records of internal/sideband and knows what they come to: the mappings of every process, as of
// the record that was applied last.
type sideband interface {
	mappings
	// next tells the time and the length of the record that some bytes begin with; 0: they do not hold a whole one.
	next(b []byte) (time int64, length int)
	// apply takes the record that some bytes begin with. What concerns more than mappings it tells to.
	apply(b []byte, to sideEvents)
}

// sideEvents is told what side-band records say beside mappings.
type sideEvents interface {
	sidebandLost(cpu uint32, count uint64)
	throttled(cpu uint32, is bool)
	commandAtStart(pid uint32, args []byte, cut bool)
}

// maxSideRecord is more than the longest side-band record has.
const maxSideRecord = 32 << 10

// sideGap is a time in which side-band records are missing.
type sideGap struct{ from, to int64 }

// sideTaker takes side-band records in the order of time, and is told what they say.
type sideTaker struct {
	*applier
	table sideband
	at    int64 // time of the record that is being taken
	last  int64 // of the one before
	err   error
	since map[uint32]int64 // by CPU: when its sampling was throttled
}

// take takes the next record; gaps are those before it.
func (s *sideTaker) take(b []byte, at int64) error {
	s.at, s.err = at, nil
	s.table.apply(b, s)
	s.last = at
	return s.err
}

func (s *sideTaker) tell(l *Loss, at int64) {
	if s.err == nil && at >= s.out.from {
		s.err = s.out.lost(at, l)
	}
}

func (s *sideTaker) sidebandLost(cpu uint32, count uint64) {
	s.tell(&Loss{CPU: cpu, Cause: format.CauseSideband, Count: count, From: s.last}, s.at)
}

// throttled tells how long the kernel has kept sampling from a CPU, when that is over.
func (s *sideTaker) throttled(cpu uint32, is bool) {
	from, was := s.since[cpu]
	switch {
	case is && !was:
		if s.since == nil {
			s.since = make(map[uint32]int64)
		}
		s.since[cpu] = s.at
	case !is && was:
		delete(s.since, cpu)
		s.tell(&Loss{CPU: cpu, Kind: format.KindSample, Cause: format.CauseThrottle, From: from}, s.at)
	}
}

// finish tells of CPUs that are still throttled at the end.
func (s *sideTaker) finish(end int64) error {
	s.at, s.err = end, nil
	for _, cpu := range slices.Sorted(maps.Keys(s.since)) {
		s.throttled(cpu, false)
	}
	return s.err
}

// missing tells of side-band records that the spool has lost.
func (s *sideTaker) missing(g sideGap, at int64) error {
	s.err = nil
	s.tell(&Loss{CPU: format.AllCPUs, Cause: format.CauseSpool, From: g.from}, at)
	return s.err
}

func newSideband(o *Options) sideband {
	if o.sideband != nil {
		return o.sideband()
	}
	return noSideband{}
}

// noSideband knows no records and no mappings.
type noSideband struct{}

func (noSideband) next([]byte) (int64, int)                        { return 0, 0 }
func (noSideband) apply([]byte, sideEvents)                        {}
func (noSideband) resolve(uint32, uint64) (*format.Module, uint64) { return nil, 0 }
func (noSideband) version(uint32) uint64                           { return 0 }
