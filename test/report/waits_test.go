//go:build linux

package report

import (
	"math"
	"testing"

	"wprof/internal/waits"
)

const (
	shortest = 2_000_000 // ns of a wait that is compared; shorter ones may have no stack
	agree    = 0.98      // share of the time of waits that must have their class
	covered  = 0.9       // share of a thread's own waits, less those in capture.other, that must be in the capture; the rest is on a CPU
)

// checkWaits compares the classes of each thread's waits with what it waited for.
func checkWaits(t *testing.T, s *scenario) {
	if len(s.threads) == 0 {
		t.Fatal("the scenario has no threads")
	}
	for _, th := range s.threads {
		right, wrong, missed := th.compareWaits(s.capture)
		if float64(right) < agree*float64(right+sum(wrong)) {
			t.Errorf("%s %d: %d ns of its waits have the right class, others have the wrong ones: %v", th.name, th.tid, right, wrong)
		}
		if own := th.longWaits(s.capture) - missed; float64(right) < covered*float64(own)-shortest {
			t.Errorf("%s %d: it waited for %d ns, at least 4 ms each; the capture has %d ns", th.name, th.tid, own, right)
		}
	}
}

// compareWaits adds up the ns of a thread's waits that have the right class, and the others by what the capture says of them. Where a
// thread was is not known if it had been woken when the recorder looked, after the window's end.
func (th *thread) compareWaits(c *capture) (right int64, wrong map[string]int64, missed int64) {
	wrong = make(map[string]int64)
	for _, i := range c.offCPU[th.tid] {
		own := th.at((max(i.from, c.open) + i.to) / 2)
		ns := overlap(i.from, i.to, c.open, c.close)
		switch {
		case own == nil || ns < shortest:
		case own.class == i.class.String():
			right += ns
		case i.isOpen && !i.isPlaced && own.to != math.MaxInt64:
			missed += ns
		case i.class == waits.Lock && own.class == waits.Condition.String(): // pthread_cond_wait takes its mutex again
			missed += ns
		default:
			wrong[own.class+", not "+i.class.String()] += ns
		}
	}
	for _, i := range c.other[th.tid] { // preempted on its way back to the program, whose wait goes on meanwhile
		if ns := overlap(i.from, i.to, c.open, c.close); th.at((max(i.from, c.open)+i.to)/2) != nil {
			missed += ns
		}
	}
	return right, wrong, missed
}

func sum(all map[string]int64) (ns int64) {
	for _, one := range all {
		ns += one
	}
	return ns
}

// longWaits adds up the waits that are compared.
func (th *thread) longWaits(c *capture) (ns int64) {
	for _, s := range th.spans {
		if o := overlap(s.from, s.to, max(c.open, c.known[th.tid]), c.close); o >= 2*shortest {
			ns += o
		}
	}
	return ns
}

// checkShortReads expects that a thread that only reads a disk waits for nothing else, however short its waits are.
func checkShortReads(t *testing.T, s *scenario) {
	byClass := make(map[string]int64)
	for _, i := range s.capture.offCPU[s.threads[0].tid] {
		byClass[i.class.String()] += overlap(i.from, i.to, s.capture.open, s.capture.close)
	}
	disk, all := byClass[waits.Disk.String()]+byClass[waits.DiskRead.String()], sum(byClass)
	if byClass[waits.Disk.String()] == 0 || float64(disk) < agree*float64(all) {
		t.Errorf("the thread only reads a disk: %v", byClass)
	}
}
