package perfetto

import (
	"cmp"
	"maps"
	"slices"

	"wprof/format"
)

// Threads that stand for what the stream does not tell. Linux gives no tid above 1<<22 (PID_MAX_LIMIT in
// include/linux/threads.h), so theirs cannot collide. Each CPU has its own, because one thread cannot run on two.
const (
	filteredTID = 1<<22 + 1
	lostTID     = filteredTID + maxCPUs
)

// thread is one thread as Perfetto was shown it.
type thread struct {
	tid, pid     int32
	nsTID, nsPID int32 // in its own PID namespace; 0: that is the first one
	start        int64
	number       uint32 // of its first name
	shown        shown
	drawn        drawn
}

// isReal tells whether it is a thread and not the idle one or one that stands for others.
func (t *thread) isReal() bool { return t.tid != 0 && t.tid < filteredTID }

// leaves is the state in which one that is not real leaves a CPU, whatever is told: for idle what the kernel says.
func (t *thread) leaves() int64 {
	if t.tid == 0 {
		return 0
	}
	return stateNone
}

// shown is a thread's state in Perfetto's table thread_state: a raw state of the kernel, or one of these.
type shown int32

const (
	shownNothing shown = -1 - iota // it has no row yet
	shownRunning
	shownUnknown // it left a CPU, or was hidden, and nothing tells how
)

// task is a thread under one name: what an id of the stream names.
type task struct {
	*thread
	name  []byte // valid UTF-8
	id    uint32 // of the name, for bundles' tables of names
	names taskNames
}

// threads are all threads that are alive and what the ids of the current section name.
type threads struct {
	byTID map[int32]*thread
	byID  []*task
	// sparse holds ids far beyond the number of those seen, so that a hostile one does not make byID large.
	sparse map[format.TaskID]*task
	named  int
	nextID uint32

	most      int // threads
	forgotten int64
}

func newThreads() threads {
	return threads{most: maxThreads, byTID: make(map[int32]*thread), sparse: make(map[format.TaskID]*task)}
}

// newSection forgets ids; the threads stay.
func (t *threads) newSection() {
	clear(t.byID)
	t.byID, t.named = t.byID[:0], 0
	clear(t.sparse)
}

// get is the task of an id that was seen before, or nil.
func (t *threads) get(id format.TaskID) *task {
	if uint64(id) < uint64(len(t.byID)) {
		if found := t.byID[id]; found != nil {
			return found
		}
	}
	return t.sparse[id]
}

func (t *threads) put(id format.TaskID, k *task) {
	t.named++
	if uint64(id) > 4*uint64(t.named)+1<<16 {
		t.sparse[id] = k
		return
	}
	for uint64(len(t.byID)) <= uint64(id) {
		t.byID = append(t.byID, nil)
	}
	t.byID[id] = k
}

func (t *threads) newTask(of *thread, name []byte) *task {
	t.nextID++
	of.drawn.name = name
	if of.number == 0 {
		of.number = t.nextID
	}
	return &task{thread: of, name: name, id: t.nextID}
}

// sorted are all threads by tid.
func (t *threads) sorted() []*thread {
	all := slices.Collect(maps.Values(t.byTID))
	slices.SortFunc(all, func(a, b *thread) int { return cmp.Compare(a.tid, b.tid) })
	return all
}

// rawState is a state as the kernel numbers it in sched_switch since 4.14, one bit of it: Perfetto prints all that are
// set. What newer kernels report as uninterruptible, or do not report at all, goes by that.
func rawState(s format.State) int64 {
	for _, bit := range [...]format.State{
		format.StateZombie, format.StateDead, format.StateTraced, format.StateStopped, format.StateIdle,
		format.StateParked, format.StateUninterruptible, format.StateInterruptible, format.StatePreempted,
	} {
		if s&bit != 0 {
			return int64(bit)
		}
	}
	if s&(format.StateFrozen|format.StateRTLock|format.StateKillable) != 0 {
		return int64(format.StateUninterruptible)
	}
	return 0
}
