package report

import (
	"fmt"
	"slices"

	"wprof/internal/timeline"
	"wprof/internal/waits"
)

// thread is a thread whose time is being added up. Which of its waits were for work is known in the end.
type thread struct {
	of     *timeline.Thread
	who    *who
	into   []*totals               // what its time is added to
	lived  int64                   // ns
	time   [len(ownClasses)]amount // see ownClasses; blocked time is in waits
	waits  []waitSum
	places waits.Places[uint32]
	sleeps waits.Sleeps[uint32]
	recent []interval // the latest recentWaits
	next   int        // in recent
	lastTo int64

	takenBy *who // what ran on its CPU next; nil: not known

	interrupts parts     // that took its time
	pending    []pending // samples of the current running interval

	samples, faults uint64
	runs, moved     uint64
	shortRuns       int64 // ns of runs of less than shortRun, but for those after waits for disks
	movedRuns       int64 // ns of runs of less than shortMove that began on another CPU than the one before
	lastCPU         uint32
	hasRun          bool
	isSelected      bool  // some of its time is reported
	latency         int64 // ns of waits for a CPU after a wakeup that was free, or that are no longer than maxLatency
	isNew           bool  // it started in the window

	longestThrottled int64
}

const (
	shortRun  = int64(100e3)
	shortMove = int64(1e6)
	// maxLatency is how long it takes to bring a thread onto a CPU that is free, and more.
	maxLatency = int64(50e3)
)

// amount is a time and a number of intervals.
type amount struct {
	ns    int64
	count uint64
}

func (a *amount) add(ns int64, count uint64) {
	a.ns += ns
	a.count += count
}

// ownClasses are the classes of time that a thread has besides its waits.
var ownClasses = [...]int{classOnCPU, classInterrupt, int(waits.Runnable), int(waits.Preempted), int(waits.Throttled), classNew, classLost}

// in returns the time of one of ownClasses.
func (t *thread) in(class int) *amount { return &t.time[slices.Index(ownClasses[:], class)] }

// waitSum is the time that a thread waited for one thing in one place.
type waitSum struct {
	at      place
	object  uint32
	result  waits.Result
	sum     amount
	longest interval
	wakers  parts
}

// interval is one time off-CPU.
type interval struct {
	from, to int64
	lock     *lock // nil: it is no wait for a lock
	object   uint32
	waker    uint32
	class    waits.Class
	open     bool
}

const (
	maxWaits    = 64
	recentWaits = 16
	unswept     = 4096
)

// thread returns the entry of a timeline's thread.
func (c *Collector) thread(of *timeline.Thread) *thread {
	if t, known := of.Own.(*thread); known {
		return t
	}
	t := &thread{of: of, who: c.describe(of.Def)}
	if t.who.isSelected && len(c.parents) < maxParents {
		c.parents[t.who.ppid] = true
	}
	t.into = c.totalsOf(t)
	if of.Start > c.opened {
		t.isNew = true
	}
	of.Own = t
	c.threads = append(c.threads, t)
	if len(c.threads) >= 2*c.swept+unswept {
		c.sweep()
	}
	return t
}

// sweep adds up the threads that have ended.
func (c *Collector) sweep() {
	c.threads = slices.DeleteFunc(c.threads, func(t *thread) bool {
		if t.of.Status != timeline.Dead {
			return false
		}
		c.retire(t)
		return true
	})
	c.swept = len(c.threads)
}

func (c *Collector) addRunning(t *thread, s *timeline.Span) {
	ns := s.To - s.From
	t.takenBy = nil
	if s.Next != 0 {
		t.takenBy = c.whoIs(s.Next)
	}
	own := ns - s.InterruptTime()
	c.addInterruptsOf(t, s)
	if s.SinceKnown && s.Since < s.From && s.From > c.opened { // it continues a run that has very many interrupts or samples
		t.in(classOnCPU).add(own, 0)
		return
	}
	t.in(classOnCPU).add(own, 1)
	t.runs++
	if ns < shortRun && !c.followsDisk(t, s) {
		t.shortRuns += ns
	}
	if t.hasRun && s.CPU != t.lastCPU {
		t.moved++
		if ns < shortMove {
			t.movedRuns += ns
		}
	}
	t.hasRun, t.lastCPU = true, s.CPU
}

// followsDisk reports whether a thread runs because its disk is ready: those wakeups are not too many, but as many as it reads and writes.
func (c *Collector) followsDisk(t *thread, s *timeline.Span) bool {
	return !s.Off.Preempted && slices.Contains(waits.DiskClasses(), c.classes.Blocked(s.Stack, s.Wait, s.State, t.who.kernel).Class)
}

