package assemble

import (
	"wprof/format"
	"wprof/internal/spool"
)

// state writes the thread that runs on each CPU and the state of every other thread; open marks it as the state at the end.
func (s *stream) state(at int64, open bool) error {
	s.last = at
	if !s.states {
		return nil
	}
	s.toBegin = !open
	flags := format.Flags(0)
	// Live threads alone may need more definitions than a section may have. Some room is left for the events that follow.
	s.most = s.full / 8 * 7
	if open {
		flags |= format.FlagOpen
		s.most = s.full / 8 * 9
	}
	omitted := uint64(0)
	for n := range s.sched.cpus {
		c := &s.sched.cpus[n]
		if c.Running == nil || !c.Running.visible {
			continue
		}
		if err := s.stateOfCPU(c, uint32(n), at, flags); err != nil {
			return err
		}
	}
	err := s.sched.threads.all(func(t *thread) error {
		if !t.visible || !s.sched.isOff(t) {
			return nil
		}
		if !s.mayName(t.def) {
			omitted++
			return nil
		}
		return s.stateOfThread(t, at, flags)
	})
	s.toBegin = false
	if err != nil || omitted == 0 {
		return err
	}
	return s.lost(at, &spool.Loss{CPU: format.AllCPUs, From: at, Kind: format.KindStateThread, Cause: format.CauseDefinition, Count: omitted})
}

// mayName reports whether a state may name a definition: it is in the section already, or there is room for it.
func (s *stream) mayName(d *definition) bool {
	return s.w.DefinitionBytes() <= s.most || d != nil && d.section == s.section
}

// beginPart is called before each part of a state. The first one begins a block; a state without parts has none.
func (s *stream) beginPart() error {
	if !s.toBegin {
		return nil
	}
	s.toBegin = false
	return s.w.BeginState()
}

func (s *stream) stateOfCPU(c *cpu, n uint32, at int64, flags format.Flags) error {
	if err := s.beginPart(); err != nil {
		return err
	}
	e := &s.e
	c.SetEvent(e, n, s.name(c.Running), at)
	e.Flags |= flags
	return s.write(e, at)
}

func (s *stream) stateOfThread(t *thread, at int64, flags format.Flags) error {
	if err := s.beginPart(); err != nil {
		return err
	}
	task, waker := s.name(t), format.TaskID(0)
	if t.Woken != 0 && t.Waker != nil && s.mayName(t.Waker) {
		waker = s.define(t.Waker)
	}
	e := &s.e
	t.SetEvent(e, task, waker, at)
	e.Flags |= flags
	if flags&format.FlagOpen != 0 && s.w.DefinitionBytes() <= s.most {
		if id := s.stackOf(t.user, t.kernel); id != 0 {
			e.StateThread().SetStack(id)
		}
		if id := s.waits.define(s, t.wait); id != 0 {
			e.StateThread().SetWait(id)
		}
	}
	return s.write(e, at)
}
