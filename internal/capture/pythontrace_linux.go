package capture

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

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
	// beatEvery is much less than the time after which a process takes the recorder for dead.
	beatEvery = time.Second
	// maxPumped bounds the calls that a round takes, so that its ring stays as small as others are.
	maxPumped = 1 << 16
	// pythonInterval is much less than a thread takes to fill its memory, at 5 million calls a second.
	pythonInterval = 10 * time.Millisecond
	// maxAhead bounds what waits for slower threads.
	maxAhead = 50 * time.Millisecond
	// hookLag is how long a thread may be off its CPU between the end of a call and its record, which is written late after a longer time.
	hookLag = 5 * time.Millisecond
	// hookTime is longer than a hook takes that was at work when the window closed.
	hookTime = 2 * time.Millisecond
	// retireWithin bounds the wait for processes to remove the agent, which they do at their next call.
	retireWithin = time.Second
)

// pythonChoice is whose calls of Python are traced, and which.
type pythonChoice struct {
	bpf.Python
	pytrace.Options
}

// setPythonCalls reads what follows the feature: options, and a process, a glob on names of processes, or nothing for all that are recorded.
func (cfg *Config) setPythonCalls(which string, on bool) error {
	cfg.PythonCalls = pythonChoice{Python: bpf.Python{On: on}}
	if !on {
		return nil
	}
	which, options, err := pythonOptions(which)
	if err != nil {
		return cli.Usagef("--feature: %s: %w", sources.PythonCalls, err)
	}
	cfg.PythonCalls.Options = options
	switch pid, err := strconv.ParseInt(which, 10, 32); {
	case runtime.GOARCH != "amd64":
		return cli.Usagef("-f %s works on x86-64 only", sources.PythonCalls)
	case which == "":
	case err == nil && pid > 0:
		cfg.PythonCalls.PID = int32(pid)
	default:
		cfg.PythonCalls.Name = which
	}
	return nil
}

// Options of calls of Python, which stand before the processes.
const (
	minWord    = "min"
	moduleWord = "module"
)

// pythonOptions reads the options before the processes: each is a word, a colon, a value and another colon.
func pythonOptions(which string) (rest string, o pytrace.Options, err error) {
	globs := 0
	for {
		word, after, isOption := strings.Cut(which, ":")
		if !isOption {
			return which, o, nil
		}
		value, next, ended := strings.Cut(after, ":")
		switch word {
		case minWord:
			if o.Min, err = cli.ParseDuration(value); err != nil {
				return "", o, err
			}
		case moduleWord:
			if strings.TrimPrefix(value, "!") == "" {
				return "", o, errors.New("the glob on modules is empty")
			}
			o.Modules = append(o.Modules, value)
			globs += utf8.RuneCountInString(value) + 1
		default:
			return which, o, nil
		}
		switch {
		case !ended:
			return "", o, nil // no process follows
		case globs > pytrace.MaxGlobs:
			return "", o, fmt.Errorf("the globs on modules have more than %d characters", pytrace.MaxGlobs)
		}
		which = next
	}
}

func checkPythonCalls(which string) error {
	if which == "" {
		return cli.EmptyEntry(sources.PythonCalls+"=", "write it as "+sources.PythonCalls+"=PID or "+sources.PythonCalls+"=NAME, with min:DURATION: and module:GLOB: before that if wanted")
	}
	_, _, err := pythonOptions(which)
	return err
}

// pythonTrace traces calls of Python. To the drainer it is a ring.
type pythonTrace struct {
	processes []*pythonProcess
	ring      pythonRing
	calls     []pythonCall
	openedAt  int64 // 0: the window has not opened
	closedAt  int64
	early     []int // processes that removed the agent in the window
	listed    bool  // the calls that were open at the close are in the ring
	stopBeat  chan struct{}
	beating   sync.WaitGroup
	options   pytrace.Options
	attaching sync.Mutex   // held while processes changes or is read
	watch     *pythonWatch // nil: no processes that begin later are traced
}

type pythonCall struct {
	pytrace.Call
	of   *pythonProcess
	open bool
}

type pythonProcess struct {
	*pytrace.Process
	names  []functionNames // of its functions
	opened int64           // when its calls began to be recorded, if that was in the window
	ended  atomic.Bool     // it has ended, or executed another program
	// starting is set while it is waited for the agent's start.
	starting atomic.Bool
	read     bool // all that it has written
}

func newPythonTrace(cfg *Config) *pythonTrace {
	if !cfg.PythonCalls.On {
		return nil
	}
	t := &pythonTrace{stopBeat: make(chan struct{}), ring: pythonRing{generation: 1, cpus: cfg.CPUs}, options: cfg.PythonCalls.Options}
	t.watch = newPythonWatch(t, cfg.PythonCalls.Python)
	return t
}

