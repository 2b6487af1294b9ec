package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// lockKey identifies a lock: by its address in a process, by its file, or by the function of the kernel that takes it in a process.
type lockKey struct {
	pid    int32 // 0: of a file, which processes share
	futex  uint64
	device uint64 // of a file
	inode  uint64
	path   uint32 // of a file of which these are not known
	site   uint32 // of a lock without address and file
	kernel bool
	// monitor: a monitor of Java entered in site. Its waiting threads have a futex each, so that which monitor it is does not show.
	monitor bool
}

// lock is a lock for which threads waited.
type lock struct {
	lockKey
	name   uint32     // address or path; 0: it has none
	passed []handover // the latest recentHandovers
	next   int        // in passed
	isGIL  bool       // of a Python interpreter
	// semaphore says of a semaphore whether it is a lock; nil: it is none.
	semaphore *waits.Semaphore
}

// handover is the end of a wait for a lock: until then, and from the handover before, the thread that ended the wait had the lock.
type handover struct {
	by *thread // nil: not known
	at int64
}

const recentHandovers = 16

// holders finds threads by the tid that a lock names.
type holders struct {
	byTID map[int32]*thread
	among int // how many threads there were
}

// of returns the thread of a tid; nil: it is not known.
func (h *holders) of(c *Collector, tid int32) *thread {
	t := h.byTID[tid]
	if t != nil && t.of.Status != timeline.Dead || tid == 0 {
		return t
	}
	if h.among == len(c.threads) {
		return nil
	}
	h.byTID, h.among = make(map[int32]*thread, len(c.threads)), len(c.threads)
	for _, t := range c.threads {
		if t.of.Status != timeline.Dead {
			h.byTID[t.of.Def.GetTid()] = t
		}
	}
	return h.byTID[tid]
}

func (l *lock) wasPassed(since int64) bool {
	return slices.ContainsFunc(l.passed, func(h handover) bool { return h.at > since })
}

func (l *lock) pass(by *thread, at int64) {
	if len(l.passed) < recentHandovers {
		l.passed = append(l.passed, handover{by, at})
		return
	}
	l.passed[l.next%recentHandovers] = handover{by, at}
	l.next++
}

