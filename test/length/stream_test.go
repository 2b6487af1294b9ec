package length

import (
	"io"
	"strconv"

	"wprof/format"
)

const (
	opensAt  = int64(1e12)
	stepNs   = 1500 // between two events
	cpus     = 8
	alive    = 1024 // threads at any time, besides the idle ones
	lifeLoop = 64   // steps of a CPU to two new threads, at a density of 1
	keptPID  = 17   // a process that lives all the time
)

// stream writes a recording that never repeats itself: threads are forked, get a new name, run a program with
// a command line of its own, and exit; they leave stacks of frames in modules that come and go. A fixed number of them live at a
// time. It is the same for the same length.
type stream struct {
	w       *format.Writer
	err     error
	bounds  bounds
	session *format.Session
	rng     uint64

	live    []*thread
	ended   []*thread     // in this section, as many as the recorder would keep
	cpu     [cpus]*thread // who runs
	idle    thread
	nextTID int32
	section uint32
	lost    map[uint32]uint64 // of the section, by CPU
	ids     struct{ task, stack, frame, module, command uint32 }
	e       format.Event
	now     int64

	wrote   written
	selects predicate // nil: nothing is counted
}

// written is what the generator wrote.
type written struct {
	events, selected      uint64
	kinds, selectedKinds  [format.MaxKind + 1]uint64
	threads, stacks, lost uint64
	sections              int
	definitions           uint64
}

// thread is a live one.
type thread struct {
	tid, pid int32
	start    int64
	comm     []byte
	since    int64
	state    format.State
	flags    uint32
	section  uint32 // in which def holds
	def      uint32
	command  uint32
	woken    bool
	fresh    bool // has never run
}

// generate writes a stream of that many events, as fast as it is read. selects selects those to count.
func generate(w io.Writer, b bounds, selects func(total uint64) predicate) (written, error) {
	s := &stream{
		w: format.NewWriter(w, format.WriterOptions{}), bounds: b,
		rng: 88172645463325252, nextTID: keptPID - 1, now: opensAt,
		idle: thread{comm: []byte("swapper"), flags: uint32(format.TaskFlag_TASK_FLAG_IDLE)},
	}
	if selects != nil {
		s.selects = selects(b.events)
	}
	for range alive {
		t := s.newThread(nil)
		t.fresh, t.state, t.since = false, format.StateInterruptible, opensAt-1000
	}
	for i := range s.cpu {
		s.cpu[i] = &s.idle
	}
	s.begin()
	for s.err == nil && s.wrote.events < b.events {
		s.step()
	}
	s.close()
	return s.wrote, s.err
}

// closesAt is when the window of a stream of that many events closes.
func closesAt(total uint64) int64 { return opensAt + int64(total+10_000)*stepNs }

func (s *stream) must(err error) {
	if s.err == nil {
		s.err = err
	}
}

// random is a number below n (xorshift64; it has to be cheap).
func (s *stream) random(n int) int {
	s.rng ^= s.rng << 13
	s.rng ^= s.rng >> 7
	s.rng ^= s.rng << 17
	return int(s.rng >> 33 % uint64(n))
}

func (s *stream) begin() {
	close := closesAt(s.bounds.events)
	s.session = &format.Session{
		Id: 99, Host: "box", BootId: "boot", KernelRelease: "6.18.0", Machine: "x86_64", Open: opensAt, Close: close,
		Continues: s.section > 0, Epoch: s.section, Sources: []*format.Source{{Id: 1, Name: "timer", Period: 10e6}},
		Clocks: []*format.ClockSnapshot{{Monotonic: opensAt, Boottime: opensAt, Realtime: 1_700_000_000_000_000_000}},
	}
	for i := range uint32(cpus) {
		s.session.Cpus = append(s.session.Cpus, &format.Cpu{Id: i})
	}
	s.must(s.w.Begin(s.session))
	s.section++
	s.ids.task, s.ids.stack, s.ids.frame, s.ids.module, s.ids.command = 0, 0, 0, 0, 0
	s.lost = map[uint32]uint64{}
	s.state(0)
}

// state writes the states of CPUs and threads.
func (s *stream) state(flags format.Flags) {
	if flags == 0 {
		s.must(s.w.BeginState())
	}
	for i, t := range s.cpu {
		v := s.eventNow(format.KindStateCPU, i, t).StateCPU()
		v.SetPrio(120)
		v.SetSince(min(t.since, s.now))
		s.e.Flags |= flags
		s.emit(t, nil)
	}
	for _, t := range s.live {
		if s.isRunning(t) {
			continue
		}
		v := s.eventNow(format.KindStateThread, 0, t).StateThread()
		v.SetState(t.state)
		v.SetPrio(120)
		v.SetSince(t.since)
		s.e.Flags |= flags
		if t.fresh {
			s.e.Flags |= format.StateNew
		}
		s.emit(t, nil)
	}
}

