//go:build linux

package bpf

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// tracepointGuard is the type of the guard under which the kernel calls a tracepoint's programs where it can preempt the thread meanwhile
// (include/linux/tracepoint.h of Linux 7.2). Earlier kernels disable preemption.
const tracepointGuard = "class_srcu_fast_notrace_t"

// findPreemptible finds out whether threads can be preempted in programs of tracepoints. If not, it drops the second programs, which are only
// needed there.
func (o *Options) findPreemptible(spec *ebpf.CollectionSpec, types *btf.Cache) error {
	kernel, err := types.Kernel()
	if err != nil {
		return fmt.Errorf("read the kernel's types: %w", err)
	}
	if _, err := kernel.AnyTypeByName(tracepointGuard); err == nil {
		o.preemptible = true
	}
	for _, p := range programs() {
		isFirst := hasSecond(p.tracepoint) && !p.source.Again
		if p.source.Again && !o.preemptible || isFirst && o.skipsFirst {
			delete(spec.Programs, p.name)
		}
	}
	return setVariables(spec, map[string]any{"preemptible": o.preemptible})
}

// lostBySkipping returns how many events were lost, given how often the kernel skipped the program. Where there is a second program, a loss
// is a call whose end both missed: the programs count those, and they are reported once, for the first program that writes.
func (t *Tracer) lostBySkipping(p program, skipped uint64) (lost uint64, err error) {
	if !t.options.preemptible || !hasSecond(p.tracepoint) {
		return skipped, nil
	}
	if !p.source.Writes || p.source.Again {
		return 0, nil
	}
	if err := t.collection.Variables["skipped_ends"].Get(&lost); err != nil {
		return 0, fmt.Errorf("read how many system calls' ends were skipped: %w", err)
	}
	return lost, nil
}

func hasSecond(tracepoint string) bool {
	return slices.ContainsFunc(programs(), func(p program) bool { return p.source.Again && p.tracepoint == tracepoint })
}
