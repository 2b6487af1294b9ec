package records

import (
	"slices"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/sources"
)

// Session describes the recordings of a stream, for the header of the JSON output and the columns of a session.
type Session struct {
	TimerHz  int64    // samples per second and CPU; 0: none. With several recordings, of the first that took any
	Stacks   []string // kinds of stacks that were taken: timer, pmu, offcpu, waker
	PMUs     []string
	Metadata map[string]string // nil: none
	Extras   []string          // command lines: the recorder's, then those of the filters
	Host     string
	BootID   string
	Release  string // of the kernel
	Machine  string
	UUID     string
	Groups   []string  // groups of kinds that were recorded
	Probes   bool      // user-defined probes were recorded
	PyStacks bool      // functions of Python were taken in stacks
	PyTrace  bool      // their calls were traced
	Opened   time.Time // when the first window opened, UTC; zero: not known

	// Prepare and Activate are how the user of the first recording gave when to prepare it and to open its window, "" if at once;
	// Requested is when it was to open, UTC; zero: as soon as possible, or not known.
	Prepare, Activate string
	Requested         time.Time
}

// Nanoseconds is the layout of [Session.Opened]: RFC 3339 with all nine digits.
const Nanoseconds = "2006-01-02T15:04:05.000000000Z"

// Describe converts a session.
func Describe(s *format.Session) Session {
	out := Session{Host: valid(s.Host), BootID: valid(s.BootId), Release: valid(s.KernelRelease), Machine: valid(s.Machine), UUID: s.UUID(), Opened: format.WallTime(s.Clocks, s.Open)}
	out.Prepare, out.Activate = valid(s.Prepare), valid(s.Activate)
	if s.Requested != 0 {
		out.Requested = format.WallTime(s.Clocks, s.Requested)
	}
	for _, source := range s.Sources {
		if source.GetPeriod() > 0 {
			out.TimerHz = (int64(time.Second) + source.Period/2) / source.Period
			out.Stacks = append(out.Stacks, "timer")
		}
	}
	for _, pair := range s.Config {
		switch pair.GetKey() {
		case format.ConfigFeatures:
			out.Groups = strings.Split(valid(pair.GetValue()), ",")
			out.PyStacks = slices.ContainsFunc(out.Groups, isPyStacks)
			out.PyTrace = slices.Contains(out.Groups, sources.PythonCalls)
		case format.ConfigOffCPUStacks:
			out.Stacks = append(out.Stacks, "offcpu")
		case format.ConfigWakerStacks:
			out.Stacks = append(out.Stacks, "waker")
		case format.ConfigPMUSamples:
			out.Stacks = append(out.Stacks, "pmu")
		case format.ConfigProbes:
			out.Probes = true
		}
	}
	out.Stacks = slices.Compact(out.Stacks)
	out.PMUs = counterNames(s)
	for _, pair := range s.Metadata {
		if out.Metadata == nil {
			out.Metadata = make(map[string]string)
		}
		out.Metadata[valid(pair.GetKey())] = valid(pair.GetValue())
	}
	if len(s.Command) > 0 {
		out.Extras = append(out.Extras, proc.CommandLine(s.Command))
	}
	for _, command := range s.History {
		out.Extras = append(out.Extras, valid(command))
	}
	return out
}

func isPyStacks(feature string) bool {
	word, _, _ := strings.Cut(feature, "=")
	return word == format.FeaturePyStacks
}

// Add merges the description of another recording of the same stream.
func (s *Session) Add(more Session) {
	if s.TimerHz == 0 {
		s.TimerHz = more.TimerHz
	}
	s.Stacks = union(s.Stacks, more.Stacks)
	s.PMUs = union(s.PMUs, more.PMUs)
	s.Probes = s.Probes || more.Probes
	s.PyStacks = s.PyStacks || more.PyStacks
	s.PyTrace = s.PyTrace || more.PyTrace
	s.Groups = union(s.Groups, more.Groups)
	s.Extras = union(s.Extras, more.Extras)
	for key, value := range more.Metadata {
		if s.Metadata == nil {
			s.Metadata = make(map[string]string)
		}
		if _, has := s.Metadata[key]; !has && len(s.Metadata) < maxEntries {
			s.Metadata[key] = value
		}
	}
}

// Recorded reports whether a group of kinds was recorded. A capture that does not have the groups is taken for one of all.
func (s *Session) Recorded(group string) bool {
	return len(s.Groups) == 0 || slices.Contains(s.Groups, group)
}

func union(all, more []string) []string {
	for _, one := range more {
		if len(all) < maxEntries && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// maxEntries bounds what is kept when there are very many recordings.
const maxEntries = 1000

func valid(s string) string { return strings.ToValidUTF8(s, "�") }

// Nodes returns the NUMA nodes of CPUs.
func Nodes(s *format.Session) map[uint32]int32 {
	nodes := make(map[uint32]int32)
	for _, cpu := range s.Cpus {
		nodes[cpu.GetId()] = cpu.GetNode()
	}
	return nodes
}
