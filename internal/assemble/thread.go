package assemble

import (
	"wprof/format"
	"wprof/internal/timeline"
)

// thread is a thread that the kernel has not freed yet.
type thread struct {
	identity
	def     *definition // under which it is known now; nil: its identity has changed since it was used last
	was     *definition // the definition before, which the next one continues
	process *process
	cgroup  *textDef // path of its cgroup; nil: not known
	slot    int      // in process.threads

	// key is the tid under which records name it. It is another one than tid from when a thread that is not the leader
	// and calls exec exchanges its tid with the leader, to when the record of the exec comes.
	key      uint32
	exited   bool
	exitedAt int64 // 0: not known

	named      int64    // when it was named last by an event
	moved      int64    // when it was moved to another cgroup last
	movedFrom  *textDef // the cgroup in which it was before; nil: not known
	listed     uint32   // number of the last list of tasks that it is in or that it is younger than
	identified bool     // its identity is known, not only its tid
	visible    bool     // the filters select it
	isIdle     bool

	timeline.ThreadState[*definition]
	losses uint32 // schedState.losses when its status was set
	called bool   // it left while runnable, and had called the scheduler itself

	// Where it is while it is off its CPU, if a stack was taken when it left, or at the very end.
	user, kernel *stackDef

	// What it waits for, as far as that was taken when it left, or at the very end.
	wait  *waitDef
	owner uint32 // tid of the thread that owned the lock when this one left; 0: not known
}

// process has the threads that share a name and count their CPU time together.
type process struct {
	pid     uint32
	nsPID   uint32 // in its own PID namespace; 0: that is the first one
	start   int64
	comm    comm
	command *command // nil: not known
	threads []*thread
	named   int64  // when its leader last named it; 0: never
	made    uint32 // number of the last list of tasks when it was made
	ns      int64  // on CPU in this section
	ended   bool   // an exit was written as its last
}

// definition is one name of one thread, as the stream defines it, or will when an event uses it.
type definition struct {
	identity
	unknown bool // only the tid, perhaps the start, is known
	self    bool
	idle    bool
	before  *definition // the same thread's definition before
	command *command    // nil: not known
	cgroup  *textDef    // nil: not known

	section uint32 // number of the section in which id is valid
	id      format.TaskID
}

// link is the definition that one after d continues: d itself if the section has it, else what d would have
// continued. So no chain of unused definitions builds up.
func (d *definition) link(section uint32) *definition {
	if d == nil || d.section == section {
		return d
	}
	return d.before
}

// threads finds threads by tid: a table of pages, because tids are dense and looked up twice an event.
type threads struct {
	pages []*[threadPage]*thread
	// replaced are threads whose tid another thread has, before the kernel has freed them.
	replaced map[threadKey]*thread
	known    int // threads with a tid
}

type threadKey struct {
	tid   uint32
	start int64
}

const (
	threadPage = 1 << 10
	// maxTID is the kernel's PID_MAX_LIMIT on 64-bit machines. Only damage goes beyond it.
	maxTID = 1 << 22
)

func (t *threads) get(tid uint32) *thread {
	if p := tid / threadPage; p < uint32(len(t.pages)) && t.pages[p] != nil {
		return t.pages[p][tid%threadPage]
	}
	return nil
}

// put enters a thread under its tid, in place of another one that had it.
func (t *threads) put(th *thread) {
	th.key = th.tid
	p := th.tid / threadPage
	for uint32(len(t.pages)) <= p {
		t.pages = append(t.pages, nil)
	}
	if t.pages[p] == nil {
		t.pages[p] = new([threadPage]*thread)
	}
	slot := &t.pages[p][th.tid%threadPage]
	if *slot == nil {
		t.known++
	}
	if old := *slot; old != nil && old != th {
		if t.replaced == nil {
			t.replaced = make(map[threadKey]*thread)
		}
		t.replaced[threadKey{old.tid, old.start}] = old
	}
	*slot = th
}

// take removes a thread from its tid.
func (t *threads) take(th *thread) {
	if t.get(th.key) == th {
		t.known--
		t.pages[th.key/threadPage][th.key%threadPage] = nil
	}
}

// exchange exchanges the tids under which two threads are found.
func (t *threads) exchange(a, b *thread) {
	a.key, b.key = b.key, a.key
	for _, th := range [...]*thread{a, b} {
		t.pages[th.key/threadPage][th.key%threadPage] = th
	}
}

// drop removes a thread altogether.
func (t *threads) drop(th *thread) {
	t.take(th)
	if key := (threadKey{th.tid, th.start}); t.replaced[key] == th {
		delete(t.replaced, key)
	}
	th.leaveProcess()
}

// all calls f with every thread that has a tid, by tid.
func (t *threads) all(f func(*thread) error) error {
	for _, page := range t.pages {
		if page == nil {
			continue
		}
		for _, th := range page {
			if th == nil {
				continue
			}
			if err := f(th); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *thread) leaveProcess() {
	if t.process == nil {
		return
	}
	list := t.process.threads
	last := len(list) - 1
	list[t.slot] = list[last]
	list[t.slot].slot = t.slot
	list[last] = nil
	t.process.threads = list[:last]
	t.process = nil
}

func (t *thread) join(p *process) {
	if t.process == p {
		return
	}
	t.leaveProcess()
	t.process, t.slot = p, len(p.threads)
	p.threads = append(p.threads, t)
}