// attachPython attaches to the processes whose calls are traced.
func (s *session) attachPython() error {
	t := s.rec.python
	if t == nil {
		return nil
	}
	chosen, warn := s.cfg.PythonCalls.Python, s.inv.Warnf
	t.watch.warn = warn
	if s.command != nil {
		t.watch.commandPID = s.command.PID()
	}
	if s.command != nil && !s.cfg.Kernel.WatchesCommand() && t.watch.isNamed(s.cfg.Command[0]) {
		t.watch.awaitCommand(s.command.PID())
	}
	if chosen.PID == 0 && chosen.Name == "" {
		return s.attachRecorded(t)
	}
	none := "-f " + sources.PythonCalls + ": no process of Python called %s can be traced yet"
	return t.attachTo(chosen, t.attach, warn, none)
}

// attachRecorded attaches to all processes that are recorded.
func (s *session) attachRecorded(t *pythonTrace) error {
	chosen := bpf.Python{Name: "*"}
	switch pids := s.cfg.Kernel.Filter.PIDs; {
	case s.cfg.Kernel.Follow:
		chosen.Name = "" // none runs yet
	case len(pids) > 1:
		return cli.Usagef("-f %s: name one process: write it as %[1]s=PID or %[1]s=NAME", sources.PythonCalls)
	case len(pids) == 1:
		chosen = bpf.Python{PID: pids[0]}
	case s.cfg.selectsThreads():
		return cli.Usagef("-f %s needs processes where a filter selects threads: write it as %[1]s=PID or %[1]s=NAME", sources.PythonCalls)
	}
	return t.attachTo(chosen, t.attachPython, s.inv.Warnf, "-f "+sources.PythonCalls+": no process of Python can be traced yet (%s)")
}

// attachPython attaches if a process has a file of Python: of all processes few have.
func (t *pythonTrace) attachPython(pid int) error {
	if len(executableMappings(int32(pid), pythonFiles)) == 0 {
		return pytrace.ErrNoPython
	}
	return t.attach(pid)
}

// attachTo attaches to the processes that were chosen. One that was chosen by its id must be traceable; of others that are not, it warns, and if
// there are none, with a message about their names.
func (t *pythonTrace) attachTo(chosen bpf.Python, attach func(pid int) error, warn func(string, ...any), none string) error {
	t.beating.Add(1)
	go t.beat()
	if chosen.PID != 0 {
		if err := attach(int(chosen.PID)); err != nil {
			return err
		}
	} else if chosen.Name != "" {
		for _, pid := range processesNamed(chosen.Name) {
			if err := attach(pid); err != nil && !errors.Is(err, pytrace.ErrNoPython) && !errors.Is(err, pytrace.ErrNoTorch) {
				warn("%v", err)
			}
		}
		if len(t.processes) == 0 {
			warn(none, proc.Quote(chosen.Name))
		}
	}
	t.awaitStart(warn)
	return nil
}

// processesNamed returns the processes whose names match a glob.
func processesNamed(pattern string) (pids []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		name, _ := os.ReadFile(filepath.Join(folder, "comm"))
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err == nil && len(name) > 0 && pid != os.Getpid() && glob.Match(pattern, name[:len(name)-1]) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (t *pythonTrace) attach(pid int) error {
	p, err := pytrace.Attach(pid, t.options)
	if err != nil {
		return fmt.Errorf("trace Python in process %d: %w", pid, err)
	}
	t.add(p)
	return nil
}

func (t *pythonTrace) add(p *pytrace.Process) {
	t.attaching.Lock()
	defer t.attaching.Unlock()
	t.processes = append(t.processes, &pythonProcess{Process: p})
}

// awaitStart leaves out processes in which the agent does not start.
func (t *pythonTrace) awaitStart(warn func(string, ...any)) {
	t.attaching.Lock()
	defer t.attaching.Unlock()
	deadline := time.Now().Add(pytrace.StartWithin)
	t.processes = slices.DeleteFunc(t.processes, func(p *pythonProcess) bool {
		err := p.Started(deadline)
		if err != nil {
			warn("trace Python in process %d: %v; its calls are left out", p.PID, err)
			p.Close(time.Now())
		}
		return err != nil
	})
}

// beat shows the processes that the recorder lives, also before the window opens and while a round waits for a disk.
func (t *pythonTrace) beat() {
	defer t.beating.Done()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-t.stopBeat:
			return
		case <-tick.C:
			t.attaching.Lock()
			for _, p := range t.processes {
				p.Beat()
				if unix.Kill(p.PID, 0) == unix.ESRCH {
					p.ended.Store(true)
				}
			}
			t.attaching.Unlock()
		}
	}
}

func (t *pythonTrace) open(at int64) {
	if t == nil {
		return
	}
	t.attaching.Lock()
	defer t.attaching.Unlock()
	t.openedAt = at
	t.ring.since = at
	for _, p := range t.processes {
		p.Open()
	}
}

