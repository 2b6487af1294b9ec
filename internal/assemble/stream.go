package assemble

import (
	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/spool"
)

const (
	stateEvery = int64(10e9) // ns between states
	epochEvery = int64(60e9) // ns between epochs of a live stream
	// stateQuiet is how long states are written when nothing happens. It also bounds the states before a damaged time.
	stateQuiet = int64(600e9)
)

// stream writes the sections of one recording: it numbers definitions and puts states where they belong.
type stream struct {
	w      *format.Writer
	sched  *schedState
	states bool // states are known: switches are recorded
	live   bool

	session   *format.Session // of the current section
	section   uint32          // its number from 1; 0: none yet
	id        format.TaskID   // of the last task
	from      int64           // when the window opened; never: it has not yet
	last      int64           // time of the last event
	toBegin   bool            // the next part of a state is its first
	nextState int64
	nextEpoch int64
	due       int64                 // the earlier one; before the opening, the opening; never: there is nothing to wait for
	full      int64                 // bytes of definitions at which an epoch begins
	most      int64                 // bytes of definitions beyond which a state defines nothing more
	clocks    *format.ClockSnapshot // the latest
	losses    format.LossCounts     // of the section
	allLosses format.LossCounts
	scratch   format.Task
	commands  commands
	waits     waitTable
	types     typeTable
	cgroups   cgroupTable
	calls     callTable
	packets   packetTable
	e         format.Event // for what is rare

	stackOf func(user, kernel *stackDef) format.StackID

	summary Summary
	counts  [format.MaxKind + 1]uint64
}

// begin opens the window: the first section, and the state.
func (s *stream) begin(at, end int64) error {
	s.session.Open, s.session.Close = at, end
	s.from, s.last, s.sched.opened = at, at, at
	s.summary.Open = at
	s.nextState, s.nextEpoch = at, never
	if s.live {
		s.nextEpoch = later(at, epochEvery)
	}
	for _, g := range s.sched.processes {
		g.ns = 0
	}
	s.sched.finished = nil
	for i := range s.sched.cpus {
		s.sched.cpus[i].counted = at
	}
	return s.beginSection()
}

func (s *stream) beginSection() error {
	s.section++
	s.id = 0
	s.commands.begin()
	s.waits.last = 0
	s.types.last = 0
	s.summary.Sections++
	return s.w.Begin(s.session)
}

// reach does what is due at or before a time: it comes before the events of that time.
func (s *stream) reach(at int64) error {
	defer func() { s.due = min(s.nextState, s.nextEpoch) }()
	for min(s.nextState, s.nextEpoch) <= at {
		var err error
		if s.nextEpoch <= s.nextState {
			err = s.epoch(max(s.nextEpoch, s.last))
		} else {
			err = s.state(s.nextState, false)
			s.nextState = later(s.nextState, stateEvery)
			if quiet := at - s.nextState; quiet > stateQuiet {
				s.nextState += (quiet - stateQuiet) / stateEvery * stateEvery
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// later adds to a time without overflow: damaged times can be near the maximum.
func later(at, by int64) int64 {
	if at > never-by {
		return never
	}
	return at + by
}

// epoch ends the section and begins the next one.
func (s *stream) epoch(at int64) error {
	end := &format.End{Close: at}
	if err := s.endSection(end, at); err != nil {
		return err
	}
	session := proto.Clone(s.session).(*format.Session)
	session.Continues = true
	session.Epoch++
	if s.clocks != nil {
		session.Clocks = []*format.ClockSnapshot{s.clocks}
	}
	s.session = session
	if err := s.beginSection(); err != nil {
		return err
	}
	s.nextState, s.nextEpoch = later(at, stateEvery), never
	if s.live {
		s.nextEpoch = later(at, epochEvery)
	}
	return s.state(at, false)
}

func (s *stream) endSection(end *format.End, at int64) error {
	s.sched.count(at)
	end.Processes = s.sched.processTimes()
	end.Losses = s.losses.List()
	s.losses = nil
	return s.w.EndSection(end)
}

// write writes an event of a time, or, if that is too late for its place, at the earliest time still possible.
func (s *stream) write(e *format.Event, at int64) error {
	e.Time = at
	e.Flags &^= format.FlagLate
	if at < s.last {
		e.Time, e.Own = s.last, at
		e.Flags |= format.FlagLate
		s.summary.Late++
	}
	s.last = e.Time
	s.counts[e.Kind]++
	return s.w.Write(e)
}

// lost writes that events are missing, and counts them.
func (s *stream) lost(at int64, l *spool.Loss) error {
	e := &s.e
	*e = format.Event{Kind: format.KindLost, Flags: format.FlagSubject, CPU: l.CPU}
	v := e.Lost()
	v.SetFrom(min(max(l.From, s.from), at))
	v.SetCount(l.Count)
	v.SetCause(l.Cause)
	v.SetWhat(l.Kind)
	if of := s.types.lostName(l.Type); of != "" {
		v.SetType([]byte(of))
	}
	s.summary.Lost += l.Count
	s.summary.LostByCause[l.Cause] += l.Count
	s.addLoss(l)
	return s.write(e, at)
}

func (s *stream) addLoss(l *spool.Loss) {
	one := &format.Loss{Cpu: l.CPU, Kind: uint32(l.Kind), Cause: uint32(l.Cause), Count: l.Count, Type: []byte(s.types.lostName(l.Type))}
	s.losses.Add(one)
	s.allLosses.Add(one)
}

// finish ends the last section.
func (s *stream) finish(at int64, cost *format.RecorderCost, clocks *format.ClockSnapshot) error {
	end := &format.End{Close: at, Last: true, Cost: cost}
	if clocks != nil {
		end.Clocks = []*format.ClockSnapshot{clocks}
	}
	s.summary.Close = at
	return s.endSection(end, at)
}
