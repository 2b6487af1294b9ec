package perfetto

import (
	"cmp"
	"slices"

	"wprof/format"
)

const (
	// maxThreads bounds the threads that are kept, and maxNames the ids of threads: a stream need not report the end of a
	// thread. Package timeline keeps as many.
	maxThreads = 1 << 17
	maxNames   = 1 << 18
)

func (t *threads) areTooMany() bool { return t.named >= maxNames || len(t.byTID) >= t.most }

// forgetThreads drops all ids, which are then written again when used, and half of the threads if there are too many: first
// those that have left a CPU for the last time, then those that were written first. The trace ends them, so that a later
// thread with the same tid is another one.
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

// rank is 0 for a thread that has ended, by the state in which it left its CPU.
func (t *thread) rank() int {
	if t.shown >= 0 && format.State(t.shown)&(format.StateDead|format.StateZombie) != 0 {
		return 0
	}
	return 1
}

// forgotten counts the threads that were dropped while alive, as far as known.
func (e *Encoder) forgotten() int64 {
	n := e.threads.forgotten
	if e.view != nil {
		n = max(n, e.view.spans.Timeline().Forgotten())
	}
	return n
}
