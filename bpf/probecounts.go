//go:build linux

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"

	"wprof/internal/probe"
)

const countedProgram = "write_probe_count"

// ProbeCount is what a probe has counted of a key since the recording began.
type ProbeCount struct {
	Program *probe.Program
	Key     string // the program's values
	Events  uint64
	Sum     int64
	Buckets [64]uint64 // amounts below 1, 2, 4, 8, …
}

// probeTotal mirrors the beginning of struct probe_count in probe.h.
type probeTotal struct {
	Events uint64
	Sum    int64
}

// probeCount mirrors struct probe_count in probe.h.
type probeCount struct {
	probeTotal
	Buckets [64]uint64
}

const probeKeyHeader = 8 // the slot

// ProbeCounts calls visit with all counts. Events that are counted meanwhile may be missing.
func (t *Tracer) ProbeCounts(visit func(*ProbeCount) error) error {
	if !t.options.counts() {
		return nil
	}
	if err := t.probeTotals(visit); err != nil {
		return err
	}
	m := t.collection.Maps["probe_counts"]
	if m == nil { // nothing is counted by a key
		return nil
	}
	key := make([]byte, m.KeySize())
	var perCPU [][]byte
	all := m.Iterate()
	for all.Next(&key, &perCPU) {
		slot := int(binary.LittleEndian.Uint32(key))
		if slot >= len(t.options.Probes) {
			continue
		}
		p := t.options.Probes[slot]
		c := ProbeCount{Program: p, Key: string(key[probeKeyHeader:][:p.Fixed])}
		for _, value := range perCPU {
			c.add(value)
		}
		if err := visit(&c); err != nil {
			return err
		}
	}
	if err := all.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return fmt.Errorf("read what probes have counted: %w", err)
	}
	return nil
}

// probeTotals calls visit with what was counted without a key.
func (t *Tracer) probeTotals(visit func(*ProbeCount) error) error {
	for i, p := range t.options.Probes {
		if !countsTotal(p) {
			continue
		}
		var perCPU []uint64
		if err := t.collection.Maps["probe_totals"].Lookup(uint32(i), &perCPU); err != nil {
			return fmt.Errorf("read what a probe has counted: %w", err)
		}
		c := ProbeCount{Program: p}
		for _, events := range perCPU {
			c.Events += events
		}
		if err := visit(&c); err != nil {
			return err
		}
	}
	return nil
}

// add adds what a CPU has counted.
func (c *ProbeCount) add(value []byte) {
	ne := binary.NativeEndian
	c.Events += ne.Uint64(value)
	c.Sum += int64(ne.Uint64(value[8:]))
	for i, rest := 0, value[unsafe.Sizeof(probeTotal{}):]; i < len(c.Buckets) && len(rest) >= 8; i++ {
		c.Buckets[i] += ne.Uint64(rest)
		rest = rest[8:]
	}
}

// WriteCount writes an event of an event type, whose values are where its layout has them, to the rings. at is its time; 0: now.
func (t *Tracer) WriteCount(eventType uint32, at int64, values []byte) error {
	const header = 16
	le := binary.LittleEndian
	context := make([]byte, header+4096)
	le.PutUint64(context, uint64(at))
	le.PutUint32(context[8:], eventType)
	le.PutUint32(context[12:], uint32(len(values)))
	copy(context[header:], values)
	if _, err := t.collection.Programs[countedProgram].Run(&ebpf.RunOptions{Context: context}); err != nil {
		return fmt.Errorf("write what probes have counted: %w", err)
	}
	return nil
}
