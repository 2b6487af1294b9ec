package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/proc"
	"wprof/internal/pytrace"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

const (
	// pythonFiles is in the names of files that have an interpreter: python3.11, libpython3.11.so.1.0.
	pythonFiles = "python"
	// attachesPerSecond bounds how many processes that begin are stopped.
	attachesPerSecond = 20
	maxAttaching      = 4  // at the same time
	maxTraced         = 64 // each has 30 MiB or more
	// maxConsidered bounds the processes whose mappings are read again and again, until they have an interpreter.
	maxConsidered  = 64
	mappedWithin   = 200 * time.Millisecond
	considerPause  = time.Millisecond
	afterFork      = 2 * time.Millisecond // most children of fork that execute a program have done so
	maxTraceWarned = 3                    // failures that a warning names
	maxCommName    = 15
	maxFamily      = 1 << 16
)

// begun is a process that has been forked, or has executed a program.
type begun struct {
	pid, parent int
	at          int64
	exec        bool
}

// pythonWatch attaches to processes of Python that begin in the window.
type pythonWatch struct {
	t          *pythonTrace
	chosen     bpf.Python
	warn       func(string, ...any)
	begun      chan begun
	stop       chan struct{}
	stopped    sync.Once
	work       sync.WaitGroup // processes whose start is awaited
	commandPID int            // 0: none
	command    atomic.Int64   // the command's process until it is attached to; 0: none
	slots      chan struct{}

	skipped, short, failed atomic.Int64 // processes that were not traced: by limits, because they ended, and for other reasons

	mu     sync.Mutex
	latest map[int]begun // of the processes that are considered
	second int64         // of count
	count  int           // of attachments
}

func newPythonWatch(t *pythonTrace, chosen bpf.Python) *pythonWatch {
	w := &pythonWatch{t: t, chosen: chosen, begun: make(chan begun, 1024), stop: make(chan struct{}), slots: make(chan struct{}, maxAttaching), latest: make(map[int]begun)}
	go w.run()
	return w
}

func (w *pythonWatch) end() {
	if w != nil {
		w.stopped.Do(func() { close(w.stop) })
	}
}

func (w *pythonWatch) wait() {
	if w != nil {
		w.work.Wait()
	}
}

func (w *pythonWatch) isStopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// isNamed reports whether the process of a program is chosen.
func (w *pythonWatch) isNamed(program string) bool {
	name := filepath.Base(program)
	return w.chosen.PID == 0 && (w.chosen.Name == "" || glob.Match(w.chosen.Name, []byte(name[:min(len(name), maxCommName)])))
}

// run takes the processes that begin. One that was chosen by its id is traced with those that it forks.
func (w *pythonWatch) run() {
	family := map[int]bool{int(w.chosen.PID): true}
	considered := make(chan struct{}, maxConsidered)
	for {
		var b begun
		select {
		case b = <-w.begun:
		case <-w.stop:
			return
		}
		if w.chosen.PID != 0 {
			if !b.exec && family[b.parent] && len(family) < maxFamily {
				family[b.pid] = true
			}
			if !family[b.pid] {
				continue
			}
		}
		if w.isConsidered(b) {
			continue
		}
		select {
		case considered <- struct{}{}:
			go func() {
				for more := true; more; b, more = w.next(b) {
					w.consider(b)
				}
				<-considered
			}()
		default:
			w.next(b)
			w.skipped.Add(1)
		}
	}
}

// isConsidered reports whether a process is considered already: it will be again. Else it is from here to next.
func (w *pythonWatch) isConsidered(b begun) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, is := w.latest[b.pid]
	w.latest[b.pid] = b
	return is
}

// next returns what the process has done meanwhile, if anything.
func (w *pythonWatch) next(b begun) (begun, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.latest[b.pid]
	if last == b {
		delete(w.latest, b.pid)
	}
	return last, last != b
}

// isOver reports whether the process has executed a program meanwhile.
func (w *pythonWatch) isOver(b begun) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, is := w.latest[b.pid]
	return is && last != b
}

// note is called by the recorder for each process that begins, and must not wait.
func (w *pythonWatch) note(b begun) {
	if b.parent == os.Getpid() && b.pid != w.commandPID { // the recorder's own
		return
	}
	select {
	case w.begun <- b:
	default:
		w.skipped.Add(1)
	}
}

// consider attaches to a process if it becomes one of Python that is chosen.
func (w *pythonWatch) consider(b begun) {
	if w.t.isTraced(b) || b.exec && int64(b.pid) == w.command.Load() {
		return
	}
	if !b.exec {
		time.Sleep(afterFork)
	}
	deadline := time.Now().Add(mappedWithin)
	for len(executableMappings(int32(b.pid), pythonFiles)) == 0 {
		if !b.exec || time.Now().After(deadline) || w.isStopped() || w.isOver(b) || unix.Kill(b.pid, 0) != nil {
			return
		}
		time.Sleep(considerPause)
	}
	if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", b.pid)); w.chosen.Name != "" && (len(name) == 0 || !glob.Match(w.chosen.Name, name[:len(name)-1])) {
		return
	}
	if !w.mayAttach() {
		w.skipped.Add(1)
		return
	}
	w.slots <- struct{}{}
	defer func() { <-w.slots }()
	w.finish(b, func(ready func(*pytrace.Process) error) error { return pytrace.AttachLater(b.pid, w.t.options, ready) })
}

// mayAttach counts an attachment, if limits permit it.
func (w *pythonWatch) mayAttach() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if second := time.Now().Unix(); second != w.second {
		w.second, w.count = second, 0
	}
	w.count++
	return w.count <= attachesPerSecond && w.t.tracedNow() < maxTraced
}

