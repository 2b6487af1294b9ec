package sideband

import (
	"bytes"
	"cmp"
	"slices"

	"wprof/format"
)

// State is what the side-band records of a recording have reported, as far as it still holds: the mappings of live processes, their
// command lines, and the functions of the kernel. A flight recorder, which drops its oldest records, writes it at the beginning of what it
// keeps. Its memory is that of [Tables], and of the records of the last StateLag.
type State struct {
	tables    *Tables
	functions []kernelFunction // by address; they do not overlap
	commands  map[uint32]commandLine
	unread    map[uint32]bool // processes that run a program whose command line is unknown
	waiting   []waiting
	sorted    bool // waiting is
}

// StateLag is how long, in ns, records wait to be applied: what is read from a file, such as its build-id, is reported later than the
// mapping to which it applies.
const StateLag = int64(5e9)

type kernelFunction struct {
	from, to uint64
	record   Record
}

type commandLine struct {
	words []byte
	cut   bool
}

// waiting is a record that is not applied yet.
type waiting struct {
	at  int64
	raw []byte
}

const (
	// maxFunctions bounds the kernel's functions, maxCommands the bytes of command lines: as many as processes of usual ones.
	maxFunctions = 1 << 17
	maxCommands  = 1 << 17
)

// NewState returns the state of a recording that has not begun.
func NewState() *State {
	return &State{tables: NewTables(), commands: make(map[uint32]commandLine), unread: make(map[uint32]bool), sorted: true}
}

// Add adds the next records, which belong to the state from now on.
func (s *State) Add(records []byte) {
	var r Record
	for len(records) > 0 {
		length, err := Next(records, &r)
		if err != nil {
			return
		}
		switch r.Kind {
		case KindLost, KindThrottled, KindUnthrottled:
		default:
			s.waiting = append(s.waiting, waiting{r.Time, records[:length:length]})
			s.sorted = false
		}
		records = records[length:]
	}
}

// sort puts what waits into the order of time; what was read from a file comes before the mapping of the same time.
func (s *State) sort() {
	if s.sorted {
		return
	}
	isKept := func(w *waiting) int {
		if Kind(w.raw[2]) == KindKept {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(s.waiting, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(isKept(&a), isKept(&b)))
	})
	s.sorted = true
}

// Until applies the records before a time.
func (s *State) Until(at int64) {
	s.sort()
	n := 0
	var r Record
	for ; n < len(s.waiting) && s.waiting[n].at < at; n++ {
		if _, err := Next(s.waiting[n].raw, &r); err == nil {
			s.apply(&r)
		}
	}
	rest := copy(s.waiting, s.waiting[n:])
	clear(s.waiting[rest:])
	s.waiting = s.waiting[:rest]
}

func (s *State) apply(r *Record) {
	switch r.Kind {
	case KindCommand:
		s.setCommand(r)
	case KindFunction:
		s.function(r)
	case KindFunctionGone:
		first, last := s.overlapped(r.Start, r.Start+r.Length)
		s.functions = slices.Delete(s.functions, first, last)
	case KindFork:
		delete(s.commands, r.PID)
		if parent, ok := s.commands[r.Parent]; ok && len(s.commands) < maxCommands {
			s.commands[r.PID] = parent
		}
		delete(s.unread, r.PID)
		if s.unread[r.Parent] {
			s.unread[r.PID] = true
		}
		s.tables.Apply(r)
	case KindExec:
		delete(s.commands, r.PID)
		s.unread[r.PID] = true
		s.tables.Apply(r)
	default:
		s.tables.Apply(r)
	}
}

// SetCommands takes the command lines that processes have now.
func (s *State) SetCommands(records []byte) {
	var r Record
	for len(records) > 0 {
		length, err := Next(records, &r)
		if err != nil {
			return
		}
		s.setCommand(&r)
		records = records[length:]
	}
}

func (s *State) setCommand(r *Record) {
	delete(s.unread, r.PID)
	if len(s.commands) < maxCommands || len(s.commands[r.PID].words) > 0 {
		s.commands[r.PID] = commandLine{bytes.Clone(r.Data), r.Cut}
	}
}

func (s *State) function(r *Record) {
	if r.Length == 0 || r.Start+r.Length < r.Start {
		return
	}
	first, last := s.overlapped(r.Start, r.Start+r.Length)
	if len(s.functions)-(last-first) >= maxFunctions {
		return
	}
	own := *r
	own.BuildID, own.Path, own.Data = nil, bytes.Clone(r.Path), bytes.Clone(r.Data)
	s.functions = slices.Replace(s.functions, first, last, kernelFunction{r.Start, r.Start + r.Length, own})
}

// overlapped returns the range of functions that overlap the addresses from..to.
func (s *State) overlapped(from, to uint64) (first, last int) {
	first, _ = slices.BinarySearchFunc(s.functions, from, func(f kernelFunction, a uint64) int { return cmp.Compare(f.to, a+1) })
	for last = first; last < len(s.functions) && s.functions[last].from < to; last++ {
	}
	return first, max(first, last)
}

// Forget drops processes that have ended. It visits all of them.
func (s *State) Forget(isLive func(pid uint32) bool) {
	s.tables.DropEnded(isLive)
	began := make(map[uint32]bool) // since: their first records wait
	var r Record
	for i := range s.waiting {
		if kind := Kind(s.waiting[i].raw[2]); kind != KindExec && kind != KindFork && kind != KindMap {
			continue
		}
		if _, err := Next(s.waiting[i].raw, &r); err == nil {
			began[r.PID] = true
		}
	}
	for pid := range s.commands {
		if s.tables.processes[pid] == nil && !began[pid] {
			delete(s.commands, pid)
		}
	}
	for pid := range s.unread {
		if s.tables.processes[pid] == nil {
			delete(s.unread, pid)
		}
	}
}

// Unread returns the processes whose command lines are to be read, for SetCommands: those that have run another program since the
// recording began.
func (s *State) Unread() (pids []int) {
	for pid := range s.unread {
		pids = append(pids, int(pid))
	}
	var r Record
	for i := range s.waiting {
		if Kind(s.waiting[i].raw[2]) != KindExec {
			continue
		}
		if _, err := Next(s.waiting[i].raw, &r); err == nil {
			pids = append(pids, int(r.PID))
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// Append appends the state: what held at a time before which all records were applied, and the records since then as they are.
func (s *State) Append(b []byte, at int64) []byte {
	b = s.tables.appendTo(b, at)
	for i := range s.functions {
		r := s.functions[i].record
		r.Time = at
		b = Append(b, &r)
	}
	for pid, command := range s.commands {
		b = Append(b, &Record{Kind: KindCommand, Time: at, PID: pid, Data: command.words, Cut: command.cut})
	}
	s.sort()
	for i := range s.waiting {
		b = append(b, s.waiting[i].raw...)
	}
	return b
}

// EachModule visits the modules that processes have mapped, some repeatedly. Those of records that wait are among them only if they were
// mapped before.
func (s *State) EachModule(visit func(*format.Module)) { s.tables.eachModule(visit) }
