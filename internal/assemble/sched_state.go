package assemble

import (
	"slices"
	"strconv"

	"wprof/format"
	"wprof/internal/timeline"
)

// schedState has the identity and state of every thread: identities from the records, and the scheduler's state,
// by the same rules by which internal/timeline reads it from the stream again. It keeps live threads only, whatever the
// length of the recording; a Timeline keeps all of a section.
type schedState struct {
	threads   threads
	processes map[uint32]*process // by pid
	finished  []finishedProcess
	cpus      []cpu
	idle      *thread
	recorder  uint32 // its pid
	list      uint32 // number of the latest list of tasks
	listFrom  int64  // time of its first record
	losses    uint32 // counts losses of switches: after each, the states of threads off their CPU are unknown
	filtered  bool   // some threads are not recorded
	opened    int64  // when the window opened; 0: it has not yet
	dropped   uint64 // threads that were dropped because of their number, and not reported yet
}

// cpu has the thread that runs on a CPU, if known.
type cpu struct {
	timeline.CPUState[thread]
	counted  int64 // up to here its time is counted for its process
	switched int64 // time of its last switch, from which on its counters count
}

func newSchedState(recorder uint32) *schedState {
	r := &schedState{processes: make(map[uint32]*process), recorder: recorder}
	r.idle = &thread{identified: true, isIdle: true, visible: true}
	copy(r.idle.comm[:], "swapper")
	r.idle.processComm = r.idle.comm
	r.threads.put(r.idle)
	return r
}

// cpu returns a CPU's state. Records have 16 bits for CPUs.
func (r *schedState) cpu(n uint32) *cpu {
	if n >= uint32(len(r.cpus)) {
		old := len(r.cpus)
		r.cpus = append(r.cpus, make([]cpu, int(n)+1-old)...)
		for i := range r.cpus[old:] {
			r.cpus[old+i].counted = r.opened
		}
	}
	return &r.cpus[n]
}

// thread finds a thread by tid. If the record that identifies it was lost, it makes one with the tid alone.
func (r *schedState) thread(tid uint32) *thread {
	if t := r.threads.get(tid); t != nil {
		return t
	}
	t := &thread{identity: identity{tid: tid}, listed: r.list}
	t.comm = nameless(tid)
	if tid < maxTID {
		r.threads.put(t)
	}
	return t
}

func nameless(tid uint32) (c comm) {
	copy(c[:], "TID "+strconv.FormatUint(uint64(tid), 10))
	return c
}

// identify takes a complete identity as of a time, and returns its thread.
func (r *schedState) identify(ident *identity, at int64) *thread {
	if ident.tid == 0 || ident.tid >= maxTID {
		return r.thread(ident.tid)
	}
	ident = r.withProcessName(ident, at)
	t := r.threads.get(ident.tid)
	if t != nil && t.key != t.tid {
		as := *ident
		as.tid, as.start = t.tid, t.start
		ident = &as
	} else if t == nil || t.identified && t.start != ident.start {
		t = &thread{identity: *ident}
		r.threads.put(t)
	}
	if d := t.def; !t.identified && d != nil && d.section == 0 {
		// A definition that was not used yet can still be corrected.
		d.identity, d.unknown, d.self = *ident, false, ident.pid == r.recorder
		t.identity = *ident
	}
	t.identified, t.listed, t.named = true, r.list, at
	if t.identity != *ident {
		t.identity = *ident
		t.def, t.was = nil, t.latest()
	}
	r.joinProcess(t, at)
	if d := t.def; d != nil && d.section == 0 {
		d.command = t.process.command
	}
	return t
}

// latest is the definition that the thread's next one continues.
func (t *thread) latest() *definition {
	if t.def != nil {
		return t.def
	}
	return t.was
}

// drop removes a thread. The CPU time of a process stays.
func (r *schedState) drop(t *thread) {
	if t.isIdle {
		return
	}
	g := t.process
	r.vacate(t)
	r.threads.drop(t)
	t.Status = timeline.Dead
	if g == nil || len(g.threads) > 0 {
		return
	}
	if r.processes[g.pid] == g {
		delete(r.processes, g.pid)
	}
	if g.ns > 0 {
		r.finish(g)
	}
}

