package filter

import (
	"slices"

	"wprof/format"
	"wprof/internal/bounded"
)

// family tracks the descendants of the processes in Spec.PIDs by the rule of the recorder's kernel filter: a process
// belongs if its parent did when it was created, and remains after that parent has ended.
type family struct {
	spec    *Spec
	members *bounded.Map[int32, *member] // the latest process of a pid
	scanned format.TaskID                // definitions of this section that were read
}

type member struct {
	start              int64 // of its leader; 0 when that has not been seen
	ppid               int32
	evaluated, belongs bool
}

const (
	// scanAhead is the number of undefined ids after which a scan for new definitions stops.
	scanAhead = 64
	// maxScan bounds the work that a single id from a hostile stream can cause.
	maxScan = 1 << 20
	// maxDepth is deeper than any process tree, and stops at cycles.
	maxDepth = 256
	// maxMembers bounds the processes whose end was not seen to some 60 MiB.
	maxMembers = 1 << 18
)

func newFamily(s *Spec) *family {
	return &family{spec: s, members: bounded.NewMap[int32, *member](maxMembers)}
}

// read processes the definitions up to id, and those that came together with it: a parent may be defined after its
// children, because states are in order of CPU and tid.
func (f *family) read(defs interface {
	Task(format.TaskID) *format.Task
}, id format.TaskID) {
	if id > f.scanned+maxScan {
		f.scanned = id - 1
	}
	for missing := 0; missing < scanAhead || f.scanned < id; f.scanned++ {
		d := defs.Task(f.scanned + 1)
		if d == nil {
			missing++
			continue
		}
		missing = 0
		f.note(d)
	}
	f.scanned -= scanAhead
}

// note adds the process of a definition.
func (f *family) note(d *format.Task) *member {
	m, _ := f.members.Get(d.Pid)
	leader := d.Tid == d.Pid
	if m == nil || leader && m.start != 0 && m.start != d.Start {
		m = &member{ppid: d.Ppid}
		f.members.Put(d.Pid, m)
	}
	if leader {
		m.start = d.Start
	}
	return m
}

// fork is called before the child is looked up.
func (f *family) fork(parent, child *format.Task) {
	if parent == nil || child == nil || parent.Pid == child.Pid || !f.has(parent) {
		return
	}
	m := f.note(child)
	m.evaluated, m.belongs = true, true
}

// has reports whether the process of a thread is a descendant.
func (f *family) has(d *format.Task) bool {
	m := f.note(d)
	if !m.evaluated {
		m.evaluated, m.belongs = true, f.belongs(d.Pid, maxDepth)
	}
	return m.belongs
}

func (f *family) belongs(pid int32, depth int) bool {
	if slices.Contains(f.spec.PIDs, pid) {
		return true
	}
	m, _ := f.members.Get(pid)
	if m == nil || depth == 0 {
		return false
	}
	if m.evaluated {
		return m.belongs
	}
	return f.belongs(m.ppid, depth-1)
}
