package timeline

import (
	"slices"
	"strings"

	"wprof/format"
)

// The keys under which a filter says in [format.Session] what it has left out of a stream.
const (
	ConfigCPUs    = "filter.cpu"     // the CPUs that were kept, as a list
	ConfigNoKinds = "filter.no-kind" // kinds that were left out, separated by commas
)

// Coverage is how much of the scheduling a stream has.
type Coverage struct {
	// SomeCPUs: events of other CPUs were left out. A thread that leaves a CPU may be running on another one, so
	// nothing is known of threads that are not seen running.
	SomeCPUs bool
	// NoSwitches: a waking is seen, but not how it goes on, so nothing is known at all.
	NoSwitches bool
}

// CoverageOf reads what filters have noted in the session.
func CoverageOf(s *format.Session) Coverage {
	var c Coverage
	for _, kv := range s.GetConfig() {
		switch kv.Key {
		case ConfigCPUs:
			c.SomeCPUs = true
		case ConfigNoKinds:
			c.NoSwitches = c.NoSwitches || listed(kv.Value, "switch")
		}
	}
	return c
}

// SetCoverage says how much of the scheduling the events from here on have. Without it, all.
func (tl *Timeline) SetCoverage(c Coverage) { tl.coverage = c }

func listed(list, word string) bool {
	return slices.Contains(strings.Split(list, ","), word)
}