func (t *thread) isLive() bool { return !t.exited && t.Status != timeline.Dead }

// newList is called before the first record of a list of tasks. after reports whether the list before it is complete.
func (r *schedState) newList(at int64, after bool) {
	if after {
		r.dropUnlisted()
	}
	r.list++
	r.listFrom = at
}

// dropUnlisted drops the threads that are not in the last list, which is complete, and were not made since: the records of
// their ends were lost.
func (r *schedState) dropUnlisted() {
	r.dropIf(func(t *thread) bool { return t.listed < r.list })
	for pid, g := range r.processes {
		if len(g.threads) == 0 && g.made < r.list { // nothing but its command line was ever recorded
			delete(r.processes, pid)
		}
	}
}

// dropIf drops the threads that are unwanted and do not run.
func (r *schedState) dropIf(isUnwanted func(*thread) bool) (dropped uint64) {
	var unwanted []*thread
	_ = r.threads.all(func(t *thread) error {
		if isUnwanted(t) && !t.isIdle && t.Status != timeline.Running {
			unwanted = append(unwanted, t)
		}
		return nil
	})
	for _, t := range r.threads.replaced {
		if isUnwanted(t) {
			unwanted = append(unwanted, t)
		}
	}
	for _, t := range unwanted {
		r.drop(t)
	}
	return uint64(len(unwanted))
}

// maxThreads bounds the threads that are known, which take some 350 bytes each.
const maxThreads = 240_000

// dropOldest drops the half of the threads whose last event is oldest.
func (r *schedState) dropOldest() (dropped uint64) {
	var last []int64
	_ = r.threads.all(func(t *thread) error {
		last = append(last, t.lastEvent())
		return nil
	})
	slices.Sort(last)
	median := last[len(last)/2]
	return r.dropIf(func(t *thread) bool { return t.lastEvent() <= median })
}

// lastEvent is the time of the last event that named the thread.
func (t *thread) lastEvent() int64 { return max(t.ChangedAt, t.named) }

// isOff reports whether a thread is known to be on no CPU.
func (r *schedState) isOff(t *thread) bool { return t.Status == timeline.Off && t.losses == r.losses }

// setUnknown makes a thread's state unknown.
func (t *thread) setUnknown(from int64) {
	if !t.isIdle && t.Status != timeline.Dead {
		t.SetUnknown(from)
	}
}

// leave takes a thread off its CPU.
func (r *schedState) leave(t *thread, n uint32, at int64, state format.State, called bool, prio int32) {
	r.vacate(t)
	t.Leave(n, at, state, prio)
	t.losses, t.called = r.losses, called
	t.user, t.kernel = nil, nil
}

// arrive puts a thread on a CPU.
func (r *schedState) arrive(t *thread, n uint32, at int64, prio int32) {
	r.vacate(t)
	t.Arrive(n, at, prio, timeline.BeginAt(at))
	t.user, t.kernel = nil, nil
}

// hide makes the state of a thread unknown that the filters leave out: what it does next is not recorded.
func (r *schedState) hide(t *thread, at int64) {
	r.vacate(t)
	t.setUnknown(at)
}

// vacate takes a thread off the CPU on which it was last known to run.
func (r *schedState) vacate(t *thread) {
	if t.Status == timeline.Running && r.cpus[t.CPU].Running == t {
		r.cpus[t.CPU].Running = nil
	}
}

// lost handles missing switches of a CPU; with format.AllCPUs, of every CPU. Of threads that were off their CPU
// nothing is known then either: they may have run there meanwhile.
func (r *schedState) lost(n uint32, at int64) {
	r.losses++
	for i := range r.cpus {
		if c := &r.cpus[i]; n == format.AllCPUs || n == uint32(i) {
			if c.Running != nil {
				c.Running.setUnknown(at)
			}
			c.Running, c.ChangedAt = nil, at
		}
	}
}
