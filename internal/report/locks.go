package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// lockKey identifies a lock: by its address in a process, by its path, or by the function of the kernel that takes it in a process.
type lockKey struct {
	pid    int32
	futex  uint64
	object uint32 // a path; 0: none
	site   uint32 // of a lock without address and path
	kernel bool
	// monitor: a monitor of Java entered in site. Its waiting threads have a futex each, so that which monitor it is does not show.
	monitor bool
}

// lock is what threads waited for one lock.
type lock struct {
	key       lockKey
	process   uint32
	name      uint32
	waits     Part
	longest   int64
	owners    parts // that woke
	waiters   parts
	sites     parts
	ownerTime parts
	behind    map[*lock]int64 // locks for which its owners waited meanwhile, ns
	isRing    bool            // its waiters are in a ring
}

type lockTable struct {
	all  map[lockKey]*lock
	rest lock // those beyond the limit
	open []openWait
}

// openWait is a wait for a lock that had not ended when the window closed.
type openWait struct {
	waiter *thread
	interval
	owner int32 // as the lock says; 0: not known
	site  uint32
}

const (
	maxLocks  = 1 << 13
	maxBehind = 8
	maxOpen   = 1 << 14
)

func (l *lockTable) init() { l.all = make(map[lockKey]*lock) }

func (l *lockTable) at(key lockKey) *lock {
	one := l.all[key]
	if one == nil {
		if len(l.all) >= maxLocks {
			return &l.rest
		}
		one = &lock{key: key}
		l.all[key] = one
	}
	return one
}

// addLock adds a wait for a lock, and sets the lock of the interval.
func (c *collector) addLock(t *thread, s *timeline.Span, at place, one *interval) {
	w, waker := c.r.Wait(s.Wait), c.names.text[one.waker]
	key := lockKey{pid: t.who.pid, kernel: one.class == waits.KernelLock}
	switch {
	case key.kernel:
		key.site = at.kernelSite
	case at.monitor:
		key.site, key.monitor = at.site, true
	case w.GetIsFutex():
		key.futex = lockAddress(w)
	case one.object != 0:
		key.object, key.pid = one.object, 0
	default:
		key.site = at.site
	}
	l := c.locks.at(key)
	one.lock = l
	l.process, l.name = t.who.process, one.object
	ns := s.To - s.From
	l.waits.add(ns, 1)
	l.longest = max(l.longest, ns)
	l.waiters.add(c.names.thread(t.who), ns, 1)
	l.sites.add(c.functionOf(at.site, at.caller), ns, 1)
	if s.Open {
		if len(c.locks.open) < maxOpen {
			c.locks.open = append(c.locks.open, openWait{t, *one, w.GetOwner(), at.site})
		}
		return
	}
	if waker == "" || waker == interruptName {
		return
	}
	if of := c.spans.Timeline().Thread(s.Off.Waker); of != nil && !of.Idle() {
		l.addOwner(c, c.thread(of), waker, s.From, s.To)
		return
	}
	l.owners.add(waker, ns, 1)
}

// lockAddress returns the address of a lock. The C library's condition variables and read-write locks, of which other locks are made, have
// two futexes next to each other.
func lockAddress(w *format.Wait) uint64 {
	const waitBitset = 9 // FUTEX_WAIT_BITSET
	if w.FutexOp&127 == waitBitset {
		return w.Futex &^ 7
	}
	return w.Futex
}

// earlierOwners had a lock while a thread waited for it, before the one that woke it.
const earlierOwners = "earlier owners"

// addOwner adds who had a lock while another thread waited for it, and what the latest owner did since it got the lock: its times off-CPU;
// the rest it ran.
func (l *lock) addOwner(c *collector, owner *thread, name string, from, to int64) {
	got := from
	for i := range owner.recent {
		if r := &owner.recent[i]; r.lock == l && r.to <= to {
			got = max(got, r.to)
		}
	}
	l.owners.add(name, to-got, 1)
	if got > from {
		l.owners.add(earlierOwners, got-from, 1)
	}
	from = got
	left := to - from
	for i := range owner.recent {
		r := &owner.recent[i]
		ns := min(r.to, to) - max(r.from, from)
		if ns <= 0 {
			continue
		}
		left -= ns
		l.ownerTime.add(c.labelOf(r), ns, 1)
		if r.lock != nil && r.lock != l {
			l.addBehind(r.lock, ns)
		}
	}
	if left > 0 {
		l.ownerTime.add("on-CPU", left, 1)
	}
}

func (l *lock) addBehind(other *lock, ns int64) {
	if l.behind == nil {
		l.behind = make(map[*lock]int64)
	}
	if _, found := l.behind[other]; found || len(l.behind) < maxBehind {
		l.behind[other] += ns
	}
}

// labelOf returns the class and object of an interval: "lock 0x7f10".
func (c *collector) labelOf(r *interval) string {
	return strings.TrimSpace(r.class.String() + " " + c.names.text[r.object])
}

// functionOf names a function and its caller.
func (c *collector) functionOf(site, caller uint32) string {
	name := c.calls.nameOf(site)
	if caller == 0 {
		return name
	}
	key := [2]uint32{site, caller}
	if known, found := c.called[key]; found {
		return known
	}
	if len(c.called) >= maxTable {
		clear(c.called)
	}
	name += " < " + c.calls.nameOf(caller)
	c.called[key] = name
	return name
}

// ring is a number of threads each of which waits for a lock that the next one has.
type ring struct {
	pid     int32
	process uint32
	members []openWait
}

