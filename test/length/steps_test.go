package length

import (
	"strconv"

	"wprof/format"
)

// step is a few events of one CPU.
func (s *stream) step() {
	if s.w.DefinitionBytes() >= s.bounds.sectionBytes || s.w.Counts().Events >= s.bounds.sectionEvents {
		s.end(false)
		s.begin()
	}
	cpu := s.random(cpus)
	current := s.cpu[cpu]
	next := s.live[s.random(len(s.live))]
	switch {
	case next.section != 0 && s.isRunning(next):
		s.switchTo(cpu, &s.idle, format.StateInterruptible)
	default:
		s.wake(cpu, current, next)
		s.switchTo(cpu, next, format.StateInterruptible)
	}
	switch n := s.random(lifeLoop / s.bounds.density); {
	case n < 2:
		s.fork(cpu)
	case n < 4:
		s.retire(cpu)
	case n < 6:
		s.sample(cpu)
	case n == 6 && s.random(100) == 0:
		s.lose(cpu)
	}
	// The clock runs evenly in the long run, so that the window of a stream is known when it begins.
	s.now = max(s.now, opensAt+int64(s.wrote.events)*stepNs-stepNs*int64(cpus))
}

func (s *stream) wake(cpu int, by, t *thread) {
	if t.fresh || t.woken {
		return
	}
	v := s.event(format.KindWaking, cpu, by).Waking()
	v.SetWakee(s.define(t))
	v.SetPrio(120)
	v.SetTargetCPU(uint64(cpu))
	if s.random(32/s.bounds.density) == 0 {
		v.SetStack(format.StackID(s.stack()))
	}
	t.woken = true
	s.emit(by, t)
}

func (s *stream) switchTo(cpu int, next *thread, state format.State) {
	prev := s.cpu[cpu]
	if prev == next {
		return
	}
	v := s.event(format.KindSwitch, cpu, prev).Switch()
	v.SetNext(s.define(next))
	v.SetPrevPrio(120)
	v.SetNextPrio(120)
	if prev != &s.idle {
		v.SetPrevState(state)
	}
	if next != &s.idle && !next.fresh {
		v.SetSince(next.since)
		v.SetNextState(next.state)
		if s.random(16/s.bounds.density) == 0 {
			v.SetStack(format.StackID(s.stack()))
		}
	}
	s.emit(prev, next)
	if prev != &s.idle {
		prev.since, prev.state, prev.woken = s.now, state, false
	}
	next.fresh, next.woken = false, false
	if next != &s.idle {
		next.since = s.now
	}
	s.cpu[cpu] = next
}

// newThread creates a thread that is a process of its own.
func (s *stream) newThread(parent *thread) *thread {
	for s.nextTID++; s.nextTID > 4_000_000; {
		s.nextTID = 10_000 // those below live on
	}
	t := &thread{tid: s.nextTID, pid: s.nextTID, start: s.now, since: s.now, fresh: true, comm: strconv.AppendInt([]byte("first"), int64(s.nextTID), 10)}
	if parent != nil {
		t.comm = parent.comm
	}
	s.wrote.threads++
	s.live = append(s.live, t)
	return t
}

// fork lets the thread on the CPU make another one, which runs at once, takes a name and runs a program.
func (s *stream) fork(cpu int) {
	parent := s.cpu[cpu]
	if parent == &s.idle || len(s.live) >= 2*alive {
		return
	}
	child := s.newThread(parent)
	s.event(format.KindFork, cpu, parent).Fork().SetChild(s.define(child))
	s.emit(parent, child)
	v := s.event(format.KindWakeupNew, cpu, parent).WakeupNew()
	v.SetWakee(s.define(child))
	v.SetPrio(120)
	v.SetTargetCPU(uint64(cpu))
	s.emit(parent, child)
	s.switchTo(cpu, child, format.StatePreempted)

	before := child.def
	child.comm = strconv.AppendUint([]byte("w"), s.wrote.threads, 10)
	child.command = s.command(child)
	s.redefine(child, before)
	s.event(format.KindRename, cpu, child).Rename().SetPrev(format.TaskID(before))
	s.emit(child, nil)
	e := s.event(format.KindExec, cpu, child)
	e.Exec().SetPrev(format.TaskID(before))
	e.Data = append([]byte("/usr/bin/"), child.comm...)
	s.emit(child, nil)
}

// retire ends the thread on the CPU while there are more than at the beginning, but never those that were there then.
func (s *stream) retire(cpu int) {
	t := s.cpu[cpu]
	if t == &s.idle || t.start == opensAt {
		return
	}
	s.event(format.KindExit, cpu, t)
	s.e.Flags |= format.ExitLast
	s.emit(t, nil)
	s.switchTo(cpu, &s.idle, format.StateDead)
	s.event(format.KindFree, cpu, t)
	s.emit(t, nil)
	for i, x := range s.live {
		if x == t {
			s.live[i] = s.live[len(s.live)-1]
			s.live = s.live[:len(s.live)-1]
			break
		}
	}
	if len(s.ended) < format.MaxProcesses {
		s.ended = append(s.ended, t)
	}
}

func (s *stream) sample(cpu int) {
	if t := s.cpu[cpu]; t != &s.idle {
		v := s.event(format.KindSample, cpu, t).Sample()
		v.SetStack(format.StackID(s.stack()))
		v.SetSource(1)
		s.emit(t, nil)
	}
}

// lose writes that records of a CPU are missing; in fact none is.
func (s *stream) lose(cpu int) {
	s.now++
	s.e = format.Event{Time: s.now, Kind: format.KindLost, Flags: format.FlagSubject, CPU: uint32(cpu)}
	s.e.Args = [format.MaxArgs]uint64{uint64(s.now - 1000), 5, uint64(format.CauseRing), 0}
	s.lost[uint32(cpu)] += 5
	s.wrote.lost += 5
	s.emit(nil, nil)
}
