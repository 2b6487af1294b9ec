package timeline

import (
	"cmp"
	"slices"

	"wprof/format"
)

// maxCPUs bounds what a hostile stream can make a Timeline allocate. The recorder has 16 bits for CPUs.
const maxCPUs = 1 << 16

// Definitions looks up definitions of the current section. [format.Reader] implements it.
type Definitions interface {
	Task(format.TaskID) *format.Task
}

// Timeline is the scheduler's state after the events that were applied to it.
type Timeline struct {
	defs     Definitions
	coverage Coverage
	cpus     []cpu
	// byID holds the threads by their ids in this section. Ids far beyond the number of threads are in sparse.
	byID           []*Thread
	sparse         map[format.TaskID]*Thread
	named          int               // ids of this section that have been seen
	byTID          map[int32]*Thread // the latest thread of a tid
	live           []*Thread         // those that are not dead
	knownLive      int               // the first knownLive of live are those whose status is known
	idle           []*Thread         // one, except in damaged streams
	sorted         []*Thread
	held           int // threads in the tables: those left by the last cleaning, and new ones
	due            int // number of held threads at which the tables are cleaned
	most           int // limit of held
	droppedThreads int64
	spans          *Spans // observer of state changes; may be nil
}

type cpu = CPUState[Thread]

// New returns an empty Timeline.
func New(defs Definitions) *Timeline {
	return &Timeline{defs: defs, byTID: make(map[int32]*Thread), due: leastDue, most: maxThreads}
}

// NewSection is called when the ids of events change their meaning. Threads are kept. When time has passed between
// the sections, because the new one does not continue the session of the one before, [Timeline.Lost] follows.
func (tl *Timeline) NewSection() {
	clear(tl.byID)
	tl.byID = tl.byID[:0]
	tl.sparse, tl.named = nil, 0
	for _, t := range tl.live {
		t.Task, t.Waker = 0, 0
	}
	for _, t := range tl.idle {
		t.Task = 0
	}
}

// Running returns the thread that runs on a CPU; nil if that is not known.
func (tl *Timeline) Running(cpu uint32) *Thread {
	if uint64(cpu) < uint64(len(tl.cpus)) {
		return tl.cpus[cpu].Running
	}
	return nil
}

// Thread returns the thread of an id of this section; nil if no event has shown it yet.
func (tl *Timeline) Thread(id format.TaskID) *Thread {
	if int64(id) < int64(len(tl.byID)) {
		if t := tl.byID[id]; t != nil {
			return t
		}
	}
	return tl.sparse[id]
}

// Enter returns the thread of an id without changing it: if no event with that id was applied yet, its Task may be another id.
// It is nil for an id without a definition.
func (tl *Timeline) Enter(id format.TaskID) *Thread {
	if int64(id) < int64(len(tl.byID)) {
		if t := tl.byID[id]; t != nil {
			return t
		}
	}
	return tl.enter(id)
}

// refer returns the thread that an event refers to, under the definition with that id.
func (tl *Timeline) refer(id format.TaskID) *Thread {
	var t *Thread
	if int64(id) < int64(len(tl.byID)) {
		t = tl.byID[id]
	}
	if t == nil {
		t = tl.enter(id)
	}
	if t != nil && t.Task != id {
		t.Task, t.Def = id, tl.defs.Task(id)
	}
	return t
}

func (tl *Timeline) enter(id format.TaskID) *Thread {
	if t := tl.sparse[id]; t != nil {
		return t
	}
	d := tl.defs.Task(id)
	if id == 0 || d.IsLost() {
		return nil
	}
	t := tl.thread(d)
	tl.named++
	if int64(id) > 4*int64(tl.named)+1<<16 {
		if tl.sparse == nil {
			tl.sparse = make(map[format.TaskID]*Thread)
		}
		tl.sparse[id] = t
		return t
	}
	for int64(len(tl.byID)) <= int64(id) {
		tl.byID = append(tl.byID, nil)
	}
	tl.byID[id] = t
	return t
}

