//go:build linux

package e2e

import (
	"math"
	"slices"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// interval is between two times of CLOCK_MONOTONIC, ns.
type interval struct{ from, to int64 }

// apart is how far the start of an event may be from the moment at which the kernel counts it, ns: a hypervisor may take the CPU away in
// between.
const apart = int64(5e6)

// hiddenIn returns when threads of process 1 ran: some virtual machines' kernels run no programs for what interrupts them
// (docs/kernels.md). Each lasts from the switch to the thread until the next switch on the CPU.
func hiddenIn(t *testing.T, file string) (hidden []interval) {
	t.Helper()
	since := map[uint32]int64{}
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindSwitch {
			return
		}
		if from, runs := since[e.CPU]; runs {
			hidden = append(hidden, interval{from, e.Time})
			delete(since, e.CPU)
		}
		if r.Task(e.Switch().Next()).GetPid() == 1 {
			since[e.CPU] = e.Time
		}
	})
	for _, from := range since {
		hidden = append(hidden, interval{from, math.MaxInt64})
	}
	return hidden
}

// comparable returns the first and the last of reads of the kernel's counts between which nothing is hidden, where there are some between
// them: between reads that follow each other at once, no event is surely between them.
func comparable(t *testing.T, reads, hidden []interval) (runs [][2]int) {
	t.Helper()
	compared := 0
	for first := 0; first < len(reads); {
		last := first
		for last+1 < len(reads) && !slices.ContainsFunc(hidden, func(h interval) bool {
			return h.from < reads[last+1].to+apart && h.to > reads[last].from-apart
		}) {
			last++
		}
		if last-first >= 5 {
			runs = append(runs, [2]int{first, last})
			compared += last - first
		}
		first = last + 1
	}
	if compared < len(reads)/10 {
		t.Errorf("only %d of %d reads could be compared: threads of process 1 ran between the others", compared, len(reads))
	}
	return runs
}
