//go:build linux

package bpf

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/sources"
)

// program is one kernel program.
type program struct {
	row
	source sources.Program // zero: it is of the scheduler
}

// row is a row of the table of programs; the name is that of the C function.
type row struct {
	name       string
	tracepoint string
	kind       format.Kind         // of the events that it writes; 0: none, or lists of threads
	needed     func(*Options) bool // nil: it is loaded if the group of its kind is on
}

// programs are listed in the order in which they are attached, which is the order in which a tracepoint calls them.
func programs() []program {
	rows := []row{
		{"sched_process_fork", "sched_process_fork", format.KindFork, always},
		{"user_worker", "sched_wakeup_new", format.KindFork, always},
		{"sched_process_exec", "sched_process_exec", format.KindExec, always},
		{"new_program", "sched_process_exec", 0, (*Options).takesUserStacks},
		{"task_rename", "task_rename", format.KindRename, always},
		{"cgroup_mkdir", "cgroup_mkdir", 0, func(o *Options) bool { return hasCgroups(o) && o.Filter.onCgroup() }},
		{"cgroup_attach_task", "cgroup_attach_task", 0, hasCgroups},
		{"sched_process_exit", "sched_process_exit", format.KindExit, always},
		{"sched_process_free", "sched_process_free", format.KindFree, always},
		{"sched_wakeup_new", "sched_wakeup_new", format.KindWakeupNew, nil},
		{"sched_waking", "sched_waking", format.KindWaking, nil},
		{"sched_exit", "sched_exit_tp", 0, func(o *Options) bool { return o.takesReturnStacks("sched_exit") }},
		{"switch_finished", "", 0, func(o *Options) bool { return o.takesReturnStacks("switch_finished") }},
		{"sched_switch", "sched_switch", format.KindSwitch, nil},
		{"sample", "", format.KindSample, func(o *Options) bool { return o.Sample.Period != 0 }},
		{tracepointProgram, "", format.KindTyped, func(o *Options) bool { return o.hasTracepoints(false) }},
		{openProbesProgram, "", format.KindTyped, (*Options).hasProbeSpans},
		{leftProgram, "", format.KindTyped, (*Options).hasProbeSpans},
		{countedProgram, "", format.KindTyped, (*Options).counts},
		{pmuProgram, "", format.KindTyped, func(o *Options) bool { return o.samplesPMU(false) }},
		{pmuTracepointProgram, "", format.KindTyped, func(o *Options) bool { return o.samplesPMU(true) }},
		{"tasks", "", 0, always},
		{"blocked", "", 0, func(o *Options) bool { return o.OffCPU.any() }},
	}
	var all []program
	for _, r := range rows {
		all = append(all, program{row: r})
	}
	return append(all, sourcePrograms()...)
}

// sourcePrograms are those of the event types in the table of sources.
func sourcePrograms() (all []program) {
	users := make(map[string]sources.Set) // the types that need a program
	for _, t := range sources.Table() {
		for _, p := range t.Programs {
			users[p.Name] |= 1 << t.Number
		}
	}
	for _, t := range sources.Table() {
		for _, p := range t.Programs {
			of := users[p.Name]
			if of == 0 {
				continue // listed already
			}
			delete(users, p.Name)
			listed := program{row{name: p.Name, tracepoint: p.Tracepoint(), needed: func(o *Options) bool { return o.Sources&of != 0 }}, p}
			if p.Writes || p.AtClose {
				listed.kind = format.KindTyped
			}
			all = append(all, listed)
		}
	}
	return all
}

// always is for programs that identify threads, which events of any group refer to.
func always(*Options) bool { return true }

// hasCgroups reports whether this kernel has cgroups.
func hasCgroups(*Options) bool { return proc.HasCgroups() }

// takesReturnStacks reports whether the named program takes off-CPU stacks, when the thread is back on a CPU.
func (o *Options) takesReturnStacks(program string) bool {
	return o.OffCPU.any() && o.OffCPU.Place.program() == program
}

func (o *Options) needs(p program) bool {
	if p.needed != nil {
		return p.needed(o)
	}
	return o.Off&format.Kinds()[p.kind-1].Group == 0
}

// takesUserStacks reports whether any event has the user's part of a stack.
func (o *Options) takesUserStacks() bool {
	return o.Sample.Period != 0 && o.Sample.User || o.OffCPU.User || o.Waker.User || o.SourceStacks.User || o.ProbeStacks.User
}

func allTracepoints() []string { return new(Options).tracepoints() }

func (o *Options) tracepoints() []string {
	var names []string
	for _, p := range programs() {
		if p.tracepoint != "" && o.needs(p) && !p.source.Optional {
			names = append(names, p.tracepoint)
		}
	}
	return names
}

// dropMissing drops optional programs whose tracepoints the kernel lacks.
func dropMissing(spec *ebpf.CollectionSpec, types *btf.Cache) error {
	kernel, err := types.Kernel()
	if err != nil {
		return fmt.Errorf("read the kernel's type information: %w", err)
	}
	for _, p := range programs() {
		if p.source.Optional && spec.Programs[p.name] != nil && checkTracepoint(kernel, p.tracepoint) != nil {
			delete(spec.Programs, p.name)
		}
	}
	return nil
}

// dropUnneeded drops the programs that are not needed, and the entries of maps that none uses.
func (o *Options) dropUnneeded(spec *ebpf.CollectionSpec) {
	needed := map[string]bool{rawTracepointProgram: true}
	for _, p := range programs() {
		needed[p.name] = o.needs(p)
	}
	for name := range spec.Programs {
		if !needed[name] && !isProbePattern(name) { // also one that only another architecture needs
			delete(spec.Programs, name)
		}
	}
	if !o.Sample.stacks() && !o.OffCPU.any() && !o.Waker.any() && o.Sources == 0 && !o.ProbeStacks.any() && len(o.PMU) == 0 {
		for _, name := range []string{"written_stacks", "scratch"} {
			spec.Maps[name].MaxEntries = 1
		}
	}
	if !o.Unwind.Tables {
		for _, name := range []string{"unwind_files", "unwind_missed", "unwind_chunks"} {
			if m := spec.Maps[name]; m != nil {
				m.MaxEntries = 1
			}
		}
	}
	o.sizePython(spec)
	if memos := spec.Maps["memos"]; memos != nil && (!o.OffCPU.Kernel || o.OffCPU.Place == AtDeparture) {
		memos.MaxEntries = 1
	}
}

// dropUnusedMaps drops the maps that no program uses that is left, except those that user space uses in any case. Each map takes a file,
// and some take megabytes.
func dropUnusedMaps(spec *ebpf.CollectionSpec) {
	used := map[string]bool{"rings": true, "chunks": true, "losses": true, "nesting_losses": true, "followed": true, "wakeups": true, "unwind_files": true, "unwind_missed": true, "unwind_chunks": true, "unwind_wakeups": true}
	for _, program := range spec.Programs {
		for i := range program.Instructions {
			if ins := &program.Instructions[i]; ins.IsLoadFromMap() {
				used[ins.Reference()] = true
			}
		}
	}
	for name := range spec.Maps {
		if !used[name] && !strings.HasPrefix(name, ".") { // those of variables
			delete(spec.Maps, name)
		}
	}
}