func (s *stream) isRunning(t *thread) bool {
	for _, r := range s.cpu {
		if r == t {
			return true
		}
	}
	return false
}

func (s *stream) end(last bool) {
	e := &format.End{Close: s.now, Last: last, Cost: &format.RecorderCost{RingBytes: 1}}
	for cpu, n := range s.lost {
		e.Losses = append(e.Losses, &format.Loss{Cpu: cpu, Cause: uint32(format.CauseRing), Count: n})
	}
	for _, t := range append(s.ended, s.live...) {
		e.Processes = append(e.Processes, &format.ProcessTime{Pid: t.pid, Comm: t.comm, Ns: 1000, Start: t.start})
	}
	s.ended = s.ended[:0]
	s.must(s.w.EndSection(e))
	s.wrote.sections++
	s.wrote.definitions += e.Definitions
}

func (s *stream) close() {
	s.now = closesAt(s.bounds.events)
	s.state(format.FlagOpen)
	s.end(true)
}

// define returns the id of a thread's current task.
func (s *stream) define(t *thread) format.TaskID {
	if t.section == s.section {
		return format.TaskID(t.def)
	}
	return s.redefine(t, 0)
}

func (s *stream) redefine(t *thread, continues uint32) format.TaskID {
	s.ids.task++
	if t.section != s.section && t.tid != 0 {
		t.command = s.command(t)
	}
	t.section, t.def = s.section, s.ids.task
	ppid := int32(1)
	if t.tid == 0 {
		ppid = 0
	}
	s.must(s.w.DefineTask(&format.Task{
		Id: t.def, Tid: t.tid, Pid: t.pid, Ppid: ppid, Start: t.start, Comm: t.comm, ProcessComm: t.comm,
		Flags: t.flags, Continues: continues, Command: t.command,
	}))
	return format.TaskID(t.def)
}

func (s *stream) command(t *thread) uint32 {
	s.ids.command++
	args := append([]byte("/usr/bin/program\x00--for="), t.comm...)
	s.must(s.w.DefineCommand(&format.Command{Id: s.ids.command, Args: append(args, 0)}))
	return s.ids.command
}

// stack defines a new one, with some new frames, or returns one that was defined before.
func (s *stream) stack() uint64 {
	if s.ids.stack > 100 && s.random(8) != 0 {
		return uint64(s.ids.stack - uint32(s.random(100)))
	}
	if s.ids.module == 0 || s.random(200) == 0 {
		s.ids.module++
		s.must(s.w.DefineModule(&format.Module{
			Id: s.ids.module, Path: strconv.AppendUint([]byte("/tmp/library"), s.rng%1e6, 10), Kind: uint32(format.ModuleKind_MODULE_FILE),
			BuildId: strconv.AppendUint([]byte("id"), s.rng, 16),
		}))
	}
	f := &format.Frame{Module: s.ids.module, Offset: 16 + s.rng&0xffffff, Caller: true}
	if s.random(2) == 0 { // the others are wprof-symbolize's to name
		f.FunctionOffset, f.Lines = 3, []*format.Line{{Function: strconv.AppendUint([]byte("function"), s.rng, 36)}}
	}
	s.ids.frame++
	f.Id = s.ids.frame
	s.must(s.w.DefineFrame(f))
	s.ids.stack++
	var frames [8]uint32
	for i := range frames {
		frames[i] = max(1, s.ids.frame-min(s.ids.frame, uint32(7-i)))
	}
	s.must(s.w.DefineStack(&format.Stack{Id: s.ids.stack, Frames: frames[:]}))
	s.wrote.stacks++
	return uint64(s.ids.stack)
}

func (s *stream) event(kind format.Kind, cpu int, t *thread) *format.Event {
	s.now += 1 + int64(s.rng&511)
	return s.eventNow(kind, cpu, t)
}

func (s *stream) eventNow(kind format.Kind, cpu int, t *thread) *format.Event {
	s.e = format.Event{Time: s.now, Kind: kind, Flags: format.FlagSubject, CPU: uint32(cpu), Task: s.define(t)}
	return &s.e
}

// emit writes the event of these two threads.
func (s *stream) emit(of, other *thread) {
	if other != nil {
		s.e.Flags |= format.FlagObject
	}
	s.must(s.w.Write(&s.e))
	s.wrote.events++
	s.wrote.kinds[s.e.Kind]++
	if s.selects != nil && s.selects(&s.e, of, other) {
		s.wrote.selected++
		s.wrote.selectedKinds[s.e.Kind]++
	}
}
