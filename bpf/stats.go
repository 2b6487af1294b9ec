//go:build linux

package bpf

import (
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/format"
)

// ProgramStat holds the kernel's counts for a program. Runs and time are counted only while [Tracer.EnableStats] is on
// or the kernel.bpf_stats_enabled sysctl is set; the time includes about 40 ns of measuring a run.
type ProgramStat struct {
	Name            string
	Runs            uint64
	Time            time.Duration
	RecursionMisses uint64 // events that were lost because the program was already running on that CPU, and no second program stood in for it
}

// Programs returns the counts of the programs, in the order in which they are attached.
func (t *Tracer) Programs() ([]ProgramStat, error) {
	var all []ProgramStat
	for _, p := range programs() {
		program := t.collection.Programs[p.name]
		if program == nil {
			continue
		}
		stats, err := program.Stats()
		if err != nil {
			return nil, fmt.Errorf("read the statistics of program %s: %w", p.name, err)
		}
		lost, err := t.lostBySkipping(p, stats.RecursionMisses)
		if err != nil {
			return nil, err
		}
		all = append(all, ProgramStat{p.name, stats.RunCount, stats.Runtime, lost})
	}
	probes, err := t.probeStats()
	if err != nil {
		return nil, err
	}
	return t.addRawPrograms(append(all, probes...))
}

// addRawPrograms adds the copies of the program for raw tracepoints as one.
func (t *Tracer) addRawPrograms(all []ProgramStat) ([]ProgramStat, error) {
	if len(t.rawPrograms) == 0 {
		return all, nil
	}
	sum := ProgramStat{Name: rawTracepointProgram}
	for _, p := range t.rawPrograms {
		stats, err := p.Stats()
		if err != nil {
			return nil, fmt.Errorf("read the statistics of program %s: %w", sum.Name, err)
		}
		sum.Runs += stats.RunCount
		sum.Time += stats.Runtime
		sum.RecursionMisses += stats.RecursionMisses
	}
	return append(all, sum), nil
}

// Programs are the kernel programs by their names.
type Programs map[string]program

// ProgramsByName returns all that there are.
func ProgramsByName() Programs {
	all := Programs{rawTracepointProgram: {row: row{kind: format.KindTyped}}}
	for _, p := range programs() {
		all[p.name] = p
	}
	return all
}

// KindOf returns the kind of events that a program writes; 0: none, so that a skipped run loses no event.
func (p Programs) KindOf(name string) format.Kind {
	if isProbe(name) {
		return format.KindTyped
	}
	return p[name].kind
}

// LosesSkipped reports whether something is lost where the kernel skips a program that is running on the CPU already.
func (p Programs) LosesSkipped(name string) bool { return !p[name].source.Skipped }

// EnableStats makes the kernel measure all programs on this machine until the result is closed.
func (t *Tracer) EnableStats() (io.Closer, error) {
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return nil, fmt.Errorf("enable the kernel's BPF statistics: %w", err)
	}
	return stats, nil
}