// lockSum is what threads waited for one lock.
type lockSum struct {
	of        *lock
	process   uint32 // of the latest waiter
	pid       int32  // of all waiters; 0: several
	waits     Part
	longest   int64
	owners    parts // that had it meanwhile
	waiters   parts
	sites     parts
	ownerTime parts
	behind    map[*lock]int64 // locks for which its owners waited meanwhile, ns
	isRing    bool            // its waiters are in a ring
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

// lockOf returns the lock of a wait; nil: there are too many.
func (c *Collector) lockOf(t *thread, s *timeline.Span, one *interval) *lock {
	w, at := c.r.Wait(s.Wait), c.calls.wait(s.Stack)
	key := lockKey{pid: t.who.pid, kernel: one.class == waits.KernelLock}
	switch {
	case key.kernel:
		key.site = at.kernelSite
	case at.monitor:
		key.site, key.monitor = at.site, true
	case w.GetIsFutex():
		key.futex = lockAddress(w, at)
	case one.object != 0:
		key.pid = 0
		if key.device, key.inode = w.GetDevice(), w.GetInode(); key.inode == 0 {
			key.path = one.object
		}
	default:
		key.site = at.site
	}
	l := c.locks[key]
	if l == nil && len(c.locks) < maxLocks {
		l = &lock{lockKey: key}
		switch {
		case one.class == waits.GIL:
			l.isGIL, l.name = true, c.names.id("GIL")
		case key.futex != 0:
			l.name = c.names.id(fmt.Sprintf("%#x", key.futex))
		case key.inode != 0 || key.path != 0:
			l.name = one.object
		}
		c.locks[key] = l
	}
	return l
}

// addLock adds a wait for a lock.
func (c *Collector) addLock(t *thread, s *timeline.Span, at place, one *interval) {
	owner := c.endLockWait(t, s, one)
	ns, waker := s.To-s.From, c.names.text[one.waker]
	for _, to := range t.into {
		l := to.lock(one.lock)
		l.addWaiter(t.who)
		l.waits.add(ns, 1)
		l.longest = max(l.longest, ns)
		l.waiters.add(c.names.thread(t.who), ns, 1)
		l.sites.add(c.functionOf(at.site, at.caller), ns, 1)
		switch {
		case one.class == waits.GIL && !s.Open:
			l.addOwner(c, owner, s.From, s.To)
		case s.Open || waker == "" || isInterrupt(waker):
		case owner != nil:
			l.addOwners(c, owner, s.From, s.To)
		default:
			l.owners.add(waker, ns, 1)
		}
	}
}

// addWaiter adds whose wait comes next.
func (l *lockSum) addWaiter(w *who) {
	switch {
	case l.waits.Count == 0:
		l.pid = w.pid
	case l.pid != w.pid:
		l.pid = 0
	}
	l.process = w.process
}

// endLockWait keeps of a wait for a lock what explains other threads' waits, and returns the thread that ended it; nil: not known.
func (c *Collector) endLockWait(t *thread, s *timeline.Span, one *interval) *thread {
	isSemaphore := one.lock.semaphore != nil
	switch {
	case s.Open && isSemaphore:
		return nil
	case s.Open:
		c.addOpen(t, s, one)
		return nil
	case one.class == waits.GIL: // a wait ends every few ms, whether or not another thread has given it away
		return c.holders.of(c, c.r.Wait(s.Wait).GetOwner())
	}
	owner := c.ownerAtEnd(s)
	switch {
	case owner == nil:
	case isSemaphore:
		one.lock.semaphore.Add(t.who.tid, owner.who.tid, s.From, s.To)
	case waits.HadFromStart(c.r.Wait(s.Wait), owner.of.Def):
		owner.sleeps.Hold(s.From, s.To)
	}
	one.lock.pass(owner, s.To)
	return owner
}

// ownerAtEnd returns the thread that ended a wait for a lock, which had it; nil: there is none, or it is not known.
func (c *Collector) ownerAtEnd(s *timeline.Span) *thread {
	of := c.spans.Timeline().Thread(s.Off.Waker)
	if s.Off.Woken == 0 || s.Off.WokenIRQ || of == nil || of.Idle() {
		return nil
	}
	return c.thread(of)
}

// addSemaphore adds a wait for a semaphore, which counts as a lock if threads pass it on to each other.
func (c *Collector) addSemaphore(t *thread, s *timeline.Span, at place, one interval) {
	one.lock = c.lockOf(t, s, &one)
	if one.lock == nil {
		return
	}
	if one.lock.semaphore == nil {
		one.lock.semaphore = new(waits.Semaphore)
	}
	t.sleeps.AddSemaphore(one.lock.semaphore, s.To-s.From)
	c.addLock(t, s, at, &one)
}

// addOpen keeps a wait for a lock that has not ended. The word from which the owner comes may be of anything that looks like a mutex, such
// as a thread's own parking place with its tid: only in a mutex is it the thread itself.
func (c *Collector) addOpen(t *thread, s *timeline.Span, one *interval) {
	if len(c.open) >= maxOpen {
		return
	}
	owner, at := c.r.Wait(s.Wait).GetOwner(), c.calls.wait(s.Stack)
	if owner == t.who.tid && !at.mutex {
		owner = 0
	}
	c.open = append(c.open, openWait{t, *one, owner, at.site})
}

func (o *totals) lock(of *lock) *lockSum {
	l := o.locks[of]
	if l == nil {
		l = &lockSum{of: of}
		o.locks[of] = l
	}
	return l
}

// lockAddress returns the address of a lock. The C library's condition variables and read-write locks, of which other locks are made, have
// two futexes next to each other.
func lockAddress(w *format.Wait, at place) uint64 {
	if at.pair {
		return w.Futex &^ 7
	}
	return w.Futex
}

// unknownOwners had a lock while a thread waited for it, and are not known.
const unknownOwners = "not known"

// addOwners adds who had a lock while a thread waited for it, one after the other; last had it in the end.
func (l *lockSum) addOwners(c *Collector, last *thread, from, to int64) {
	passed := l.of.passed
	for i := range passed {
		h := passed[(l.of.next+i)%len(passed)]
		if h.at <= from || h.at >= to {
			continue
		}
		if i == 0 && len(passed) == recentHandovers {
			h.by = nil // others may have had it before
		}
		l.addOwner(c, h.by, from, h.at)
		from = h.at
	}
	l.addOwner(c, last, from, to)
}

// addOwner adds a time in which a thread, nil if it is not known, had a lock, and what the thread did meanwhile, as far as that is still known:
// its times off-CPU; the rest it ran.
func (l *lockSum) addOwner(c *Collector, owner *thread, from, to int64) {
	if owner == nil {
		l.owners.add(unknownOwners, to-from, 1)
		return
	}
	l.owners.add(c.names.thread(owner.who), to-from, 1)
	if len(owner.recent) == recentWaits {
		from = max(from, owner.recent[owner.next%recentWaits].from)
	}
	if owner.of.Status != timeline.Running {
		to = min(to, owner.knownTo())
	}
	left := to - from
	for i := range owner.recent {
		r := &owner.recent[i]
		ns := min(r.to, to) - max(r.from, from)
		if ns <= 0 {
			continue
		}
		left -= ns
		l.ownerTime.add(c.labelOf(r), ns, 1)
		if r.lock != nil && r.lock != l.of {
			l.addBehind(r.lock, ns)
		}
	}
	if left > 0 {
		l.ownerTime.add(OnCPU, left, 1)
	}
}

// knownTo returns the end of the thread's latest time off-CPU.
func (t *thread) knownTo() (to int64) {
	for i := range t.recent {
		to = max(to, t.recent[i].to)
	}
	return to
}

func (l *lockSum) addBehind(other *lock, ns int64) {
	if l.behind == nil {
		l.behind = make(map[*lock]int64)
	}
	if _, found := l.behind[other]; found || len(l.behind) < maxBehind {
		l.behind[other] += ns
	}
}

// labelOf returns the class and object of an interval: "lock 0x7f10".
func (c *Collector) labelOf(r *interval) string {
	return strings.TrimSpace(r.class.String() + " " + c.names.text[r.object])
}

// functionOf names a function and its caller.
func (c *Collector) functionOf(site, caller uint32) string {
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
func (c *Collector) closeLocks() {
	if len(c.open) == 0 {
		return
	}
	threads, byTID := c.openOwners(), make(map[int32]*openWait)
	for i := range c.open {
		one := &c.open[i]
		byTID[one.waiter.who.tid] = one
	}
	for i := range c.open {
		one := &c.open[i]
		if one.owner == 0 {
			continue
		}
		owner := threads[one.owner]
		if owner != nil && waitsFor(byTID[owner.who.tid], one) {
			one.owner = 0 // it had the lock when this wait began, and does not have it any more
			continue
		}
		if owner != nil {
			owner.sleeps.Hold(one.from, one.to)
		}
		for _, to := range one.waiter.selected() {
			l := to.lock(one.lock)
			if owner == nil {
				l.owners.add(fmt.Sprintf("(%d)", one.owner), one.to-one.from, 1)
				continue
			}
			last := owner
			if one.lock.wasPassed(one.from) {
				last = nil // it had the lock when this wait began
			}
			l.addOwners(c, last, one.from, one.to)
		}
	}
	for _, r := range findRings(c.open, byTID) {
		c.addRing(r)
	}
	c.open = c.open[:0]
}

// waitsFor reports whether a wait, nil if there is none, is another thread's for the same lock.
func waitsFor(w, other *openWait) bool { return w != nil && w != other && w.lock == other.lock }

// addRing adds a ring to the reports about its threads.
func (c *Collector) addRing(r ring) {
	known := make(map[*totals]bool)
	for _, m := range r.members {
		for _, to := range m.waiter.selected() {
			if l := to.locks[m.lock]; l != nil {
				l.isRing = true
			}
			if !known[to] {
				known[to] = true
				to.rings = append(to.rings, r)
			}
		}
	}
}

// selected returns what a thread's time is added to; nothing if it is not selected.
func (t *thread) selected() []*totals {
	if !t.who.isSelected {
		return nil
	}
	return t.into
}

// openOwners returns the threads that locks name as their owners, by tid.
func (c *Collector) openOwners() map[int32]*thread {
	owners := make(map[int32]*thread)
	for i := range c.open {
		owners[c.open[i].owner] = nil
	}
	for _, t := range c.threads {
		tid := t.of.Def.GetTid()
		if _, named := owners[tid]; named && t.of.Status != timeline.Dead {
			owners[tid] = t
		}
	}
	return owners
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
			r.members = append(r.members, *w)
		}
		rings = append(rings, r)
	}
	return rings
}

