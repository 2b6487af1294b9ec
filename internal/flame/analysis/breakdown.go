package analysis

import (
	"cmp"
	"slices"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/waits"
)

// breakdown is the time of some threads by what they did.
type breakdown struct {
	threads  int
	lifetime int64           // ns in the window, of all of them together
	lives    map[int32]int64 // of each process, ns of its thread that was there for longest
	onCPU    share
	sampling profile.Quality // of onCPU
	off      []reasonShare   // blocked, except waits for work; the longest first
	runnable share
	preempt  share
	idle     share
	unknown  share
	locks    int64 // ns of off: waits for locks
	leftOut  int64 // ns of off-CPU intervals that Options.MinBlock left out
}

// share is a time, ns, and a count.
type share struct {
	ns    int64
	count uint64
}

// reasonShare is the off-CPU time for one reason.
type reasonShare struct {
	reason string
	share
}

func (s *share) add(w graph.Weight) {
	s.ns += w.Ns()
	s.count += w.Times()
}

// breakDown sums up the threads of a view.
func breakDown(p *profile.Profile, v *graph.View) breakdown {
	var b breakdown
	for t := range v.Threads(p) {
		b.add(p, t, v)
	}
	b.sampling = v.Sampling(p)
	slices.SortStableFunc(b.off, func(x, y reasonShare) int { return cmp.Compare(y.ns, x.ns) })
	return b
}

func (b *breakdown) add(p *profile.Profile, t *profile.Thread, v *graph.View) {
	shown := int64(0)
	for i := range t.Cells {
		c := &t.Cells[i]
		w := v.Weight(c)
		b.in(c).add(w)
		shown += w.Ns()
		if c.Class == profile.ClassBlocked && (c.Wait.Class == waits.Lock || c.Wait.Class == waits.KernelLock) {
			b.locks += w.Ns()
		}
	}
	b.threads++
	lifetime := t.Lifetime
	if v.To > 0 { // within part of the window it is known only as the sum of times there
		lifetime = shown
	}
	b.lifetime += lifetime
	b.leftOut += max(0, lifetime-shown)
	if b.lives == nil {
		b.lives = make(map[int32]int64)
	}
	b.lives[t.PID] = max(b.lives[t.PID], lifetime)
}

// lived returns for how much of the window there were threads. With several processes, which may follow each other or not, it may be less.
func (b *breakdown) lived(window int64) (sum int64) {
	for _, ns := range b.lives {
		sum += ns
	}
	return min(sum, window)
}

// in returns the share that a cell's time belongs to.
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
	reason := c.Reason()
	i := slices.IndexFunc(b.off, func(r reasonShare) bool { return r.reason == reason })
	if i < 0 {
		i = len(b.off)
		b.off = append(b.off, reasonShare{reason: reason})
	}
	return &b.off[i].share
}

// blocked returns the blocked time without waits for work, for all reasons.
func (b *breakdown) blocked() share {
	var all share
	for _, r := range b.off {
		all.ns += r.ns
		all.count += r.count
	}
	return all
}

// delay returns the time in which threads were runnable but not running.
func (b *breakdown) delay() share {
	return share{ns: b.runnable.ns + b.preempt.ns, count: b.runnable.count + b.preempt.count}
}

// total returns the sum of all parts: the lifetime.
func (b *breakdown) total() int64 {
	return b.onCPU.ns + b.blocked().ns + b.delay().ns + b.idle.ns + b.unknown.ns + b.leftOut
}

// covered returns the time at work, of which coverage is the share of the window. It excludes waits for work, unknown time and time
// that was left out: with these, every thread's time adds up to its lifetime.
func (b *breakdown) covered() int64 { return b.onCPU.ns + b.blocked().ns + b.delay().ns }

// coverage returns the time at work as a share of the window: 1 for one thread that is at work all the time.
func (b *breakdown) coverage(window int64) float64 { return part(b.covered(), window) }

// part returns ns as a share of a whole; 0 if that is 0.
func part(ns, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(ns) / float64(of)
}

// windowOf returns the length of the recorded time that a view covers, ns.
func windowOf(p *profile.Profile, v *graph.View) int64 {
	if v.To > 0 {
		return min(int64(v.To-v.From)*p.Slot, p.About.Window)
	}
	return p.About.Window
}
