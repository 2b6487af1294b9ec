//go:build linux

package bpf

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
)

// LossCause is the reason why records were not written.
type LossCause uint8

const (
	FullRing     LossCause = iota
	Nesting                // programs were nested deeper than there are scratch buffers
	LeftOut                // a limit left them out
	FullTable              // a table of a user-defined probe is full
	NoDefinition           // definitions that events of the kind refer to, not events
)

// LostDefinition in place of a kind means records that are no events: stacks, and arguments of an exec. A sample whose stack
// was lost is written without it.
const LostDefinition = 0

// Loss is the number of records of a kind that were not written on a CPU.
type Loss struct {
	CPU   int
	Kind  uint8  // enum rec_kind, or LostDefinition
	Type  uint32 // of events of sources: enum rec_type, or MISSING_TRACEPOINT for all tracepoints; 0: not known
	Cause LossCause
	Count uint32
	From  int64 // when the first of them was lost, CLOCK_MONOTONIC ns
}

// losses mirrors struct losses in ring.h.
type losses struct {
	from   uint64
	counts [ringdata.KindEvents]uint32
}

// lossCounters are the programs' own counters, one for each CPU, in memory shared with them.
type lossCounters struct {
	memory []byte
	cpus   []losses
}

func mapLosses(m *ebpf.Map) (*lossCounters, error) {
	n := int(m.MaxEntries())
	memory, err := unix.Mmap(m.FD(), 0, n*int(unsafe.Sizeof(losses{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the counts of losses: %w", err)
	}
	return &lossCounters{memory, unsafe.Slice((*losses)(unsafe.Pointer(&memory[0])), n)}, nil
}

func (l *lossCounters) close() error { return unix.Munmap(l.memory) }

// take returns and clears the counters by the protocol of report_losses in ring.h.
func (l *lossCounters) take(cause LossCause) []Loss {
	var taken []Loss
	for cpu := range l.cpus {
		c := &l.cpus[cpu]
		from := int64(atomic.SwapUint64(&c.from, 0))
		for kind := range c.counts {
			if n := atomic.SwapUint32(&c.counts[kind], 0); n != 0 {
				taken = append(taken, Loss{CPU: cpu, Kind: uint8(kind), Cause: cause, Count: n, From: from})
			}
		}
	}
	return taken
}

// TailLosses returns the losses that no record in a ring reports: because no later record fitted, or because the cause is
// nesting, for which there are no records; and what limits left out since it was last reported. They are complete after [Tracer.Disarm].
func (t *Tracer) TailLosses() []Loss {
	return slices.Concat(t.losses.take(FullRing), t.nestingLosses.take(Nesting), t.missing.take())
}
