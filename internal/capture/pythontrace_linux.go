package capture

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"wprof/bpf"
	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/proc"
	"wprof/internal/pytrace"
	"wprof/internal/sources"
)

const (
	// beatEvery is much less than the time after which a process takes the recorder for dead.
	beatEvery = time.Second
	// maxPumped bounds the calls that a round takes, so that its ring stays as small as others are.
	maxPumped = 1 << 16
	// pythonInterval is much less than a thread takes to fill its memory, at 5 million calls a second.
	pythonInterval = 10 * time.Millisecond
	// hookTime is longer than a hook takes that was at work when the window closed.
	hookTime = 2 * time.Millisecond
	// retireWithin bounds the wait for processes to remove the agent, which they do at their next call.
	retireWithin = time.Second
)

// setPythonCalls reads what follows the feature: a process, or a glob on names of processes.
func (cfg *Config) setPythonCalls(which string, on bool) error {
	cfg.PythonCalls = bpf.Python{On: on}
	switch pid, err := strconv.ParseInt(which, 10, 32); {
	case !on:
	case which == "":
		return cli.Usagef("--feature: %s needs processes: write it as %[1]s=PID or %[1]s=NAME", sources.PythonCalls)
	case runtime.GOARCH != "amd64":
		return cli.Usagef("-f %s works on x86-64 only", sources.PythonCalls)
	case err == nil && pid > 0:
		cfg.PythonCalls.PID = int32(pid)
	default:
		cfg.PythonCalls.Name = which
	}
	return nil
}

func checkPythonCalls(which string) error {
	if which == "" {
		return cli.EmptyEntry(sources.PythonCalls+"=", "write it as "+sources.PythonCalls+"=PID or "+sources.PythonCalls+"=NAME")
	}
	return nil
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
}

type pythonCall struct {
	pytrace.Call
	of   *pythonProcess
	open bool
}

type pythonProcess struct {
	*pytrace.Process
	names []functionNames // of its functions
}

func newPythonTrace(cfg *Config) *pythonTrace {
	if !cfg.PythonCalls.On {
		return nil
	}
	return &pythonTrace{stopBeat: make(chan struct{}), ring: pythonRing{generation: 1, cpus: cfg.CPUs}}
}

// attachPython attaches to the processes that were chosen. One that was chosen by its id must be traceable; of others that are not, it warns.
func (s *session) attachPython() error {
	t := s.rec.python
	if t == nil {
		return nil
	}
	chosen := s.cfg.PythonCalls
	if chosen.PID != 0 {
		if err := t.attach(int(chosen.PID)); err != nil {
			return err
		}
	} else {
		for _, pid := range processesNamed(chosen.Name) {
			err := t.attach(pid)
			if err != nil && !errors.Is(err, pytrace.ErrNoPython) {
				s.inv.Warnf("%v", err)
			}
		}
		if len(t.processes) == 0 {
			s.inv.Warnf("-f %s: no process of Python called %s can be traced", sources.PythonCalls, proc.Quote(chosen.Name))
		}
	}
	t.awaitStart(s.inv.Warnf)
	t.beating.Add(1)
	go t.beat()
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
	p, err := pytrace.Attach(pid)
	if err != nil {
		return fmt.Errorf("trace Python in process %d: %w", pid, err)
	}
	t.processes = append(t.processes, &pythonProcess{Process: p})
	return nil
}

// awaitStart leaves out processes in which the agent does not start.
func (t *pythonTrace) awaitStart(warn func(string, ...any)) {
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

// beat tells the processes that the recorder lives, also before the window opens and while a round waits for a disk.
func (t *pythonTrace) beat() {
	defer t.beating.Done()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-t.stopBeat:
			return
		case <-tick.C:
			for _, p := range t.processes {
				p.Beat()
			}
		}
	}
}

func (t *pythonTrace) open(at int64) {
	if t == nil {
		return
	}
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
	for _, p := range t.processes {
		if p.IsRetired() {
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

// close has the processes remove the agent.
func (t *pythonTrace) close() {
	if t == nil || t.stopBeat == nil {
		return
	}
	close(t.stopBeat)
	t.beating.Wait()
	t.stopBeat = nil
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
	if t.openedAt == 0 || len(t.processes) == 0 {
		return
	}
	now := proc.Monotonic()
	t.calls = t.calls[:0]
	left, lost := uint64(0), uint64(0)
	for _, p := range t.processes {
		more, missing := p.Calls(maxPumped/len(t.processes), func(c pytrace.Call) { t.calls = append(t.calls, pythonCall{Call: c, of: p}) })
		left, lost = left+more, lost+missing
	}
	if t.closedAt != 0 && left == 0 && !t.listed {
		t.listed = true
		for _, p := range t.processes {
			p.OpenCalls(t.closedAt, func(c pytrace.Call) { t.calls = append(t.calls, pythonCall{c, p, true}) })
		}
	}
	byEnd := func(a, b pythonCall) int { return cmp.Compare(a.End, b.End) }
	if !slices.IsSortedFunc(t.calls, byEnd) {
		slices.SortStableFunc(t.calls, byEnd)
	}
	for i := range t.calls {
		t.ring.call(&t.calls[i], t.openedAt)
	}
	if lost > 0 {
		t.ring.lose(lost, now)
	}
	t.ring.behind = left
	t.ring.since = now
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
