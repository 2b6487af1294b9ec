package timeline

import (
	"slices"
	"strings"

	"wprof/format"
)

// Keys of [format.Session].Config under which a filter records what it has left out of a stream.
const (
	ConfigCPUs    = "filter.cpu"     // the CPUs that were kept, as a list
	ConfigNoKinds = "filter.no-kind" // kinds that were left out, separated by commas
)

// Coverage is which scheduling events a stream has.
type Coverage struct {
	// SomeCPUs: events of other CPUs were left out. A thread that leaves a CPU may be running on another one, so
	// nothing is known of threads that are not seen running.
	SomeCPUs bool
	// NoSwitches: wakings do not show whether a thread runs later, so nothing is known at all.
	NoSwitches bool
}

// CoverageOf returns the coverage of a section, by what filters have recorded in its session.
func CoverageOf(s *format.Session) Coverage {
	var c Coverage
	for _, kv := range s.GetConfig() {
		switch kv.Key {
		case ConfigCPUs:
			c.SomeCPUs = true
		case ConfigNoKinds:
			c.NoSwitches = c.NoSwitches || slices.Contains(strings.Split(kv.Value, ","), "switch")
		}
	}
	return c
}

// SetCoverage sets which scheduling events the stream has from here on. The default is all.
func (tl *Timeline) SetCoverage(c Coverage) { tl.coverage = c }
