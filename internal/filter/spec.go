package filter

import (
	"slices"

	"wprof/format"
	"wprof/internal/glob"
)

// Spec selects threads. An allow-list that is not empty is a condition: a thread must match one of its
// entries. All conditions must hold. A thread that matches a deny-list is never kept.
//
// PIDs, Idle and Kthread are one condition together, on the process. Children adds the descendants of PIDs to it.
type Spec struct {
	PIDs, NoPIDs               []int32
	TIDs, NoTIDs               []int32
	Names, NoNames             []string // of the process, which is the name of its leader; globs
	ThreadNames, NoThreadNames []string // globs
	Idle, NoIdle               bool
	Kthread, NoKthread         bool // kernel threads, without the idle ones
	Children                   bool
	NoSelf                     bool // leaves out the threads of the recorder
}

func (s *Spec) allows() bool {
	return s.isOnProcess() || len(s.TIDs)+len(s.Names)+len(s.ThreadNames) > 0
}

// IsAny reports whether there is a condition.
func (s *Spec) IsAny() bool {
	return s.allows() || s.NoIdle || s.NoKthread || s.NoSelf || len(s.NoPIDs)+len(s.NoTIDs)+len(s.NoNames)+len(s.NoThreadNames) > 0
}

func (s *Spec) isOnProcess() bool { return len(s.PIDs) > 0 || s.Idle || s.Kthread }

// keeps reports whether a thread is kept, by its definition. descends: its process descends from one of PIDs.
func (s *Spec) keeps(d *format.Task, descends bool) bool {
	idle := has(d, format.TaskFlag_TASK_FLAG_IDLE)
	kthread := !idle && has(d, format.TaskFlag_TASK_FLAG_KTHREAD)
	switch {
	case s.NoIdle && idle, s.NoKthread && kthread, s.NoSelf && has(d, format.TaskFlag_TASK_FLAG_SELF):
		return false
	case slices.Contains(s.NoPIDs, d.Pid), slices.Contains(s.NoTIDs, d.Tid):
		return false
	case matches(s.NoNames, d.ProcessComm), matches(s.NoThreadNames, d.Comm):
		return false
	}
	if s.isOnProcess() && !(slices.Contains(s.PIDs, d.Pid) || descends || s.Idle && idle || s.Kthread && kthread) {
		return false
	}
	return (len(s.TIDs) == 0 || slices.Contains(s.TIDs, d.Tid)) &&
		(len(s.Names) == 0 || matches(s.Names, d.ProcessComm)) &&
		(len(s.ThreadNames) == 0 || matches(s.ThreadNames, d.Comm))
}

func has(d *format.Task, flag format.TaskFlag) bool { return d.Flags&uint32(flag) != 0 }

func matches(globs []string, name []byte) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, name) })
}
