package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Sleeps counts how often a thread of this process has gone to sleep, and reports whether it sleeps now. A thread that
// sleeps at two calls that return the same count has slept all the time between them.
func Sleeps(tid int) (count uint64, asleep bool, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", tid))
	if err != nil {
		return 0, false, err
	}
	count, err = strconv.ParseUint(statusField(string(text), "voluntary_ctxt_switches"), 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("read how often thread %d has slept: %w", tid, err)
	}
	return count, !strings.HasPrefix(statusField(string(text), "State"), "R"), nil
}