// addRunnable adds a wait for a CPU.
func (c *Collector) addRunnable(t *thread, s *timeline.Span) {
	ns := s.To - s.From
	class := delayClass(s)
	t.in(int(class)).add(ns, 1)
	if class == waits.Throttled {
		t.longestThrottled = max(t.longestThrottled, ns)
		t.remember(interval{from: s.From, to: s.To, class: class})
		return // no thread is to blame
	}
	by := c.delayedBy(t, s)
	isFree := by != nil && by.idle // the delay is that of the CPU's waking up
	if class == waits.Runnable && (ns <= maxLatency || isFree) {
		t.latency += ns
	}
	t.remember(interval{from: s.From, to: s.To, class: class})
	if isFree {
		return
	}
	key := delayKey{of: t.who.pid, ofName: t.who.process, preempted: s.Off.Preempted}
	if by != nil {
		key.by, key.byName = by.pid, by.process
	}
	for _, to := range t.into {
		to.delays.at(key).add(ns, 1, ns)
	}
}

// delayClass returns the class of a wait for a CPU.
func delayClass(s *timeline.Span) waits.Class {
	switch {
	case s.Off.Throttled:
		return waits.Throttled
	case s.Off.Preempted:
		return waits.Preempted
	}
	return waits.Runnable
}

// delayedBy returns the thread that took the CPU from a preempted one, or that ran before one that was woken; nil: not known.
func (c *Collector) delayedBy(t *thread, s *timeline.Span) *who {
	switch {
	case s.Off.Preempted:
		return t.takenBy
	case s.Off.Prev != 0:
		return c.whoIs(s.Off.Prev)
	}
	return nil
}

// blocked returns the interval of a wait, and what is known of the wait.
func (c *Collector) blocked(t *thread, s *timeline.Span) (interval, waits.Result) {
	result := c.classes.Blocked(s.Stack, s.Wait, s.State, t.who.kernel)
	class := result.Class
	one := interval{from: s.From, to: s.To, class: class, object: c.objectOf(class, s.Wait), waker: c.names.id(c.wakerOf(s)), open: s.Open}
	if w, at := c.r.Wait(s.Wait), c.calls.wait(s.Stack); class == waits.Condition && at.pair && w.GetIsFutex() {
		one.object = c.names.id(fmt.Sprintf("%#x", lockAddress(w, at)))
	}
	if class.IsLock() {
		one.lock = c.lockOf(t, s, &one)
		if one.lock != nil && one.lock.name != 0 {
			one.object = one.lock.name // the same in all lists
		}
	}
	return one, result
}

// addBlocked adds a wait for anything else.
func (c *Collector) addBlocked(t *thread, s *timeline.Span) {
	one, result := c.blocked(t, s)
	at := c.calls.wait(s.Stack)
	if one.lock != nil {
		c.addLock(t, s, at, &one)
	}
	if result.Idle == waits.IfNotHeld {
		c.addSemaphore(t, s, at, one)
	}
	t.remember(one)
	t.places.Add(at.node, result, s.To-s.From)
	t.sleeps.Add(at.node, result.Class, s.From, s.To)
	c.waitOf(t, at, one.object, result).add(&one, c.names.text[one.waker])
}

// forWork returns which waits of a thread are for work.
func (c *Collector) forWork(t *thread) waits.ForWork[uint32] {
	return t.places.ForWork(c.parents[t.who.pid], &t.sleeps, c.calls.isInner)
}

// wakerOf names the thread that ended a wait; "": none did, or it is not known.
func (c *Collector) wakerOf(s *timeline.Span) string {
	switch {
	case s.Off.Woken == 0:
		return ""
	case s.Off.WokenBy != 0:
		return c.interruptName(s.Off.WokenBy)
	case s.Off.WokenIRQ:
		return anyInterrupt
	}
	return c.names.thread(c.whoIs(s.Off.Waker))
}

func (t *thread) remember(one interval) {
	if len(t.recent) < recentWaits {
		t.recent = append(t.recent, one)
		return
	}
	t.recent[t.next%recentWaits] = one
	t.next++
}

func (w *waitSum) add(one *interval, waker string) {
	ns := one.to - one.from
	w.sum.add(ns, 1)
	if ns > w.longest.to-w.longest.from {
		w.longest = *one
	}
	w.wakers.add(waker, ns, 1)
}

// waitOf returns the sum for a wait. The smallest one makes room where there are too many.
func (c *Collector) waitOf(t *thread, at place, object uint32, r waits.Result) *waitSum {
	least := 0
	for i := range t.waits {
		one := &t.waits[i]
		if one.at.node == at.node && one.object == object && one.result == r {
			return one
		}
		if one.sum.ns < t.waits[least].sum.ns {
			least = i
		}
	}
	if len(t.waits) < maxWaits {
		t.waits = append(t.waits, waitSum{})
		least = len(t.waits) - 1
	} else {
		work := c.forWork(t)
		for _, to := range t.into {
			to.addWait(to.processOf(t), t, &t.waits[least], work.Has(t.waits[least].at.node, t.waits[least].result))
		}
	}
	t.waits[least] = waitSum{at: at, object: object, result: r}
	return &t.waits[least]
}
