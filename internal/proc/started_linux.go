package proc

import (
	"fmt"
	"os"
	"time"
)

// StartTime is when a process began, by two clocks, ns, to 10 ms. By CLOCK_BOOTTIME it never changes.
type StartTime struct{ Boottime, Monotonic int64 }

// Started returns when the process of an id began. Processes that have the same id one after the other do not begin within
// 10 ms: all other ids are used in between.
func Started(pid uint32) (StartTime, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return StartTime{}, err
	}
	t, ok := parseStat(stat, 0)
	if !ok {
		return StartTime{}, fmt.Errorf("read /proc/%d/stat: it is not in the format of proc(5)", pid)
	}
	return StartTime{t.Start, t.Start - bootAhead()}, nil
}

// MonotonicOf is CLOCK_MONOTONIC at a time of the wall clock, unless that was set since.
func MonotonicOf(real int64) int64 { return real - time.Now().UnixNano() + Monotonic() }