// lockName names a lock.
func (c *Collector) lockName(l *lock) string {
	switch {
	case l.name != 0:
		return c.names.text[l.name]
	case l.monitor:
		return "Java monitors entered in " + c.calls.nameOf(l.site)
	case l.site != 0:
		return c.calls.nameOf(l.site)
	}
	return "?"
}

// sortedLocks returns the locks, the longest waits first.
func (o *totals) sortedLocks() []*lockSum {
	all := slices.Collect(maps.Values(o.locks))
	all = slices.DeleteFunc(all, func(l *lockSum) bool { return l.of.semaphore != nil && !l.of.semaphore.IsLock() })
	slices.SortFunc(all, func(a, b *lockSum) int {
		return cmp.Or(cmp.Compare(b.waits.Ns, a.waits.Ns), cmp.Compare(a.of.pid, b.of.pid), cmp.Compare(a.of.futex, b.of.futex), cmp.Compare(a.of.site, b.of.site), cmp.Compare(a.of.name, b.of.name), cmp.Compare(a.of.inode, b.of.inode))
	})
	return all
}

func (o *totals) lockRows() []Lock {
	rows := []Lock{}
	all, limit := o.sortedLocks(), o.c.o.Limit
	for _, l := range all[:min(limit, len(all))] {
		rows = append(rows, Lock{
			Object: o.c.lockName(l.of), Kernel: l.of.kernel, Process: o.c.names.text[l.process], PID: l.pid, Waits: l.waits.Count, Ns: l.waits.Ns, LongestNs: l.longest, Semaphore: l.of.semaphore != nil,
			Owners: l.owners.sorted(limit), Waiters: l.waiters.sorted(limit), Functions: l.sites.sorted(limit), OwnerTime: l.ownerTime.sorted(limit), Chain: o.chainOf(l),
		})
	}
	return rows
}

// chainOf returns the locks for which the owners of a lock wait, in turn: most of their time each.
func (o *totals) chainOf(l *lockSum) string {
	var names []string
	seen := map[*lock]bool{}
	at := l.of
	for at != nil && !seen[at] {
		seen[at] = true
		names = append(names, o.c.lockName(at))
		if l = o.locks[at]; l == nil { // only threads that are not selected wait for it
			break
		}
		at = l.next()
	}
	switch {
	case len(names) < 2 && (at == nil || l == nil):
		return ""
	case at != nil && l != nil: // a ring
		names = append(names, o.c.lockName(at))
	}
	return strings.Join(names, " <- ")
}

// next returns the lock for which the owners of this one wait most; nil: they hardly wait for any.
func (l *lockSum) next() (most *lock) {
	best := l.waits.Ns / 10
	for other, ns := range l.behind {
		if ns > best || ns == best && most != nil && other.futex < most.futex {
			best, most = ns, other
		}
	}
	return most
}
