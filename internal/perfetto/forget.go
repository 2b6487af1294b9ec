package perfetto

import (
	"cmp"
	"slices"

	"wprof/format"
)

const (
	// maxThreads bounds how many threads are kept, and maxNames how many ids of threads: nothing makes a stream report the
	// end of a thread. As many are kept as package timeline keeps.
	maxThreads = 1 << 17
	maxNames   = 1 << 18
)

func (t *threads) areTooMany() bool { return t.named >= maxNames || len(t.byTID) >= t.most }

// forgetThreads forgets ids, which are then introduced again, and half of the threads if there are too many: those that have
// left a CPU for the last time, then those that were introduced first. Perfetto is told that they have ended, so that
// another one of the same tid is another one.
func (e *Encoder) forgetThreads(c *cpu) {
	t := &e.threads
	t.newSection()
	if c == nil || len(t.byTID) < t.most {
		return
	}
	running := make(map[*thread]bool)
	for _, c := range e.cpus {
		if c != nil {
			running[c.running] = true
		}
	}
	all := t.sorted()
	slices.SortStableFunc(all, func(a, b *thread) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.number, b.number))
	})
	left := len(all) / 2
	for _, one := range all {
		if left == 0 {
			break
		}
		if !one.isReal() || running[one] {
			continue
		}
		if one.rank() > 0 {
			t.forgotten++
		}
		if e.options.Sched {
			e.freeUnseen(c, one)
		}
		delete(t.byTID, one.tid)
		left--
	}
}

// rank is 0 of a thread that has ended, as the state tells in which it left its CPU.
func (t *thread) rank() int {
	if t.shown >= 0 && format.State(t.shown)&(format.StateDead|format.StateZombie) != 0 {
		return 0
	}
	return 1
}

// forgotten is how many threads were alive, as far as was known, when they were forgotten.
func (e *Encoder) forgotten() int64 {
	n := e.threads.forgotten
	if e.view != nil {
		n = max(n, e.view.spans.Timeline().Forgotten())
	}
	return n
}