// finish attaches, and waits until the agent has started.
func (w *pythonWatch) finish(b begun, attach func(ready func(*pytrace.Process) error) error) {
	var p *pythonProcess
	err := attach(func(process *pytrace.Process) (err error) {
		p, err = w.t.adopt(process)
		return err
	})
	if p != nil {
		defer w.work.Done()
		if err == nil {
			err = p.Started(time.Now().Add(pytrace.StartWithin))
		}
		if err != nil {
			p.ended.Store(true)
		}
		p.starting.Store(false)
	}
	switch {
	case err == nil || errors.Is(err, errClosed) || errors.Is(err, pytrace.ErrNoPython):
	case unix.Kill(b.pid, 0) != nil:
		w.short.Add(1)
	case !w.isOver(b):
		if w.failed.Add(1) <= maxTraceWarned {
			w.warn("trace Python in process %d: %v; its calls are left out", b.pid, err)
		}
	}
}

// awaitCommand prepares attaching to the command, which has not been released yet.
func (w *pythonWatch) awaitCommand(pid int) {
	b, err := pytrace.PrepareBegin(pid, w.t.options)
	if err != nil {
		return // it is then attached to as what it executes is
	}
	w.command.Store(int64(pid))
	go func() {
		noPython, now := false, begun{pid: pid, at: proc.Monotonic(), exec: true}
		w.finish(now, func(ready func(*pytrace.Process) error) error {
			err := b.Attach(ready)
			noPython = errors.Is(err, pytrace.ErrNoPython)
			return err
		})
		w.command.Store(0)
		if noPython && !w.isStopped() {
			w.note(begun{pid: pid, at: proc.Monotonic(), exec: true})
		}
	}()
}

// warnings are what is to be said at the end.
func (w *pythonWatch) warnings() (all []string) {
	if w == nil {
		return nil
	}
	if n := w.skipped.Load(); n > 0 {
		all = append(all, fmt.Sprintf("-f %s: %s forks and execs passed over: at most %d processes a second are stopped for it, and %d traced at once", sources.PythonCalls,
			cli.Grouped(n), attachesPerSecond, maxTraced))
	}
	if n := w.short.Load(); n > 0 {
		all = append(all, fmt.Sprintf("-f %s: %s not traced: too short", sources.PythonCalls, wasOrWere(n)))
	}
	if n := w.failed.Load() - maxTraceWarned; n > 0 {
		all = append(all, fmt.Sprintf("-f %s: %s not traced for other reasons", sources.PythonCalls, wasOrWere(n)))
	}
	return all
}

func wasOrWere(n int64) string {
	return cli.Counted(uint64(n), "process") + map[bool]string{true: " that began was", false: " that began were"}[n == 1]
}

var errClosed = errors.New("the window has closed")

// adopt takes a process that is about to be traced.
func (t *pythonTrace) adopt(process *pytrace.Process) (*pythonProcess, error) {
	t.attaching.Lock()
	defer t.attaching.Unlock()
	if t.closedAt != 0 || t.watch.isStopped() {
		return nil, errClosed
	}
	p := &pythonProcess{Process: process, opened: proc.Monotonic()}
	p.starting.Store(true)
	t.watch.work.Add(1)
	if t.openedAt != 0 {
		p.Open()
	}
	t.processes = append(t.processes, p)
	return p, nil
}

func (t *pythonTrace) tracedNow() int {
	t.attaching.Lock()
	defer t.attaching.Unlock()
	return len(t.processes)
}

// isTraced reports whether a process was attached to after what it has done: the records of one process may be in several rings. What was traced of one that
// has executed a program before has ended.
func (t *pythonTrace) isTraced(b begun) (later bool) {
	t.attaching.Lock()
	defer t.attaching.Unlock()
	for _, p := range t.processes {
		switch {
		case p.PID != b.pid:
		case p.opened > b.at:
			later = true
		case b.exec:
			p.ended.Store(true)
		}
	}
	return later
}

// pythonSink finds processes that begin among the records on their way to a sink.
type pythonSink struct {
	sink
	watch *pythonWatch
	rings int // of the kernel
}

// Ring implements sink.
func (s *pythonSink) Ring(ring int, from uint64, run []byte) error {
	for rest := run; ring < s.rings && len(rest) > ringdata.HeaderBytes; {
		header := binary.LittleEndian.Uint32(rest)
		room := ringdata.Room(header)
		if room <= ringdata.HeaderBytes || room > len(rest) {
			break
		}
		if header&ringdata.HeaderDiscarded == 0 {
			s.record(header, rest[ringdata.HeaderBytes:room])
		}
		rest = rest[room:]
	}
	return s.sink.Ring(ring, from, run)
}

func (s *pythonSink) record(header uint32, body []byte) {
	le := binary.LittleEndian
	ident, selected := 0, uint8(0)
	kind := ringdata.KindOf(header, body)
	switch {
	case kind == ringdata.KindFork && len(body) >= ringdata.ForkSize:
		ident, selected = ringdata.ForkChild, ringdata.FlagObject
	case kind == ringdata.KindExec && len(body) >= ringdata.ExecSize:
		ident, selected = ringdata.ExecIdent, ringdata.FlagSubject
	default:
		return
	}
	pid := le.Uint32(body[ident+ringdata.IdentPID:])
	if body[ringdata.HdrFlags]&selected == 0 || pid != le.Uint32(body[ident+ringdata.IdentTID:]) {
		return
	}
	parent := le.Uint32(body[ident+ringdata.IdentPPID:])
	s.watch.note(begun{pid: int(pid), parent: int(parent), at: recordTime(body), exec: kind == ringdata.KindExec})
}
