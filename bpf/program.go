//go:build linux

package bpf

import "github.com/cilium/ebpf"

// group is what a program belongs to in [Options].
type group int

const (
	groupLife group = iota
	groupSched
	groupWakeup
	groupSample
	groupTasks
)

// program is one kernel program; its name is that of the C function.
type program struct {
	name       string
	tracepoint string
	group      group
}

// programs are listed in the order in which they are attached, which is the order in which a tracepoint calls them.
func programs() []program {
	return []program{
		{"sched_process_fork", "sched_process_fork", groupLife},
		{"user_worker", "sched_wakeup_new", groupLife},
		{"sched_process_exec", "sched_process_exec", groupLife},
		{"task_rename", "task_rename", groupLife},
		{"sched_process_exit", "sched_process_exit", groupLife},
		{"sched_process_free", "sched_process_free", groupLife},
		{"sched_wakeup_new", "sched_wakeup_new", groupWakeup},
		{"sched_waking", "sched_waking", groupWakeup},
		{"sched_switch", "sched_switch", groupSched},
		{"sample", "", groupSample},
		{"tasks", "", groupTasks},
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
	}
	return true
}

func allTracepoints() []string { return new(Options).tracepoints() }

func (o *Options) tracepoints() []string {
	var names []string
	for _, p := range programs() {
		if p.tracepoint != "" && o.wants(p.group) {
			names = append(names, p.tracepoint)
		}
	}
	return names
}

// dropUnwanted leaves only the programs that were asked for.
func (o *Options) dropUnwanted(spec *ebpf.CollectionSpec) {
	for _, p := range programs() {
		if !o.wants(p.group) {
			delete(spec.Programs, p.name)
		}
	}
	if !o.Sample.stacks() {
		for _, name := range []string{"told_stacks", "scratch"} {
			spec.Maps[name].MaxEntries = 1
		}
	}
}
