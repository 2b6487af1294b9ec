package simulate

import "wprof/format"

// Run simulates a number of steps and writes one session.
func (m *Machine) Run(steps int) {
	m.session = &format.Session{
		Id: m.o.Seed + 1, Host: "box", BootId: "boot", Open: m.Now, Close: m.Now + int64(steps)*1000,
		Clocks: []*format.ClockSnapshot{{Monotonic: m.Now, Boottime: m.Now, Realtime: 1_700_000_000_000_000_000}},
	}
	stop := m.session.Close
	m.sink.Begin(m.session)
	m.WriteState()
	for range steps {
		m.Now += int64(1 + m.rng.IntN(990))
		m.step()
		if m.o.Interrupts && m.Now < stop {
			m.interrupt(m.rng.IntN(len(m.CPUs)), m.rng.IntN(4))
		}
	}
	m.Now = stop
	if m.lossy >= 0 {
		m.toLose = 0
		m.endLoss(m.Now)
	}
	m.writeState(format.FlagOpen)
	m.sink.End(&format.End{Close: stop, Last: true})
}

func (m *Machine) step() {
	cpu := m.rng.IntN(len(m.CPUs))
	current := m.CPUs[cpu].Running
	switch n := m.rng.IntN(200); {
	case n < 80:
		m.SwitchOut(cpu)
	case n < 140:
		m.wakeSome(cpu)
	case n < 150 && current != m.idle && len(m.Threads) < 3*m.o.Threads:
		m.fork(cpu)
	case n < 158 && current != m.idle:
		m.rename(cpu, current)
	case n < 160 && current != m.idle && len(m.Threads) > 0:
		m.rename(cpu, m.Threads[m.rng.IntN(len(m.Threads))])
	case n < 165 && current != m.idle:
		m.exec(cpu)
	case n < 175 && current != m.idle && len(m.Threads) > m.o.Threads/2:
		m.exit(cpu)
	case n < 177 && m.o.Losses && m.lossy < 0:
		m.lossy, m.toLose, m.from = cpu, 1+m.rng.IntN(6), m.Now
	case n < 178 && m.lossy < 0:
		m.WriteState()
	case n < 179 && m.lossy < 0 && m.o.Epochs:
		m.epoch()
	}
}

// SwitchOut switches a CPU to another thread, or to the idle one.
func (m *Machine) SwitchOut(cpu int) {
	state := format.StateRunnable
	switch m.rng.IntN(5) {
	case 0:
		state = format.StatePreempted
	case 1:
		state = format.StateUninterruptible
	case 2, 3:
		state = format.StateInterruptible
	}
	m.switchTo(cpu, m.pick(), state)
}

// pick returns a runnable thread, or the idle one.
func (m *Machine) pick() *Thread {
	var ready []*Thread
	for _, t := range m.Threads {
		if t.Status == Runnable {
			ready = append(ready, t)
		}
	}
	if len(ready) == 0 {
		return m.idle
	}
	return ready[m.rng.IntN(len(ready))]
}

func (m *Machine) switchTo(cpu int, next *Thread, state format.State) {
	c := &m.CPUs[cpu]
	prev := c.Running
	if prev == next {
		return
	}
	e := m.event(format.KindSwitch, cpu, prev)
	v := e.Switch()
	v.SetNext(m.define(next))
	v.SetPrevPrio(prev.Prio)
	v.SetNextPrio(next.Prio)
	if prev == m.idle {
		state = format.StateRunnable
	}
	v.SetPrevState(state)
	if next != m.idle && !next.New {
		v.SetSince(next.Since)
		v.SetNextState(next.State)
	}
	if prev != m.idle {
		prev.State, prev.Since, prev.Woken, prev.Waker = state, m.Now, 0, nil
		prev.Status = Sleeping
		switch {
		case state&(format.StateDead|format.StateZombie) != 0:
			prev.Status = Zombie
		case state&^format.StatePreempted == 0:
			prev.Status = Runnable
		case prev.Early.At != 0 && m.rng.IntN(2) == 0:
			prev.Status, prev.Raced = Runnable, true
		}
		if !prev.Raced {
			prev.Early = Early{}
		}
	}
	if next != m.idle {
		next.Early, next.Raced = Early{}, false
		next.Status, next.CPU, next.State, next.Since, next.Woken, next.Waker, next.New = Running, cpu, 0, m.Now, 0, nil, false
	}
	c.Running, c.Since = next, m.Now
	m.emit(e)
}

func (m *Machine) event(kind format.Kind, cpu int, task *Thread) *format.Event {
	return &format.Event{Time: m.Now, Kind: kind, CPU: uint32(cpu), Task: m.define(task)}
}

func (m *Machine) wakeSome(cpu int) {
	if len(m.Threads) == 0 {
		return
	}
	t := m.Threads[m.rng.IntN(len(m.Threads))]
	early := m.o.Races && t.Status == Running && t.CPU != cpu
	if t.Status != Sleeping && !early && (t.Status != Runnable || t.New || t.Raced) {
		return
	}
	e := m.event(format.KindWaking, cpu, m.CPUs[cpu].Running)
	v := e.Waking()
	v.SetWakee(m.define(t))
	v.SetPrio(t.Prio + int32(m.rng.IntN(2)))
	v.SetTargetCPU(uint64(t.CPU))
	if early {
		t.Early = Early{m.Now, m.CPUs[cpu].Running}
	} else {
		t.Status = Runnable
	}
	if t.Woken == 0 && !early {
		t.Woken, t.Waker, t.wakerID, t.wakerCPU = m.Now, m.CPUs[cpu].Running, e.Task, cpu
	}
	m.emit(e)
}

