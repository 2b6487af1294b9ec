//go:build linux

package bpf

import (
	"fmt"

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
		isFirst := o.lossesOf(p.tracepoint) != "" && p.source.Second == ""
		if p.source.Preempted && !o.preemptible || isFirst && o.skipsFirst {
			delete(spec.Programs, p.name)
		}
	}
	return setVariables(spec, map[string]any{"preemptible": o.preemptible})
}

// lossesOf returns the variable that counts the events whose end both programs of a tracepoint were skipped for; "": there is only one.
func (o *Options) lossesOf(tracepoint string) string {
	for _, p := range programs() {
		if p.source.Second != "" && p.tracepoint == tracepoint && (o.preemptible || !p.source.Preempted) {
			return p.source.Second
		}
	}
	return ""
}

// lostBySkipping returns how many events were lost, given how often the kernel skipped the program. Where there is a second program, a loss
// is an event whose end both missed: the programs count those, and they are reported once, for the first program that writes.
func (t *Tracer) lostBySkipping(p program, skipped uint64) (lost uint64, err error) {
	variable := t.options.lossesOf(p.tracepoint)
	if variable == "" {
		return skipped, nil
	}
	if !p.source.Writes || p.source.Second != "" {
		return 0, nil
	}
	if err := t.collection.Variables[variable].Get(&lost); err != nil {
		return 0, fmt.Errorf("read how many ends of %s were skipped: %w", p.name, err)
	}
	return lost, nil
}
