package simulate

import (
	"math/rand/v2"

	"wprof/format"
)

// Sink receives the stream.
type Sink interface {
	Begin(*format.Session)
	Define(*format.Task)
	State() // the next event begins a whole state
	Event(*format.Event)
	End(*format.End)
}

// Options select what is simulated besides scheduling.
type Options struct {
	Seed          uint64
	CPUs          int
	Threads       int
	Losses        bool // some events of one CPU at a time are lost
	Epochs        bool // new sections of the same session
	Races         bool // threads are woken while they go to sleep
	SilentRenames bool // a process's other threads get its new name without an event
	Interrupts    bool // CPUs are interrupted, also in interrupts; only [Stream] defines their types
}

// Machine is the simulated machine.
type Machine struct {
	Now      int64
	CPUs     []CPU
	Threads  []*Thread // live ones
	Complete bool      // every event so far is in the stream, or counted in a lost event there

	o       Options
	rng     *rand.Rand
	sink    Sink
	session *format.Session
	nextID  format.TaskID
	nextTID int32
	lossy   int    // the CPU whose events are lost; -1: none
	from    int64  // since when
	missing uint64 // events lost so far
	toLose  int    // events that are lost next
	idle    *Thread
}

// CPU is the thread that a CPU runs, and since when.
type CPU struct {
	Running *Thread
	Since   int64
}

// Status is the scheduler state of a thread.
type Status int

const (
	Running Status = iota
	Runnable
	Sleeping
	Zombie
)

// Thread is a thread and its scheduler state.
type Thread struct {
	TID, PID, PPID int32
	Start          int64
	Comm           string
	Process        *Process
	Kthread        bool

	Status Status
	CPU    int
	State  format.State
	Prio   int32
	Since  int64
	Woken  int64
	Waker  *Thread
	New    bool
	Early  Early // the latest waking while it ran
	Raced  bool  // it left its CPU in a sleep state although Early had woken it

	def      format.TaskID
	dirty    bool
	wakerID  format.TaskID
	wakerCPU int
}

// Early is a waking of a thread that runs.
type Early struct {
	At int64 // 0: there was none
	By *Thread
}

// Process is what threads share.
type Process struct {
	Comm   string
	Leader *Thread // also when it has exited
	live   int
}

// New returns a machine on which o.Threads threads sleep.
func New(o Options, sink Sink) *Machine {
	m := &Machine{
		Now: 1e9, CPUs: make([]CPU, o.CPUs), o: o, rng: rand.New(rand.NewPCG(o.Seed, 7)), sink: sink, nextTID: 10, lossy: -1, Complete: true,
		idle: &Thread{Comm: "swapper", Process: &Process{Comm: "swapper"}, Prio: 120},
	}
	for range o.Threads {
		m.spawn(nil, m.rng.IntN(2) == 0)
	}
	for i := range m.CPUs {
		m.CPUs[i] = CPU{m.idle, m.Now - 100}
	}
	for _, t := range m.Threads {
		t.Status, t.State, t.Since, t.New = Sleeping, format.StateInterruptible, m.Now-int64(m.rng.IntN(1000)), false
	}
	return m
}

func (m *Machine) name() string {
	names := [...]string{"foo", "bar", "baz", "food", "worker"}
	return names[m.rng.IntN(len(names))]
}

// spawn creates a thread that has never run.
func (m *Machine) spawn(parent *Thread, process bool) *Thread {
	t := &Thread{TID: m.newTID(), Start: m.Now, Prio: int32(100 + m.rng.IntN(40)), New: true, Status: Runnable, CPU: m.rng.IntN(len(m.CPUs)), Since: m.Now}
	if process || parent == nil || parent.Kthread {
		t.PID, t.Process = t.TID, &Process{Leader: t}
		t.PPID, t.Comm = 1, m.name()
		t.Kthread = parent == nil && m.rng.IntN(8) == 0
		if parent != nil {
			t.PPID, t.Comm = parent.PID, parent.Comm
		}
		t.Process.Comm = t.Comm
	} else {
		t.PID, t.PPID, t.Process, t.Comm = parent.PID, parent.PPID, parent.Process, parent.Comm
	}
	t.Process.live++
	m.Threads = append(m.Threads, t)
	return t
}

// newTID returns a free tid. There are few, so that they are soon reused.
func (m *Machine) newTID() int32 {
	for {
		if m.nextTID++; m.nextTID > 120 {
			m.nextTID = 11
		}
		if !m.used(m.nextTID) {
			return m.nextTID
		}
	}
}

func (m *Machine) used(tid int32) bool {
	for _, t := range m.Threads {
		if t.TID == tid || t.PID == tid || t.Process.Leader.TID == tid {
			return true
		}
	}
	return false
}

// define returns the id of a thread's definition, after writing a new one if its name or tid has changed.
func (m *Machine) define(t *Thread) format.TaskID {
	if t == nil {
		return 0
	}
	if t.def != 0 && !t.dirty {
		return t.def
	}
	m.nextID += format.TaskID(1 + m.rng.IntN(3))
	d := &format.Task{
		Id: uint32(m.nextID), Tid: t.TID, Pid: t.PID, Ppid: t.PPID, Start: t.Start,
		Comm: []byte(t.Comm), ProcessComm: []byte(t.Process.Comm), Continues: uint32(t.def),
	}
	switch {
	case t == m.idle:
		d.Flags = uint32(format.TaskFlag_TASK_FLAG_IDLE)
	case t.Kthread:
		d.Flags = uint32(format.TaskFlag_TASK_FLAG_KTHREAD)
	}
	m.sink.Define(d)
	t.def, t.dirty = m.nextID, false
	return t.def
}

// emit writes an event, or counts it as lost.
func (m *Machine) emit(e *format.Event) {
	if m.lossy >= 0 {
		if e.CPU == uint32(m.lossy) && m.toLose > 0 && m.o.Losses {
			m.toLose--
			m.missing++
			m.Complete = false
			return
		}
		if e.CPU == uint32(m.lossy) && m.toLose == 0 {
			m.endLoss(e.Time)
		}
	}
	e.Flags |= format.FlagSubject
	switch e.Kind {
	case format.KindSwitch, format.KindWaking, format.KindWakeupNew, format.KindFork:
		e.Flags |= format.FlagObject
	}
	m.sink.Event(e)
}

func (m *Machine) endLoss(at int64) {
	if m.missing > 0 {
		lost := &format.Event{Time: at, Kind: format.KindLost, Flags: format.FlagSubject, CPU: uint32(m.lossy)}
		lost.Args = [format.MaxArgs]uint64{uint64(m.from), m.missing, uint64(format.CauseRing), 0}
		m.sink.Event(lost)
	}
	m.lossy, m.missing, m.Complete = -1, 0, true
}
