package perfetto

import (
	"cmp"
	"maps"
	"slices"

	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// Placeholder threads. Linux gives no tid above 1<<22 (PID_MAX_LIMIT in
// include/linux/threads.h), so theirs cannot collide. Each CPU has its own, because one thread cannot run on two.
const (
	filteredTID = 1<<22 + 1
	lostTID     = filteredTID + maxCPUs

	// filteredPID is the process of hidden threads. It is a kernel thread's, so that it has no row of its own but is in that group, and
	// of the first ones that Perfetto's interface draws in grey: its colour is a function of the number.
	filteredPID = lostTID + maxCPUs + 27
)

// thread is one thread as described to Perfetto.
type thread struct {
	tid, pid     int32
	nsTID, nsPID int32 // in its own PID namespace; 0: that is the first one
	start        int64
	isKernel     bool   // a kernel thread
	in           string // the id of its container
	number       uint32 // of its first name
	shown        shown
	drawn        drawn
}

// isReal reports whether it is neither idle nor a placeholder.
func (t *thread) isReal() bool { return t.tid != 0 && t.tid < filteredTID }

// leftState returns the state in which a thread that is not real leaves a CPU, whatever the stream contains: for idle the kernel's.
func (t *thread) leftState() int64 {
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
	shownUnknown // it left a CPU, or was hidden, and it is not known how
)

// task is a thread under one name, as described to Perfetto.
type task struct {
	*thread
	name       []byte // valid UTF-8
	id         uint32 // of the name, for bundles' tables of names
	generation uint32 // of threads, when it was introduced
	names      taskNames
	load       *load // of its process in its container; nil: not looked up, or it is in none
}

// threads are all threads that have not ended.
type threads struct {
	byTID      map[int32]*thread
	processes  map[int32]processName // as they were described last, by pid
	idle       *task
	nextID     uint32
	generation uint32 // counts how often threads were dropped; tasks of an older one are introduced again

	most           int // threads
	droppedThreads int64
}

func newThreads() *threads {
	t := &threads{most: maxThreads, byTID: make(map[int32]*thread), processes: make(map[int32]processName)}
	t.idle = t.newTask(&thread{}, []byte("swapper"))
	return t
}

// processName is what a process is named by.
type processName struct {
	command *format.Command
	comm    string
	in      string // the id of its container
}

// isNewProcess reports whether a thread's process has not been described yet, or has another name, and notes that it is now.
func (t *threads) isNewProcess(of *tracks.Task) bool {
	name := processName{of.Command, string(of.Def.ProcessComm), of.In.ID}
	if known, found := t.processes[of.Def.Pid]; found && known == name {
		return false
	}
	t.processes[of.Def.Pid] = name
	return true
}

// remove forgets a thread that has ended. With its first thread Perfetto ends a process.
func (t *threads) remove(tid int32) {
	delete(t.byTID, tid)
	delete(t.processes, tid)
}

// get returns a task that was described; nil: it was not, or it is nil.
func (t *threads) get(of *tracks.Task) *task {
	if of == nil {
		return nil
	}
	if k, ok := of.Own.(*task); ok && k.generation == t.generation {
		return k
	}
	return nil
}

// known returns a task whose thread was described, perhaps under another name; nil: it was not.
func (t *threads) known(of *tracks.Task) *task {
	if of == nil {
		return nil
	}
	if of.Idle {
		return t.idle
	}
	if k := t.get(of); k != nil {
		return k
	}
	if found := t.byTID[of.Def.Tid]; found != nil && found.start == of.Def.Start {
		return t.put(of, found)
	}
	return nil
}

// put assigns a task to a thread.
func (t *threads) put(of *tracks.Task, is *thread) *task {
	k := t.newTask(is, stacks.Printable(of.Def.Comm, stacks.Unnamed))
	of.Own = k
	return k
}

func (t *threads) newTask(of *thread, name []byte) *task {
	t.nextID++
	of.drawn.name = name
	if of.number == 0 {
		of.number = t.nextID
	}
	return &task{thread: of, name: name, id: t.nextID, generation: t.generation}
}

// sorted returns all threads by tid.
func (t *threads) sorted() []*thread {
	all := slices.Collect(maps.Values(t.byTID))
	slices.SortFunc(all, func(a, b *thread) int { return cmp.Compare(a.tid, b.tid) })
	return all
}

// rawState converts a state to the kernel's number in sched_switch since 4.14, with one bit only: Perfetto prints all that are
// set. States that newer kernels report as uninterruptible, or not at all, become uninterruptible.
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
