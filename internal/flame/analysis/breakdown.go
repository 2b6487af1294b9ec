package analysis

import (
	"cmp"
	"slices"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// breakdown is where the time of some threads went, by what they did.
type breakdown struct {
	threads    int
	lifetime   int64 // ns in the window, of all of them together
	onCPU      share
	notSampled share         // of it, what no sample tells the place of
	off        []reasonShare // at work, the longest first: what is neither a delay nor a wait for work
	runnable   share
	preempt    share
	idle       share
	unknown    share
	futex      int64  // ns of idle that is for a futex
	locked     int64  // of it, what is in a function that waits for a lock
	lock       string // one such function
	leftOut    int64  // ns of times off the CPU that Options.MinBlock left out
}

// share is a time and how often it was.
type share struct {
	ns    int64
	count uint64
}

// reasonShare is the time off the CPU for one reason.
type reasonShare struct {
	reason string
	share
}

func (s *share) add(w graph.Weight) {
	s.ns += w.Ns()
	s.count += w.Count
}

// breakDown sums up the threads that a view tells of.
func breakDown(p *profile.Profile, v *graph.View) breakdown {
	var b breakdown
	for _, t := range p.Threads {
		if v.Only == nil || v.Only(t) {
			b.add(p, t, v)
		}
	}
	slices.SortStableFunc(b.off, func(x, y reasonShare) int { return cmp.Compare(y.ns, x.ns) })
	return b
}

func (b *breakdown) add(p *profile.Profile, t *profile.Thread, v *graph.View) {
	told := int64(0)
	for i := range t.Cells {
		c := &t.Cells[i]
		w := v.Weight(c)
		b.in(c).add(w)
		told += w.Ns()
		switch {
		case c.Class == profile.ClassOnCPU && p.IsNotSampled(c.Stack):
			b.notSampled.add(w)
		case c.Class == profile.ClassIdle:
			b.addIdle(p, c.Stack, w.Ns())
		}
	}
	b.threads++
	if v.To > 0 { // how long a thread lived in a part of the window is known by what it did there only
		b.lifetime += told
		return
	}
	b.lifetime += t.Lifetime
	b.leftOut += max(0, t.Lifetime-told)
}

// in is the share that a cell's time belongs to.
func (b *breakdown) in(c *profile.Cell) *share {
	switch c.Class {
	case profile.ClassUnknown:
		return &b.unknown
	case profile.ClassOnCPU:
		return &b.onCPU
	case profile.ClassRunnable:
		return &b.runnable
	case profile.ClassPreempted:
		return &b.preempt
	case profile.ClassIdle:
		return &b.idle
	}
	reason := profile.Reason(c.Class, c.State)
	i := slices.IndexFunc(b.off, func(r reasonShare) bool { return r.reason == reason })
	if i < 0 {
		i = len(b.off)
		b.off = append(b.off, reasonShare{reason: reason})
	}
	return &b.off[i].share
}

// blocked is the time off the CPU at work, for all reasons.
func (b *breakdown) blocked() share {
	var all share
	for _, r := range b.off {
		all.ns += r.ns
		all.count += r.count
	}
	return all
}

// delay is the time in which threads could have run and did not.
func (b *breakdown) delay() share {
	return share{ns: b.runnable.ns + b.preempt.ns, count: b.runnable.count + b.preempt.count}
}

// total is the lifetime again, by what it is made of.
func (b *breakdown) total() int64 {
	return b.onCPU.ns + b.blocked().ns + b.delay().ns + b.idle.ns + b.unknown.ns + b.leftOut
}

// covered is the time at work, which coverage compares with the window. All of a thread's time adds up to its lifetime, so
// the whole of it would tell nothing: waits for work do not count, nor does what is not known or was left out.
func (b *breakdown) covered() int64 { return b.onCPU.ns + b.blocked().ns + b.delay().ns }

// coverage is the share of a window that its threads were at work, 1 for as long as one thread at work all the time.
func (b *breakdown) coverage(window int64) float64 { return part(b.covered(), window) }

// part is a share of a whole; 0 of nothing.
func part(ns, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(ns) / float64(of)
}

// window is how long what a view tells of was recorded, ns.
func windowOf(p *profile.Profile, v *graph.View) int64 {
	if v.To > 0 {
		return min(int64(v.To-v.From)*p.Slot, p.About.Window)
	}
	return p.About.Window
}
