package capture

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

const (
	boostPriority = drainPriority
	// overloadThreads is the number of runnable threads per CPU from which a machine is overloaded. A thread that wakes
	// waits for a slice of 3 ms of each.
	overloadThreads = 8
	// boostLimit is the CPU time that boosted threads may take: several times that of beginning a recording, and
	// that of writing a million events with stacks.
	boostLimit = time.Second
	boostPoll  = 20 * time.Millisecond
)

// booster gives this process's threads a real-time priority while it starts or ends a recording on an overloaded machine.
// Starting one waits for a CPU more than a thousand times, up to a second each where 250 threads per CPU are runnable. A
// nice value of -20 is not enough there: it gives a quarter of a CPU's time, and waits of 3 to 500 ms. Threads of low
// priority are boosted as well: to stop the world, the Go runtime waits for every thread that runs Go code, which took up
// to 4 s there.
//
// Threads with a higher priority of their own keep it: they have SCHED_FLAG_RESET_ON_FORK, boosted ones do not. Threads that
// boosted threads start are boosted too, and so would be a child process.
type booster struct {
	normal unix.SchedAttr // of an ordinary thread
	ended  chan struct{}
	mu     sync.Mutex
	done   bool
	low    map[int]unix.SchedAttr // of threads of low priority, by id
}

// beginBoost starts a boost that lasts until End, or until boostLimit is used up. nil: there is no need, or this process
// was started with a priority of its own.
func beginBoost() *booster {
	if !isOverloaded() {
		return nil
	}
	for _, tid := range threadIDs() { // the first thread may have another priority by now
		normal, err := unix.SchedGetAttr(tid, 0)
		if err == nil && normal.Policy == unix.SCHED_NORMAL && normal.Flags&unix.SCHED_FLAG_RESET_ON_FORK == 0 {
			b := &booster{normal: *normal, ended: make(chan struct{})}
			b.raise()
			go b.limit()
			return b
		}
	}
	return nil
}

// End restores the priority. It may be called repeatedly, and on nil.
func (b *booster) End() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	b.done = true
	close(b.ended)
	b.lower()
}

// lower gives all boosted threads the priority that they had.
func (b *booster) lower() {
	setAll(b.isBoosted, func(tid int, _ *unix.SchedAttr) unix.SchedAttr {
		if attr, ok := b.low[tid]; ok {
			return attr
		}
		return b.normal
	})
}

// limit ends the boost when its CPU time is used up. A thread that is being created when the boost ends is not listed yet and
// inherits the priority, so priorities are restored once more a moment later.
func (b *booster) limit() {
	b.awaitLimit()
	b.End()
	time.Sleep(boostPoll)
	b.lower()
}

func (b *booster) awaitLimit() {
	before, err := proc.ReadUsage()
	for err == nil {
		select {
		case <-b.ended:
			return
		case <-time.After(boostPoll):
		}
		b.raise()
		var now proc.Usage
		if now, err = proc.ReadUsage(); now.CPU()-before.CPU() > boostLimit {
			return
		}
	}
}

// raise boosts the existing threads.
func (b *booster) raise() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		setAll(b.isLower, func(tid int, attr *unix.SchedAttr) unix.SchedAttr {
			if attr.Policy != b.normal.Policy || attr.Nice != b.normal.Nice {
				if b.low == nil {
					b.low = make(map[int]unix.SchedAttr)
				}
				b.low[tid] = *attr
			}
			return unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: boostPriority}
		})
	}
}

func (b *booster) isLower(a *unix.SchedAttr) bool {
	normal := a.Policy == unix.SCHED_NORMAL || a.Policy == unix.SCHED_BATCH
	return normal && a.Nice >= b.normal.Nice && a.Flags&unix.SCHED_FLAG_RESET_ON_FORK == 0
}

func (b *booster) isBoosted(a *unix.SchedAttr) bool {
	return a.Policy == unix.SCHED_RR && a.Priority == boostPriority && a.Flags&unix.SCHED_FLAG_RESET_ON_FORK == 0
}

// setAll sets the priority of some threads, and repeats that until no new thread needs it.
func setAll(which func(*unix.SchedAttr) bool, to func(tid int, from *unix.SchedAttr) unix.SchedAttr) {
	for again := true; again; {
		again = false
		for _, tid := range threadIDs() {
			attr, err := unix.SchedGetAttr(tid, 0)
			if err != nil || !which(attr) {
				continue
			}
			next := to(tid, attr)
			if unix.SchedSetAttr(tid, &next, 0) == nil {
				again = true
			}
		}
	}
}

func threadIDs() (tids []int) {
	folder, err := os.Open("/proc/self/task")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// isOverloaded reports whether many threads wait for each CPU, by the fourth word of proc_loadavg(5).
func isOverloaded() bool {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	var runnable int
	if _, err := fmt.Sscanf(string(text), "%s %s %s %d/", new(string), new(string), new(string), &runnable); err != nil {
		return false
	}
	cpus, err := proc.CPUs("/sys")
	return err == nil && runnable >= overloadThreads*len(cpus)
}
