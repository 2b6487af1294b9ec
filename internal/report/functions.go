package report

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/timeline"
)

// A timer samples every CPU at equal distances, so that each sample stands for the same time on the CPU: a function has the share of
// all threads' on-CPU time that it has of their samples.

// addSample counts where a thread was on the CPU.
func (c *Collector) addSample(e *format.Event) {
	if e.Flags&format.FlagSubject == 0 {
		return
	}
	of := c.spans.Timeline().Thread(e.Task)
	if of == nil || of.Idle() || of.Status == timeline.Dead {
		return
	}
	t := c.thread(of)
	if t.who = c.whoIs(e.Task); !t.who.isSelected {
		return
	}
	p := c.calls.sample(e.Sample().Stack())
	if of.Status != timeline.Running {
		c.countSample(t, p)
		return
	}
	if len(t.pending) == maxPending && c.spans.HasInterrupts() {
		before, next := t.pending[maxPending/2-1].at, t.pending[maxPending/2].at
		c.spans.EmitThread(of, before+(next-before)/2)
	}
	if len(t.pending) == maxPending { // there is no interrupt, or the thread is not known to run
		c.countSample(t, t.pending[0].place)
		t.pending = t.pending[:copy(t.pending, t.pending[1:])]
	}
	t.pending = append(t.pending, pending{e.Happened(), p})
}

// countSample counts a sample of a thread.
func (c *Collector) countSample(t *thread, p place) {
	for _, to := range t.into {
		to.byNode[p.node]++
		to.samples++
	}
	t.samples++
	if p.fault {
		t.faults++
	}
}

// called are the samples of a function, and of its callers.
type called struct {
	self, total uint64
	callers     map[uint32]uint64
}

// functionTable returns the functions with the most samples of their own.
func (o *totals) functionTable() []Function {
	c, all := o.c, o.countCalls()
	ids := make([]uint32, 0, len(all))
	for id, f := range all {
		if f.self > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(all[b].self, all[a].self), cmp.Compare(all[b].total, all[a].total), cmp.Compare(c.calls.nameOf(a), c.calls.nameOf(b)), cmp.Compare(a, b))
	})
	rows := []Function{}
	for _, id := range ids[:min(c.o.Limit, len(ids))] {
		f := all[id]
		rows = append(rows, Function{
			Name: c.calls.nameOf(id), Self: Share(f.self, o.samples), Total: Share(f.total, o.samples),
			SelfNs: o.partOfCPU(f.self), TotalNs: o.partOfCPU(f.total), Callers: c.callersOf(f),
		})
	}
	return rows
}

// countCalls adds up the samples by function. A function that is in a stack more than once counts once.
func (o *totals) countCalls() map[uint32]*called {
	calls := o.c.calls
	all := make(map[uint32]*called)
	at := func(id uint32) *called {
		f := all[id]
		if f == nil {
			f = &called{callers: make(map[uint32]uint64)}
			all[id] = f
		}
		return f
	}
	seen := make(map[uint32]bool)
	for id, n := range o.byNode {
		if id == 0 {
			continue
		}
		clear(seen)
		at(calls.nodes[id].function).self += n
		for up := id; up != 0; up = calls.nodes[up].parent {
			f := calls.nodes[up].function
			if seen[f] {
				continue
			}
			seen[f] = true
			one := at(f)
			one.total += n
			if parent := calls.nodes[up].parent; parent != 0 && calls.nodes[parent].function != f {
				one.callers[calls.nodes[parent].function] += n
			}
		}
	}
	return all
}

// maxCallers bounds the callers that are listed of a function.
const maxCallers = 3

func (c *Collector) callersOf(f *called) []Caller {
	ids := make([]uint32, 0, len(f.callers))
	for id := range f.callers {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(f.callers[b], f.callers[a]), cmp.Compare(c.calls.nameOf(a), c.calls.nameOf(b)))
	})
	callers := []Caller{}
	for _, id := range ids[:min(maxCallers, c.o.Limit, len(ids))] {
		callers = append(callers, Caller{c.calls.nameOf(id), Share(f.callers[id], f.total)})
	}
	return callers
}

// partOfCPU returns the on-CPU time that a number of samples stands for.
func (o *totals) partOfCPU(samples uint64) int64 {
	return int64(Share(samples, o.samples) * float64(o.time[classOnCPU].ns))
}

// Share returns n as a share of a whole; 0 if that is 0.
func Share[T int64 | uint64](n, of T) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}