func (t *pythonTrace) shut(at int64) {
	if t == nil {
		return
	}
	t.watch.end()
	t.attaching.Lock()
	defer t.attaching.Unlock()
	for _, p := range t.processes {
		if p.IsRetired() && !p.ended.Load() && unix.Kill(p.PID, 0) == nil {
			t.early = append(t.early, p.PID)
		}
		p.Shut()
	}
	time.Sleep(hookTime)
	t.closedAt = at
}

func (t *pythonTrace) endedEarly() []int {
	if t == nil {
		return nil
	}
	return t.early
}

func (t *pythonTrace) watchWarnings() []string {
	if t == nil {
		return nil
	}
	return t.watch.warnings()
}

// close has the processes remove the agent.
func (t *pythonTrace) close() {
	if t == nil || t.stopBeat == nil {
		return
	}
	close(t.stopBeat)
	t.beating.Wait()
	t.stopBeat = nil
	t.watch.end()
	t.watch.wait()
	t.attaching.Lock()
	defer t.attaching.Unlock()
	deadline := time.Now().Add(retireWithin)
	for _, p := range t.processes {
		p.Retire()
	}
	for _, p := range t.processes {
		p.Close(deadline)
	}
	t.processes = nil
}

// newGeneration has functions be named again where they are called.
func (t *pythonTrace) newGeneration() {
	if t != nil {
		t.ring.forget()
	}
}

// pump moves calls that have ended to the ring, in the order of their ends.
func (t *pythonTrace) pump() {
	t.attaching.Lock()
	defer t.attaching.Unlock()
	if t.openedAt == 0 || len(t.processes)+len(t.calls) == 0 {
		return
	}
	now, limit := proc.Monotonic(), int64(math.MaxInt64)
	if t.ring.behind > 0 { // threads of which all is read must not run ahead of others
		limit = t.ring.since + maxAhead.Nanoseconds()
	}
	left, lost, leftOut, complete := uint64(0), uint64(0), uint64(0), int64(math.MaxInt64)
	for _, p := range t.processes {
		got := p.Calls(maxPumped/len(t.processes), limit, func(c pytrace.Call) { t.calls = append(t.calls, pythonCall{Call: c, of: p}) })
		left, lost, leftOut, complete = left+got.Left, lost+got.Lost, leftOut+got.LeftOut, min(complete, got.Oldest)
		p.read = got.Left == 0
	}
	t.dropEnded()
	if t.closedAt != 0 && left == 0 && !t.listed {
		t.listOpen()
	}
	if t.closedAt == 0 {
		complete = min(complete, now-hookLag.Nanoseconds())
	}
	n := t.emit(complete)
	t.ring.lose(ringdata.TypePython, lost, min(now, complete), ringdata.MissingCauseFull)
	t.ring.lose(ringdata.TypePython, leftOut, min(now, complete), ringdata.MissingCauseLimit)
	t.calls = t.calls[:copy(t.calls, t.calls[n:])]
	t.ring.behind = left + uint64(len(t.calls))
	t.ring.since = min(now, complete)
}

// dropEnded leaves out processes that have ended and of which all is read. Their functions keep their names.
func (t *pythonTrace) dropEnded() {
	t.processes = slices.DeleteFunc(t.processes, func(p *pythonProcess) bool {
		drop := p.read && p.ended.Load() && !p.starting.Load()
		if drop {
			p.Close(time.Now())
		}
		return drop
	})
}

// listOpen adds the calls that were open at the close.
func (t *pythonTrace) listOpen() {
	t.listed = true
	for _, p := range t.processes {
		if !p.IsRetired() && !p.ended.Load() {
			p.OpenCalls(t.closedAt, func(c pytrace.Call) { t.calls = append(t.calls, pythonCall{c, p, true}) })
		}
	}
}

// emit writes the calls that ended before a time, in the order of their ends, and returns how many they are: from that time on calls of other threads
// may still come.
func (t *pythonTrace) emit(complete int64) (n int) {
	byEnd := func(a, b pythonCall) int { return cmp.Compare(a.End, b.End) }
	if !slices.IsSortedFunc(t.calls, byEnd) {
		slices.SortStableFunc(t.calls, byEnd)
	}
	for n < len(t.calls) && t.calls[n].End <= complete {
		t.ring.call(&t.calls[n], max(t.openedAt, t.calls[n].of.opened))
		n++
	}
	return n
}

// Producer, Consumer, Committed and Consume implement ring.
func (t *pythonTrace) Producer() uint64 { return t.ring.written() + t.ring.behind*callRecordBytes }

// Consumer implements ring.
func (t *pythonTrace) Consumer() uint64 { return t.ring.consumed }

// Committed implements ring.
func (t *pythonTrace) Committed(uint64) (run []byte, from uint64) {
	return t.ring.bytes, t.ring.consumed
}

// Consume implements ring.
func (t *pythonTrace) Consume(n int) { t.ring.consume(n) }
