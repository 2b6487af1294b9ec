package capture

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"wprof/bpf"
	"wprof/internal/cli"
	"wprof/internal/proc"
	"wprof/internal/pytrace"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

// torchChoice is whose operators of PyTorch are recorded, and whether with the shapes of tensors.
type torchChoice struct {
	bpf.Python
	Shapes bool
}

// shapesWord stands before the processes where shapes are wanted.
const shapesWord = "shapes:"

// setTorch reads what follows the feature: shapes: or not, and a process, or a glob on names of processes, or nothing for all.
func (cfg *Config) setTorch(which string, on bool) error {
	if on && runtime.GOARCH != "amd64" {
		return cli.Usagef("-f %s works on x86-64 only", sources.Torch)
	}
	which, shapes := strings.CutPrefix(which, shapesWord)
	cfg.Torch = torchChoice{Python: bpf.Python{On: on}, Shapes: shapes}
	if pid, err := strconv.ParseInt(which, 10, 32); err == nil && pid > 0 {
		cfg.Torch.PID = int32(pid)
	} else {
		cfg.Torch.Name = cmp.Or(which, "*")
	}
	return nil
}

func checkTorch(which string) error {
	if which == "" {
		return cli.EmptyEntry(sources.Torch+"=", "write it as "+sources.Torch+", "+sources.Torch+"=PID or "+sources.Torch+"=NAME")
	}
	return nil
}

// torchTrace records operators of PyTorch. To the drainer it is a ring, as the trace of calls is, of which it has all but what is read.
type torchTrace struct {
	pythonTrace
	torch     map[*pytrace.Process]*pytrace.TorchProcess
	operators []torchOperator
}

type torchOperator struct {
	pytrace.Operator
	open bool
}

// torchTexts keeps the ids of its texts apart from those of calls.
const torchTexts = 1 << 32

func newTorchTrace(cfg *Config) *torchTrace {
	if !cfg.Torch.On {
		return nil
	}
	t := &torchTrace{torch: make(map[*pytrace.Process]*pytrace.TorchProcess)}
	t.stopBeat, t.ring = make(chan struct{}), pythonRing{generation: 1, base: torchTexts, cpus: cfg.CPUs}
	return t
}

// base is what it has in common with a trace of calls.
func (t *torchTrace) base() *pythonTrace {
	if t == nil {
		return nil
	}
	return &t.pythonTrace
}

// attachTorch attaches to the processes whose operators are recorded. Of all processes few have PyTorch, which their mappings show.
func (s *session) attachTorch() error {
	t := s.rec.torch
	if t == nil {
		return nil
	}
	chosen := s.cfg.Torch
	attach := func(pid int) error {
		if chosen.PID == 0 && !pytrace.HasTorch(pid) {
			return pytrace.ErrNoTorch
		}
		return t.attachProcess(pid, chosen.Shapes)
	}
	return t.attachTo(chosen.Python, attach, s.inv.Warnf, "-f "+sources.Torch+": no process of Python called %s has a PyTorch whose operators can be recorded")
}

func (t *torchTrace) attachProcess(pid int, shapes bool) error {
	p, err := pytrace.AttachTorch(pid, shapes)
	if err != nil {
		return fmt.Errorf("record operators of PyTorch in process %d: %w", pid, err)
	}
	t.add(p.Process)
	t.torch[p.Process] = p
	return nil
}

// pumpPython fills the rings of what the recorder reads from processes of Python.
func (r *recorder) pumpPython() {
	if r.python != nil {
		r.python.pump()
	}
	if r.torch != nil {
		r.torch.pump()
	}
}

// pump moves operators that have ended to the ring, in the order of their ends.
func (t *torchTrace) pump() {
	if t.openedAt == 0 || len(t.processes) == 0 {
		return
	}
	now, lost := proc.Monotonic(), uint64(0)
	for _, p := range t.processes {
		lost += t.torch[p.Process].Operators(func(o pytrace.Operator) { t.operators = append(t.operators, torchOperator{o, false}) })
	}
	complete := now - hookLag.Nanoseconds()
	if t.closedAt != 0 {
		complete = now
		t.listOpenOperators()
	}
	slices.SortStableFunc(t.operators, func(a, b torchOperator) int { return cmp.Compare(a.End, b.End) })
	n := 0
	for ; n < len(t.operators) && t.operators[n].End <= complete; n++ {
		t.ring.operator(&t.operators[n], t.openedAt)
	}
	t.ring.lose(ringdata.TypeTorch, lost, complete, ringdata.MissingCauseFull)
	t.operators = t.operators[:copy(t.operators, t.operators[n:])]
	t.ring.behind = uint64(len(t.operators))
	t.ring.since = complete
}

// listOpenOperators adds those that were open at the close, once.
func (t *torchTrace) listOpenOperators() {
	if t.listed {
		return
	}
	t.listed = true
	for _, p := range t.processes {
		if !p.IsRetired() {
			t.torch[p.Process].OpenOperators(t.closedAt, func(o pytrace.Operator) { t.operators = append(t.operators, torchOperator{o, true}) })
		}
	}
}
