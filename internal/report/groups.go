package report

import (
	"cmp"
	"slices"

	"wprof/internal/waits"
)

// Classes of time besides those of [waits.Class], and groups of classes.
const (
	OnCPU       = "on-CPU"
	Interrupts  = "interrupts"   // that ran on the thread's CPU while it was there
	New         = "new"          // from a thread's start to the wakeup that makes it runnable
	Idle        = "idle"         // waits for work
	NotRecorded = "not recorded" // events are missing, or a filter hides them

	Blocked = "blocked"          // a group: all waits but those for work and for a CPU
	Delayed = "scheduling delay" // a group: waits for a CPU
)

// groupOf returns the group that a class is in; "" for none.
func groupOf(class string) string {
	switch class {
	case OnCPU, Interrupts, New, Idle, NotRecorded:
		return ""
	case waits.Runnable.String(), waits.Preempted.String(), waits.Throttled.String():
		return Delayed
	}
	return Blocked
}

// ClassesOf returns the time of the classes of a group, the longest first.
func (r *Report) ClassesOf(group string) (in []Time) {
	for _, t := range r.Time {
		if groupOf(t.Class) == group {
			in = append(in, t)
		}
	}
	slices.SortStableFunc(in, func(a, b Time) int { return cmp.Compare(b.Ns, a.Ns) })
	return in
}

// Sum returns the time of a class or of a group of classes.
func (r *Report) Sum(name string) Time {
	sum := Time{Class: name}
	for _, t := range r.Time {
		if t.Class == name || groupOf(t.Class) == name {
			sum.Ns, sum.Count = sum.Ns+t.Ns, sum.Count+t.Count
		}
	}
	return sum
}
