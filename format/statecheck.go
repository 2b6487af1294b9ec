package format

import "strconv"

// noState is the problem of a block whose events do not begin with the state that its header claims.
const noState = "the block does not begin with a state, although its header says so"

// StateCheck compares the events of one state with each other.
type StateCheck struct {
	claimed bool // the block's header claims that it begins with a state
	open    bool // the events so far are a state
	at      int64
	cpus    map[uint32]bool
	threads map[TaskID]bool
}

// BeginBlock is called before the events of a block; claimed: its header has [BlockState].
func (s *StateCheck) BeginBlock(claimed bool) {
	if claimed {
		*s = StateCheck{claimed: true}
	}
	s.claimed = claimed
}

// Event takes the next event of the block, and returns what contradicts the state that it is part of; "": nothing. The idle
// thread may run on several CPUs.
func (s *StateCheck) Event(e *Event, isIdle bool) string {
	if !e.IsState() {
		claimed := s.claimed
		s.claimed, s.open = false, s.open && e.Time == s.at
		if claimed {
			return noState
		}
		return ""
	}
	if s.claimed {
		*s = StateCheck{open: true, at: e.Time, cpus: map[uint32]bool{}, threads: map[TaskID]bool{}}
	}
	if !s.open || s.at != e.Time {
		return "" // a state event elsewhere reports one thread only
	}
	if e.Kind == KindStateCPU {
		if s.cpus[e.CPU] {
			return "the state reports two threads on " + CPUName(e.CPU)
		}
		s.cpus[e.CPU] = true
	}
	if e.Task == 0 || isIdle {
		return ""
	}
	if s.threads[e.Task] {
		return "the state reports task " + strconv.FormatUint(uint64(e.Task), 10) + " twice"
	}
	s.threads[e.Task] = true
	return ""
}

// IsState reports whether the event is part of a state, as opposed to what is still open at the end.
func (e *Event) IsState() bool {
	return (e.Kind == KindStateCPU || e.Kind == KindStateThread) && e.Flags&FlagOpen == 0
}

// CPUName is a CPU as the text form writes it: cpu0, or all.
func CPUName(cpu uint32) string {
	if cpu == AllCPUs {
		return "all"
	}
	return "cpu" + strconv.FormatUint(uint64(cpu), 10)
}
