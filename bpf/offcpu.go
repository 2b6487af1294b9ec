//go:build linux

package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// OffCPU selects the off-CPU times for which a stack is taken, or what the thread waits for. Switches have to be recorded.
type OffCPU struct {
	Stacks
	Waits []uint16      // how the arguments of each system call are used, by its number: enum rec_wait_use; nil: waits are not recorded
	Min   time.Duration // minimum off-CPU time for which a stack is taken
	Place Place         // where it is taken; [Load] finds the best place that the kernel has
}

// Place is where the stack of a thread that was off-CPU is taken.
type Place uint8

const (
	AnyPlace    Place = iota // the first of the following that the kernel has
	AtExit                   // tracepoint sched_exit_tp (Linux 6.15), in the thread that has come back
	AtFinish                 // kprobe on finish_task_switch, in the same thread, with the run queue locked
	AtDeparture              // tracepoint sched_switch, in the thread that leaves its CPU, for any off-CPU time
)

func (p Place) String() string {
	return [...]string{
		"where the kernel allows it", "at the return (sched_exit_tp)", "at the return (kprobe on finish_task_switch)", "at every departure (sched_switch)",
	}[p]
}

// program returns the program that takes the stack, if it is not that of sched_switch.
func (p Place) program() string {
	return [...]string{"", "sched_exit", "switch_finished", ""}[p]
}

// any reports whether the programs for off-CPU times are needed.
func (o *OffCPU) any() bool { return o.Stacks.any() || o.Waits != nil }

func (o *OffCPU) validate(noSched bool) error {
	switch {
	case o.any() && noSched:
		return errors.New("off-CPU stacks and waits belong to switches, which are not recorded")
	case o.Min < 0:
		return fmt.Errorf("the minimum off-CPU time for a stack is negative: %s", o.Min)
	}
	return nil
}

// kernelPlace returns the value of enum offcpu_place in offcpu.h.
func (o *OffCPU) kernelPlace() uint8 {
	switch {
	case !o.any():
		return 0
	case o.Place == AtDeparture:
		return 2
	}
	return 1
}

var errNoProbe = errors.New("finish_task_switch cannot be probed")

// places returns the places to try, the best one first.
func (o *Options) places(types *btf.Cache) []Place {
	if !o.OffCPU.any() || o.OffCPU.Place != AnyPlace {
		return []Place{o.OffCPU.Place}
	}
	if kernel, err := types.Kernel(); err == nil && checkTracepoint(kernel, "sched_exit_tp") == nil {
		return []Place{AtExit}
	}
	return []Place{AtFinish, AtDeparture}
}

// attachFinish probes the function under the names that compilers give it.
func (t *Tracer) attachFinish(program *ebpf.Program) (link.Link, error) {
	var first error
	for _, name := range []string{"finish_task_switch.isra.0", "finish_task_switch", "finish_task_switch.constprop.0"} {
		l, err := link.Kprobe(name, program, nil)
		if err == nil {
			if err = t.awaitProbe(); err == nil {
				return l, nil
			}
			_ = l.Close()
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("%w: %w", errNoProbe, first)
}

// awaitProbe waits until the probe is hit, which does not happen while kprobes are disabled (debugfs kprobes/enabled).
func (t *Tracer) awaitProbe() error {
	for range 20 {
		var fired uint8
		if err := t.collection.Variables["probe_fired"].Get(&fired); err != nil || fired != 0 {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("the probe is never hit: kprobes may be switched off, see kprobes/enabled in debugfs")
}

// OffCPUPlace returns where off-CPU stacks are taken.
func (t *Tracer) OffCPUPlace() Place { return t.options.OffCPU.Place }

// ReadBlocked writes a struct rec_blocked for each thread that is blocked and has not run since a time, CLOCK_MONOTONIC
// ns, back to back; before them a struct rec_code for each code object of Python that they have. Of one that has run meanwhile the stack is not right: it is called after the window has closed, or for the unwind
// tables that the stacks need.
func (t *Tracer) ReadBlocked(w io.Writer, since int64) error {
	if t.blocked == nil {
		return fmt.Errorf("read the stacks of blocked threads: %w", fs.ErrNotExist)
	}
	if t.unwind != nil {
		t.unwind.mu.Lock()
		defer t.unwind.mu.Unlock()
		if t.unwind.closed {
			return fmt.Errorf("read the stacks of blocked threads: %w", fs.ErrClosed)
		}
	}
	if err := t.collection.Variables["closed_at"].Set(uint64(since)); err != nil {
		return fmt.Errorf("set the time of the window's end for the task iterator: %w", err)
	}
	if t.unwind == nil || t.unwind.pythons == nil {
		return t.readIterator(t.blocked, w)
	}
	var list bytes.Buffer
	if err := t.readIterator(t.blocked, &list); err != nil {
		return err
	}
	if err := t.writeListedCode(w); err != nil {
		return err
	}
	_, err := list.WriteTo(w)
	return err
}
