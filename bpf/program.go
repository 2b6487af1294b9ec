//go:build linux

package bpf

import "github.com/cilium/ebpf"

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
		{"sched_exit", "sched_exit_tp", groupReturn},
		{"switch_finished", "", groupReturn},
		{"sched_switch", "sched_switch", groupSched},
		{"sample", "", groupSample},
		{"tasks", "", groupTasks},
		{"blocked", "", groupBlocked},
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
	}
	return true
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
	if !o.OffCPU.any() || o.OffCPU.Place == AtDeparture {
		spec.Maps["departures"].MaxEntries = 1
	}
	if !o.Sample.stacks() && !o.OffCPU.any() && !o.Waker.any() {
		for _, name := range []string{"told_stacks", "scratch"} {
			spec.Maps[name].MaxEntries = 1
		}
	}
}
