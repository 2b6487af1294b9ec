//go:build linux

package report

import (
	"fmt"
	"strings"
	"testing"
)

// thread is one of a scenario.
type thread struct {
	tid   int32
	name  string
	spans []span // in order of time
	cpu   int64  // ns on a CPU
	delay int64  // ns runnable without a CPU, as the kernel counts them
}

// span is a wait, as the thread measured it.
type span struct {
	class    string
	forWork  bool
	from, to int64 // CLOCK_MONOTONIC ns
}

// parseTruth reads what a scenario prints in the end.
func parseTruth(t *testing.T, lines []string) (all []*thread) {
	t.Helper()
	for _, line := range lines {
		var tid int32
		var name, use string
		var s span
		if n, _ := fmt.Sscanf(line, "thread %d %s", &tid, &name); n == 2 {
			all = append(all, &thread{tid: tid, name: name})
			continue
		}
		if len(all) == 0 {
			t.Fatalf("%q comes before all threads", line)
		}
		last := all[len(all)-1]
		if n, _ := fmt.Sscanf(line, "sched %d %d %d", &tid, &last.cpu, &last.delay); n == 3 {
			continue
		}
		if n, err := fmt.Sscanf(line, "span %d %s %s %d %d", &tid, &s.class, &use, &s.from, &s.to); n != 5 {
			t.Fatalf("%q: %v", line, err)
		}
		s.class, s.forWork = strings.ReplaceAll(s.class, "_", " "), use == "work"
		last.spans = append(last.spans, s)
	}
	return all
}

// overlap is how much of one time is in another.
func overlap(from, to, otherFrom, otherTo int64) int64 {
	return max(0, min(to, otherTo)-max(from, otherFrom))
}

// at returns the wait that contains a time; nil if there is none.
func (th *thread) at(ns int64) *span {
	for i := range th.spans {
		if s := &th.spans[i]; s.from <= ns && ns < s.to {
			return s
		}
	}
	return nil
}

// waited adds up the waits in a window that are for work, and those that are not.
func (th *thread) waited(from, to int64) (forWork, busy int64) {
	for _, s := range th.spans {
		if ns := overlap(s.from, s.to, from, to); s.forWork {
			forWork += ns
		} else {
			busy += ns
		}
	}
	return forWork, busy
}
