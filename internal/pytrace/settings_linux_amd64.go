package pytrace

import (
	"encoding/json"
	"fmt"
	"time"
)

// settings are what the recorder says to the process that attaches.
type settings struct {
	Options
	TicksPerSecond uint64 // of the TSC; 0: ticks are ns of CLOCK_MONOTONIC
	HasRDPID       bool
}

// orphanedAfter is ORPHANED_NS.
const orphanedAfter = 5 * time.Second

// tracing is how the calls of a process are traced; the zero value is for operators of PyTorch.
type tracing struct {
	set   *settings
	ticks *tickClock // nil: calls have CLOCK_MONOTONIC
}

func newTracing(o Options) tracing {
	how := tracing{set: &settings{Options: o, HasRDPID: cpuHas("rdpid")}}
	if canUseTSC() {
		how.ticks = newTickClock(readPair)
		how.set.TicksPerSecond = how.ticks.ticksPerSecond()
	}
	return how
}

// text is what follows the word of the process that attaches.
func (s *settings) text() string {
	if s == nil {
		return ""
	}
	text, _ := json.Marshal(s)
	return " " + string(text)
}

func readSettings(text string) (*settings, error) {
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("read the settings of its tracing: %w", err)
	}
	return &s, nil
}

// ticks are those that a time lasts.
func (s *settings) ticks(d time.Duration) uint64 {
	if s.TicksPerSecond == 0 {
		return uint64(d)
	}
	return uint64(d.Seconds() * float64(s.TicksPerSecond))
}

func (s *settings) ticksNow(ns uint64) uint64 {
	if s.TicksPerSecond == 0 {
		return ns
	}
	return uint64(readTSC())
}

func (s *settings) configure(c *config) {
	c.Orphaned = s.ticks(orphanedAfter)
	if s.TicksPerSecond != 0 {
		c.HasTSC = 1
	}
	if s.HasRDPID {
		c.HasRDPID = 1
	}
	c.Min = s.ticks(s.Min)
	n := 0
	for _, glob := range s.Modules {
		n += copy(c.Globs[n:globCharacters-2], toCharacters(glob)) + 1
	}
}

func toCharacters(glob string) (all []uint32) {
	for _, r := range glob {
		all = append(all, uint32(r))
	}
	return all
}
