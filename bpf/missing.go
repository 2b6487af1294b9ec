//go:build linux

package bpf

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/ringdata"
)

const (
	missingCauses = 3 // MISSING_CAUSES in missing.h
	// limitWindow is the longest window of a limit of more than one event: what a storm may write at once, and how soon what was left
	// out is reported.
	limitWindow = time.Second / 10
)

// MaxLimit is the highest rate of a limit, events a second.
const MaxLimit = 1_000_000_000

// limitOf returns the events of a rate that pass in each window of time, and its length.
func limitOf(perSecond uint32) (events uint32, window time.Duration) {
	events = max(1, uint32(uint64(perSecond)*uint64(limitWindow)/uint64(time.Second)))
	return events, time.Duration(uint64(events) * uint64(time.Second) / uint64(perSecond))
}

// setLimits sets the variables and the size of the map of limits.
func (o *Options) setLimits(spec *ebpf.CollectionSpec, cpus int) error {
	var events [ringdata.MissingTypeTypes]uint32
	var windows [ringdata.MissingTypeTypes]uint64
	for number, rate := range o.Limits {
		at := min(number, ringdata.MissingTypeTracepoint)
		if rate == 0 || rate > MaxLimit {
			return fmt.Errorf("a limit of %d events a second is not possible", rate)
		}
		passing, window := limitOf(rate)
		events[at], windows[at] = passing, uint64(window)
	}
	spec.Maps["missing"].MaxEntries = uint32(cpus * missingCauses)
	if len(o.Limits) > 0 {
		spec.Maps["limits"].MaxEntries = uint32(cpus)
	}
	return setVariables(spec, map[string]any{"sources_enabled": o.Sources != 0 || len(o.Tracepoints)+len(o.Probes)+len(o.PMU) > 0, "limit_events": events, "limit_window": windows})
}

// missing mirrors struct missing in missing.h.
type missing struct {
	from   uint64
	counts [ringdata.MissingTypeTypes]uint32
}

// missingCounters are the programs' own counters of missing records of sources, one for each CPU and cause.
type missingCounters struct {
	memory []byte
	all    []missing
}

// mapMissing returns nil if no program uses the map; m is then nil.
func mapMissing(m *ebpf.Map) (*missingCounters, error) {
	if m == nil {
		return nil, nil
	}
	n := int(m.MaxEntries())
	memory, err := mapShared(m, n*int(unsafe.Sizeof(missing{})))
	if err != nil {
		return nil, fmt.Errorf("map the counts of missing events: %w", err)
	}
	return &missingCounters{memory, unsafe.Slice((*missing)(unsafe.Pointer(&memory[0])), n)}, nil
}

// close releases them; c may be nil.
func (c *missingCounters) close() error {
	if c == nil {
		return nil
	}
	return unix.Munmap(c.memory)
}

// take returns and clears the counters by the protocol of report_missing in missing.h; c may be nil.
func (c *missingCounters) take() (taken []Loss) {
	if c == nil {
		return nil
	}
	for i := range c.all {
		m := &c.all[i]
		from := int64(atomic.SwapUint64(&m.from, 0))
		for number := range m.counts {
			n := atomic.SwapUint32(&m.counts[number], 0)
			if n == 0 {
				continue
			}
			l := Loss{CPU: i / missingCauses, Kind: uint8(format.KindTyped), Type: uint32(number), Count: n, From: from}
			switch i % missingCauses {
			case ringdata.MissingCauseLimit:
				l.Cause = LeftOut
			case ringdata.MissingCauseTable:
				l.Cause = FullTable
			}
			if number == LostDefinition {
				l.Cause = NoDefinition
			}
			taken = append(taken, l)
		}
	}
	return taken
}
