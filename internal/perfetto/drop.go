package perfetto

import (
	"cmp"
	"slices"

	"wprof/format"
)

// maxThreads bounds the threads that are kept: a stream need not report the end of a thread. Package timeline keeps as many.
const maxThreads = 1 << 17

// dropThreads drops half of the threads: first those that have left a CPU for the last time, then those that were introduced
// first. The trace ends them, so that a later thread with the same tid is another one.
func (e *encoder) dropThreads(c *cpu) {
	if c == nil {
		return
	}
	t := e.threads
	t.generation++
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
			t.droppedThreads++
		}
		if e.options.Sched {
			e.freeUnseen(c, one)
		}
		t.remove(one.tid)
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
