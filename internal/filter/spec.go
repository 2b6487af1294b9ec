package filter

import (
	"slices"

	"wprof/format"
	"wprof/internal/container"
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
	Cgroups, NoCgroups         []string // of paths, for [container.Match]
	Containers, NoContainers   []string // the same, of the paths of containers
	Idle, NoIdle               bool
	Kthread, NoKthread         bool // kernel threads, without the idle ones
	Children                   bool
	NoSelf                     bool // leaves out the threads of the recorder
}

func (s *Spec) allows() bool {
	return s.isOnProcess() || len(s.TIDs)+len(s.Names)+len(s.ThreadNames)+len(s.Cgroups)+len(s.Containers) > 0
}

// IsAny reports whether there is a condition.
func (s *Spec) IsAny() bool {
	return s.allows() || s.NoIdle || s.NoKthread || s.NoSelf || len(s.NoPIDs)+len(s.NoTIDs)+len(s.NoNames)+len(s.NoThreadNames)+len(s.NoCgroups)+len(s.NoContainers) > 0
}

func (s *Spec) isOnCgroup() bool {
	return len(s.Cgroups)+len(s.NoCgroups)+len(s.Containers)+len(s.NoContainers) > 0
}

func (s *Spec) isOnProcess() bool { return len(s.PIDs) > 0 || s.Idle || s.Kthread }

// keeps reports whether a thread is kept, by its definition. descends: its process descends from one of PIDs.
func (s *Spec) keeps(d *format.Task, texts texts, descends bool) bool {
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
	if s.isOnCgroup() && !s.keepsPath(texts.Text(d.Cgroup).GetText()) {
		return false
	}
	return (len(s.TIDs) == 0 || slices.Contains(s.TIDs, d.Tid)) &&
		(len(s.Names) == 0 || matches(s.Names, d.ProcessComm)) &&
		(len(s.ThreadNames) == 0 || matches(s.ThreadNames, d.Comm))
}

// texts looks up the paths of cgroups.
type texts interface {
	Text(id uint32) *format.Text
}

// keepsPath reports whether a cgroup meets the conditions on cgroups and containers. An empty path is not known, and in no list.
func (s *Spec) keepsPath(path []byte) bool {
	in := func(globs []string) bool {
		return len(path) > 0 && slices.ContainsFunc(globs, func(g string) bool { return container.Match(g, path) })
	}
	return !in(s.NoCgroups) && !in(s.NoContainers) && (len(s.Cgroups) == 0 || in(s.Cgroups)) && (len(s.Containers) == 0 || in(s.Containers))
}

func has(d *format.Task, flag format.TaskFlag) bool { return d.Flags&uint32(flag) != 0 }

func matches(globs []string, name []byte) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return glob.Match(g, name) })
}