// Find returns the latest thread of a tid if it is that one, and nil for one that no event has shown.
func (tl *Timeline) Find(key Key) *Thread {
	if t := tl.byTID[key.TID]; t != nil && t.Key == key {
		return t
	}
	return nil
}

// thread finds or makes the thread of a definition. If another thread had its tid, that one has ended.
func (tl *Timeline) thread(d *format.Task) *Thread {
	key := KeyOf(d)
	had := tl.byTID[key.TID]
	if had != nil && had.Key == key && had.Status != Dead {
		return had
	}
	tl.held++
	t := &Thread{Key: key, Def: d, slot: -1, idle: d.Flags&uint32(format.TaskFlag_TASK_FLAG_IDLE) != 0}
	if had == nil || had.Start <= key.Start {
		if had != nil {
			if tl.spans != nil {
				tl.spans.ends(had, key.Start)
			}
			tl.end(had)
		}
		tl.byTID[key.TID] = t
	}
	if t.idle {
		tl.idle = append(tl.idle, t)
	} else {
		if tl.spans != nil {
			t.spanState = tl.spans.newSpanState(t)
		}
		tl.add(t)
	}
	return t
}

// add adds a thread to the live ones, with an unknown state.
func (tl *Timeline) add(t *Thread) {
	t.slot = len(tl.live)
	tl.live = append(tl.live, t)
}

// known is called before a thread's status becomes Running or Off.
func (tl *Timeline) known(t *Thread) {
	if t.slot < 0 {
		tl.add(t)
	}
	if t.slot >= tl.knownLive {
		tl.swap(t.slot, tl.knownLive)
		tl.knownLive++
	}
}

// unknown makes a thread's state unknown from a time on. The caller updates the CPU that it ran on.
func (tl *Timeline) unknown(t *Thread, from int64) {
	if t.idle || t.Status == Dead {
		return
	}
	if t.slot < tl.knownLive {
		tl.knownLive--
		tl.swap(t.slot, tl.knownLive)
	}
	t.SetUnknown(from)
}

// end ends a thread. It stays in the tables of ids, because later events may still refer to it.
func (tl *Timeline) end(t *Thread) {
	tl.vacate(t)
	if t.slot >= 0 {
		if t.slot < tl.knownLive {
			tl.knownLive--
			tl.swap(t.slot, tl.knownLive)
		}
		last := len(tl.live) - 1
		tl.swap(t.slot, last)
		tl.live[last] = nil
		tl.live = tl.live[:last]
		t.slot = -1
	}
	t.SetUnknown(t.Since)
	t.Status = Dead
	if tl.byTID[t.TID] == t {
		delete(tl.byTID, t.TID)
	}
}

// vacate takes a thread off the CPU that it was last shown to run on.
func (tl *Timeline) vacate(t *Thread) {
	if t.Status == Running && tl.cpus[t.CPU].Running == t {
		tl.cpus[t.CPU].Running = nil
	}
}

func (tl *Timeline) swap(i, j int) {
	tl.live[i], tl.live[j] = tl.live[j], tl.live[i]
	tl.live[i].slot, tl.live[j].slot = i, j
}

// cpu returns the state of a CPU; nil if there can be no CPU of that number.
func (tl *Timeline) cpu(n uint32) *cpu {
	if uint64(n) < uint64(len(tl.cpus)) {
		return &tl.cpus[n]
	}
	if n >= maxCPUs {
		return nil
	}
	tl.cpus = append(tl.cpus, make([]cpu, int(n)+1-len(tl.cpus))...)
	return &tl.cpus[n]
}

func sortThreads(threads []*Thread) []*Thread {
	slices.SortFunc(threads, func(a, b *Thread) int {
		return cmp.Or(cmp.Compare(a.TID, b.TID), cmp.Compare(a.Start, b.Start))
	})
	return threads
}
