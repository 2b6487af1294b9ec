//go:build linux

package bpf

import (
	"github.com/cilium/ebpf"

	"wprof/format"
)

// group is what a program belongs to in [Options].
type group int

const (
	groupLife group = iota
	groupSched
	groupWakeup
	groupReturn // runs when a thread has come back on a CPU
	groupSample
	groupTasks
	groupBlocked
	groupCode // user stacks are taken, whose code has files
)

// program is one kernel program; its name is that of the C function.
type program struct {
	name       string
	tracepoint string
	group      group
	kind       format.Kind // of the events that it writes; 0: none, or lists of threads
}

// programs are listed in the order in which they are attached, which is the order in which a tracepoint calls them.
func programs() []program {
	return []program{
		{"sched_process_fork", "sched_process_fork", groupLife, format.KindFork},
		{"user_worker", "sched_wakeup_new", groupLife, format.KindFork},
		{"sched_process_exec", "sched_process_exec", groupLife, format.KindExec},
		{"new_program", "sched_process_exec", groupCode, 0},
		{"task_rename", "task_rename", groupLife, format.KindRename},
		{"sched_process_exit", "sched_process_exit", groupLife, format.KindExit},
		{"sched_process_free", "sched_process_free", groupLife, format.KindFree},
		{"sched_wakeup_new", "sched_wakeup_new", groupWakeup, format.KindWakeupNew},
		{"sched_waking", "sched_waking", groupWakeup, format.KindWaking},
		{"sched_exit", "sched_exit_tp", groupReturn, 0},
		{"switch_finished", "", groupReturn, 0},
		{"sched_switch", "sched_switch", groupSched, format.KindSwitch},
		{"sample", "", groupSample, format.KindSample},
		{"tasks", "", groupTasks, 0},
		{"blocked", "", groupBlocked, 0},
	}
}

func (o *Options) wants(g group) bool {
	switch g {
	case groupSched:
		return !o.NoSched
	case groupWakeup:
		return !o.NoWakeup
	case groupSample:
		return o.Sample.Period != 0
	case groupBlocked:
		return o.OffCPU.any()
	case groupCode:
		return o.takesUserStacks()
	}
	return true
}

// takesUserStacks reports whether any event has the user's part of a stack.
func (o *Options) takesUserStacks() bool {
	return o.Sample.Period != 0 && o.Sample.User || o.OffCPU.User || o.Waker.User
}

func (o *Options) wantsProgram(p program) bool {
	if p.group == groupReturn {
		return o.OffCPU.any() && o.OffCPU.Place.program() == p.name
	}
	return o.wants(p.group)
}

func allTracepoints() []string { return new(Options).tracepoints() }

func (o *Options) tracepoints() []string {
	var names []string
	for _, p := range programs() {
		if p.tracepoint != "" && o.wantsProgram(p) {
			names = append(names, p.tracepoint)
		}
	}
	return names
}

// dropUnwanted leaves only the programs that were asked for.
func (o *Options) dropUnwanted(spec *ebpf.CollectionSpec) {
	for _, p := range programs() {
		if !o.wantsProgram(p) {
			delete(spec.Programs, p.name)
		}
	}
	if !o.Sample.stacks() && !o.OffCPU.any() && !o.Waker.any() {
		for _, name := range []string{"reported_stacks", "scratch"} {
			spec.Maps[name].MaxEntries = 1
		}
	}
	if memos := spec.Maps["memos"]; memos != nil && (!o.OffCPU.Kernel || o.OffCPU.Place == AtDeparture) {
		memos.MaxEntries = 1
	}
}
