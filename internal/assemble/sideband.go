package assemble

import (
	"maps"
	"slices"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/sideband"
	"wprof/internal/spool"
)

// sidebandApplier takes side-band records in the order of time: mappings into the tables, and the rest to where it belongs.
type sidebandApplier struct {
	*applier
	tables    *sideband.Tables
	r         sideband.Record
	last      map[uint32]int64  // by CPU: time of perf's previous record
	droppedAt int64             // when mappings of ended processes were last dropped
	since     map[uint32]int64  // by CPU: when its sampling was throttled
	jits      []jitSince        // known beforehand, by time
	kept      []sideband.Record // the same for files, kernel modules and jitdumps
	gathered  bool              // these are known
}

// jitSince is from when on a process has a map file of its generated code. The recorder finds the file late, often
// when the process ends, and its record has the time of the first such mapping.
type jitSince struct {
	at  int64
	pid uint32
}

// maxJits bounds jits; others apply from their record on.
const maxJits = 1 << 16

// dropEvery is how often, in ns of the recording, the mappings of ended processes are dropped.
const dropEvery = 5e9

func (s *sidebandApplier) take(b []byte, at int64) error {
	if _, length := merge.SidebandRecord(b, &s.r); length == 0 {
		return nil
	}
	since := s.previous(at)
	s.applyKept(at)
	switch r := &s.r; r.Kind {
	case sideband.KindCommand:
		s.commandAtStart(r.PID, r.Data, r.Cut)
	case sideband.KindLost:
		return s.lost(&spool.Loss{CPU: r.CPU, Kind: format.KindSample, Cause: format.CauseSideband, Count: r.Count, From: since}, at)
	case sideband.KindThrottled:
		s.throttled(r.CPU, at)
	case sideband.KindUnthrottled:
		return s.unthrottled(r.CPU, at)
	case sideband.KindFunction:
		s.code.programs.add(r)
	case sideband.KindFunctionGone:
		s.code.programs.remove(r)
	case sideband.KindCode:
		if !s.gathered {
			s.tables.Apply(r)
		}
	default:
		s.tables.Apply(r)
	}
	for len(s.jits) > 0 && s.jits[0].at <= at {
		s.tables.Apply(&sideband.Record{Kind: sideband.KindJIT, Time: s.jits[0].at, PID: s.jits[0].pid})
		s.jits = s.jits[1:]
	}
	if at-s.droppedAt > dropEvery {
		s.droppedAt = at
		s.tables.DropEnded(s.isProcessLive)
	}
	return nil
}

// applyKept applies what was read from files to mappings from a time on, and adds functions of kernel modules.
func (s *sidebandApplier) applyKept(at int64) {
	for len(s.kept) > 0 && s.kept[0].Time <= at {
		if r := &s.kept[0]; r.Kind == sideband.KindFunction {
			s.code.programs.add(r)
		} else {
			s.tables.Apply(r)
		}
		s.kept = s.kept[1:]
	}
}

// previous is the time of perf's last record of the same CPU: what perf could not write since is lost.
func (s *sidebandApplier) previous(at int64) (before int64) {
	switch s.r.Kind {
	case sideband.KindCommand, sideband.KindKept, sideband.KindJIT, sideband.KindCode, sideband.KindModule, sideband.KindMapped: // written by the recorder, not by perf
		return 0
	case sideband.KindFunction, sideband.KindFunctionGone:
		if len(s.r.Data) > 0 {
			return 0 // so are functions of kernel modules
		}
	}
	cpu := s.r.CPU
	if cpu > maxCPU {
		return 0
	}
	if s.last == nil {
		s.last = make(map[uint32]int64)
	}
	before = s.last[cpu]
	s.last[cpu] = at
	return before
}

// lost writes a loss within the window. Lost side-band records leave samples without names, and no switch is missing, so they
// are written as losses of samples.
func (s *sidebandApplier) lost(l *spool.Loss, at int64) error {
	if at < s.out.from {
		return nil
	}
	return s.out.lost(at, l)
}

func (s *sidebandApplier) throttled(cpu uint32, at int64) {
	if _, ok := s.since[cpu]; ok || cpu > maxCPU {
		return
	}
	if s.since == nil {
		s.since = make(map[uint32]int64)
	}
	s.since[cpu] = at
}

// maxCPU bounds what a damaged CPU number can cost: records of the rings have 16 bits for CPUs.
const maxCPU = 1<<16 - 1

// unthrottled writes how long the kernel did not sample on a CPU, when that is over.
func (s *sidebandApplier) unthrottled(cpu uint32, at int64) error {
	from, ok := s.since[cpu]
	if !ok {
		return nil
	}
	delete(s.since, cpu)
	return s.lost(&spool.Loss{CPU: cpu, Kind: format.KindSample, Cause: format.CauseThrottle, From: from}, at)
}

// finish writes losses of CPUs that are still throttled at the end.
func (s *sidebandApplier) finish(end int64) error {
	for _, cpu := range slices.Sorted(maps.Keys(s.since)) {
		if err := s.unthrottled(cpu, end); err != nil {
			return err
		}
	}
	return nil
}

// missing writes a loss of side-band records that the spool has lost.
func (s *sidebandApplier) missing(from, at int64) error {
	return s.lost(&spool.Loss{CPU: format.AllCPUs, Kind: format.KindSample, Cause: format.CauseSpool, From: from}, at)
}
