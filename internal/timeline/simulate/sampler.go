package simulate

import (
	"fmt"
	"math/rand/v2"

	"wprof/format"
)

// sampler adds samples to the stream of a simulated machine, with stacks of shared frames and modules, and
// gives its threads command lines and cgroups.
type sampler struct {
	writing
	rng      *rand.Rand
	running  map[uint32]format.TaskID
	modules  map[uint32]bool
	frames   map[uint32]bool
	stacks   map[uint32]bool
	commands map[uint32]bool
	cgroups  map[uint32]bool
	lost     uint64 // in the section
}

func newSampler(c writing, seed uint64) *sampler {
	return &sampler{writing: c, rng: rand.New(rand.NewPCG(seed, 11))}
}

func (s *sampler) Begin(session *format.Session) {
	session.Sources = []*format.Source{{Id: 1, Name: "timer", Period: 1e7}, {Id: 2, Name: "other"}}
	s.running, s.modules, s.frames = map[uint32]format.TaskID{}, map[uint32]bool{}, map[uint32]bool{}
	s.stacks, s.commands, s.cgroups = map[uint32]bool{}, map[uint32]bool{}, map[uint32]bool{}
	s.lost = 0
	s.writing.Begin(session)
}

func (s *sampler) End(e *format.End) {
	if s.lost > 0 {
		e.Losses = []*format.Loss{{Cpu: format.AllCPUs, Cause: uint32(format.CauseRing), Count: s.lost}}
	}
	s.writing.End(e)
}

func (s *sampler) Define(d *format.Task) {
	if id := uint32(s.rng.IntN(20)); id > 0 && d.Flags == 0 {
		if !s.commands[id] {
			s.commands[id] = true
			s.check(s.w.DefineCommand(&format.Command{Id: id, Args: fmt.Appendf(nil, "program\x00%d\x00", id)}))
		}
		d.Command = id
	}
	// It changes with the name, and is the same in the next section.
	if n := (uint32(d.Tid) + uint32(len(d.Comm)) + uint32(d.Comm[0])) % 6; n > 0 && d.Flags == 0 {
		if d.Cgroup = n; !s.cgroups[n] {
			s.cgroups[n] = true
			s.check(s.w.DefineText(&format.Text{Id: n, Text: fmt.Appendf(nil, "/slice%d/unit%d", n/3, n)}))
		}
	}
	s.writing.Define(d)
}

func (s *sampler) Event(e *format.Event) {
	isState := e.Kind == format.KindStateCPU || e.Kind == format.KindStateThread
	if !isState && e.Kind != format.KindLost && s.rng.IntN(4) == 0 {
		s.sample(e.Time, uint32(s.rng.IntN(4)))
	}
	s.writing.Event(e)
	switch e.Kind {
	case format.KindLost:
		s.lost += e.Lost().Count()
	case format.KindSwitch:
		s.running[e.CPU] = e.Switch().Next()
	case format.KindStateCPU, format.KindRename, format.KindExec:
		s.running[e.CPU] = e.Task
	}
}

func (s *sampler) sample(at int64, cpu uint32) {
	task := s.running[cpu]
	if task == 0 {
		return
	}
	e := format.Event{Time: at, Kind: format.KindSample, Flags: format.FlagSubject, CPU: cpu, Task: task}
	e.Sample().SetSource(uint64(1 + s.rng.IntN(2)))
	if id := uint32(s.rng.IntN(200)); id > 0 {
		s.defineStack(id)
		e.Sample().SetStack(format.StackID(id))
	}
	s.writing.Event(&e)
}

// defineStack defines a stack that is the same whenever it is defined.
func (s *sampler) defineStack(id uint32) {
	if s.stacks[id] {
		return
	}
	s.stacks[id] = true
	rng := rand.New(rand.NewPCG(uint64(id), 5))
	d := &format.Stack{Id: id, Cut: id%3 == 0}
	for range 1 + rng.IntN(6) {
		d.Frames = append(d.Frames, s.defineFrame(2*uint32(1+rng.IntN(100))))
	}
	for range rng.IntN(4) {
		d.Frames = append(d.Frames, s.defineFrame(2*uint32(1+rng.IntN(100))+1))
		d.KernelFrames++
	}
	s.check(s.w.DefineStack(d))
}

// defineFrame defines a frame: even ones are a process's, odd ones the kernel's.
func (s *sampler) defineFrame(id uint32) uint32 {
	if s.frames[id] {
		return id
	}
	s.frames[id] = true
	d := &format.Frame{Id: id, Offset: uint64(id) << 8, FunctionOffset: 3, Lines: []*format.Line{{Function: fmt.Appendf(nil, "f%d", id)}}}
	if id%5 != 0 {
		d.Module = 2*(id%7) + 2 + id%2
		if !s.modules[d.Module] {
			s.modules[d.Module] = true
			kind := format.ModuleKind_MODULE_FILE
			if id%2 == 1 {
				kind = format.ModuleKind_MODULE_KERNEL_MODULE
			}
			s.check(s.w.DefineModule(&format.Module{Id: d.Module, Path: fmt.Appendf(nil, "m%d", d.Module), Kind: uint32(kind)}))
		}
	}
	s.check(s.w.DefineFrame(d))
	return id
}