func (m *Machine) fork(cpu int) {
	parent := m.CPUs[cpu].Running
	child := m.spawn(parent, m.rng.IntN(2) == 0)
	e := m.event(format.KindFork, cpu, parent)
	e.Fork().SetChild(m.define(child))
	m.emit(e)
	m.Now += int64(m.rng.IntN(3))
	e = m.event(format.KindWakeupNew, cpu, parent)
	v := e.WakeupNew()
	v.SetWakee(m.define(child))
	v.SetPrio(child.Prio)
	v.SetTargetCPU(uint64(child.CPU))
	child.Since, child.Woken, child.Waker, child.wakerID, child.wakerCPU = m.Now, m.Now, parent, e.Task, cpu
	m.emit(e)
}

// rename gives a thread a new name. The thread that runs on the CPU is the one that renames.
func (m *Machine) rename(cpu int, t *Thread) {
	m.setName(t, m.name(), func(prev format.TaskID) {
		e := m.event(format.KindRename, cpu, t)
		e.Rename().SetPrev(prev)
		m.emit(e)
	})
}

// setName sets a thread's name. A leader's name is also that of its process: with Options.SilentRenames the other threads have a
// new definition from their next event on.
func (m *Machine) setName(t *Thread, name string, emit func(prev format.TaskID)) {
	prev := m.define(t)
	t.Comm, t.dirty = name, true
	if t.Process.Leader == t {
		t.Process.Comm = name
		for _, other := range m.Threads {
			if other.Process == t.Process && m.o.SilentRenames {
				other.dirty = true
			}
		}
	}
	emit(prev)
}

// exec comes with a rename before it. The last thread of a process takes the place of a leader that has exited.
func (m *Machine) exec(cpu int) {
	t := m.CPUs[cpu].Running
	if t.Process.live > 1 || t.Kthread {
		return
	}
	old := t.TID
	prev := m.define(t)
	if leader := t.Process.Leader; leader != t {
		t.TID, t.Start = leader.TID, leader.Start
		t.Process.Leader, t.dirty = t, true
	}
	complete := m.Complete
	m.Complete = false // between rename and exec the stream does not show yet that the tid has changed
	m.setName(t, m.name(), func(format.TaskID) {
		e := m.event(format.KindRename, cpu, t)
		e.Rename().SetPrev(prev)
		m.emit(e)
	})
	m.Complete = complete
	e := m.event(format.KindExec, cpu, t)
	v := e.Exec()
	v.SetPrev(prev)
	v.SetFilename([]byte("/bin/" + t.Comm))
	if old != t.TID {
		v.SetOldTID(uint64(old))
	}
	m.emit(e)
}

// exit ends the thread that runs. Its tid can be reused, except a leader's while other threads of its process live.
func (m *Machine) exit(cpu int) {
	t := m.CPUs[cpu].Running
	t.Process.live--
	e := m.event(format.KindExit, cpu, t)
	if t.Process.live == 0 {
		e.Flags |= format.ExitLast
	}
	m.emit(e)
	m.Now += int64(m.rng.IntN(3))
	for i, x := range m.Threads {
		if x == t {
			m.Threads = append(m.Threads[:i], m.Threads[i+1:]...)
			break
		}
	}
	m.switchTo(cpu, m.pick(), format.StateDead)
	if t.Process.Leader == t && t.Process.live > 0 {
		return
	}
	m.emit(m.event(format.KindFree, m.rng.IntN(len(m.CPUs)), t))
}

// WriteState writes the state of all CPUs and threads.
func (m *Machine) WriteState() {
	m.sink.State()
	m.writeState(0)
}

func (m *Machine) writeState(flags format.Flags) {
	for i, c := range m.CPUs {
		e := m.event(format.KindStateCPU, i, c.Running)
		e.StateCPU().SetPrio(c.Running.Prio)
		e.StateCPU().SetSince(c.Since)
		e.Flags |= flags
		m.emit(e)
	}
	for _, t := range m.Threads {
		if t.Status == Running {
			continue
		}
		e := m.event(format.KindStateThread, t.CPU, t)
		v := e.StateThread()
		v.SetState(t.State)
		v.SetPrio(t.Prio)
		v.SetSince(t.Since)
		if t.Woken != 0 {
			if t.wakerID == 0 {
				t.wakerID = m.define(t.Waker)
			}
			v.SetWoken(t.Woken)
			v.SetWaker(t.wakerID)
			v.SetWakerCPU(uint64(t.wakerCPU))
		}
		if t.New {
			e.Flags |= format.StateNew
		}
		e.Flags |= flags
		m.emit(e)
	}
}

// epoch begins a section that continues the session, with new ids.
func (m *Machine) epoch() {
	m.sink.End(&format.End{Close: m.Now})
	m.session = &format.Session{
		Id: m.session.Id, Host: "box", BootId: "boot", Open: m.session.Open, Close: m.session.Close,
		Continues: true, Epoch: m.session.Epoch + 1,
	}
	m.nextID = 0
	m.idle.def = 0
	for _, t := range m.Threads {
		t.def, t.dirty, t.wakerID = 0, false, 0
		if t.Process.Leader.def != 0 && !m.live(t.Process.Leader) {
			t.Process.Leader.def = 0
		}
		if t.Waker != nil && !m.live(t.Waker) && t.Waker != m.idle {
			t.Waker.def = 0
		}
	}
	m.sink.Begin(m.session)
	m.WriteState()
}

func (m *Machine) live(t *Thread) bool {
	for _, x := range m.Threads {
		if x == t {
			return true
		}
	}
	return false
}