// closeLocks adds what is known of waits for locks that last to the end of the window, and finds rings of them.
func (c *collector) closeLocks() {
	if len(c.locks.open) == 0 {
		return
	}
	threads, byTID := c.threadsByTID(), make(map[int32]*openWait)
	for i := range c.locks.open {
		one := &c.locks.open[i]
		byTID[one.waiter.who.tid] = one
	}
	for i := range c.locks.open {
		one := &c.locks.open[i]
		if one.owner == 0 || one.lock == nil {
			continue
		}
		owner := threads[tidIn{one.waiter.who.pid, one.owner}]
		if owner == nil {
			one.lock.owners.add(fmt.Sprintf("(%d)", one.owner), one.to-one.from, 1)
			continue
		}
		one.owner = owner.who.tid
		one.lock.addOwner(c, owner, c.names.thread(owner.who), one.from, one.to)
	}
	c.rings = append(c.rings, findRings(c.locks.open, byTID)...)
	c.locks.open = c.locks.open[:0]
}

// tidIn is a thread as a lock of its process names it.
type tidIn struct{ pid, tid int32 }

// threadsByTID returns the threads of the processes that wait for locks, by their tids in their own PID namespaces.
func (c *collector) threadsByTID() map[tidIn]*thread {
	wanted := make(map[int32]bool)
	for i := range c.locks.open {
		wanted[c.locks.open[i].waiter.who.pid] = true
	}
	all := make(map[tidIn]*thread)
	for _, t := range c.threads {
		if d := t.of.Def; wanted[t.who.pid] && t.of.Status != timeline.Dead {
			all[tidIn{t.who.pid, cmp.Or(d.GetNsTid(), d.GetTid())}] = t
		}
	}
	return all
}

// leastRing is how long the threads of a ring have waited at least: the word of a lock says who had it when the wait began, and another
// thread may have had it since, for a moment.
const leastRing = int64(50e6)

// findRings returns the rings among waits.
func findRings(all []openWait, byTID map[int32]*openWait) []ring {
	var rings []ring
	state := make(map[int32]int) // number of the walk that has seen a thread
	for walk := range all {
		var path []*openWait
		for at := &all[walk]; at != nil && state[at.waiter.who.tid] == 0; at = byTID[at.owner] {
			state[at.waiter.who.tid] = walk + 1
			path = append(path, at)
		}
		if len(path) == 0 {
			continue
		}
		back := slices.IndexFunc(path, func(w *openWait) bool { return w.waiter.who.tid == path[len(path)-1].owner })
		if back < 0 {
			continue
		}
		if slices.ContainsFunc(path[back:], func(w *openWait) bool { return w.to-w.from < leastRing }) {
			continue
		}
		r := ring{pid: path[back].waiter.who.pid, process: path[back].waiter.who.process}
		for _, w := range path[back:] {
			if w.lock != nil {
				w.lock.isRing = true
			}
			r.members = append(r.members, *w)
		}
		if slices.ContainsFunc(r.members, func(w openWait) bool { return w.waiter.who.isSelected }) {
			rings = append(rings, r)
		}
	}
	return rings
}

// lockName names a lock.
func (c *collector) lockName(l *lock) string {
	switch {
	case l.key.futex != 0:
		return fmt.Sprintf("%#x", l.key.futex)
	case l.key.object != 0:
		return c.names.text[l.key.object]
	case l.key.monitor:
		return "Java monitors entered in " + c.calls.nameOf(l.key.site)
	case l.key.site != 0:
		return c.calls.nameOf(l.key.site)
	}
	return "?"
}

// sortedLocks returns the locks, the longest waits first.
func (c *collector) sortedLocks() []*lock {
	all := make([]*lock, 0, len(c.locks.all))
	for _, l := range c.locks.all {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *lock) int {
		return cmp.Or(cmp.Compare(b.waits.Ns, a.waits.Ns), cmp.Compare(a.key.pid, b.key.pid), cmp.Compare(a.key.futex, b.key.futex), cmp.Compare(a.key.site, b.key.site), cmp.Compare(a.key.object, b.key.object))
	})
	return all
}

func (c *collector) lockRows() []Lock {
	rows := []Lock{}
	all := c.sortedLocks()
	for _, l := range all[:min(c.o.Limit, len(all))] {
		rows = append(rows, Lock{
			Object: c.lockName(l), Kernel: l.key.kernel, Process: c.names.text[l.process], PID: l.key.pid, Waits: l.waits.Count, Ns: l.waits.Ns, LongestNs: l.longest,
			Owners: l.owners.sorted(c.o.Limit), Waiters: l.waiters.sorted(c.o.Limit), Functions: l.sites.sorted(c.o.Limit), OwnerTime: l.ownerTime.sorted(c.o.Limit),
			Chain: c.chainOf(l),
		})
	}
	return rows
}

// chainOf returns the locks for which the owners of a lock wait, in turn: most of their time each.
func (c *collector) chainOf(l *lock) string {
	var names []string
	seen := map[*lock]bool{}
	for ; l != nil && !seen[l]; l = l.next() {
		seen[l] = true
		names = append(names, c.lockName(l))
	}
	switch {
	case len(names) < 2 && l == nil:
		return ""
	case l != nil: // a ring
		names = append(names, c.lockName(l))
	}
	return strings.Join(names, " <- ")
}

// next returns the lock for which the owners of this one wait most; nil: they hardly wait for any.
func (l *lock) next() (most *lock) {
	best := l.waits.Ns / 10
	for other, ns := range l.behind {
		if ns > best || ns == best && most != nil && other.key.futex < most.key.futex {
			best, most = ns, other
		}
	}
	return most
}
