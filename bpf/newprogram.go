//go:build linux

package bpf

import "fmt"

// ReportNewPrograms writes a record to the buffer of a CPU's perf event, whose configuration must be
// PERF_COUNT_SW_BPF_OUTPUT, whenever a program starts on that CPU whose file was not reported in the last seconds.
// Without user stacks it reports nothing.
func (t *Tracer) ReportNewPrograms(cpu, fd int) error {
	if t.collection.Programs["new_program"] == nil {
		return nil
	}
	if err := t.collection.Maps["new_programs"].Put(uint32(cpu), uint32(fd)); err != nil {
		return fmt.Errorf("report new programs on CPU %d: %w", cpu, err)
	}
	return nil
}
