package capture

import (
	"encoding/binary"
	"time"

	"wprof/bpf"
	"wprof/internal/probe"
	"wprof/internal/probeplan"
	"wprof/internal/proc"
)

// countEvery is the interval of the events of what probes have counted.
const countEvery = time.Second

// probeCounts writes what probes have counted, once an interval.
type probeCounts struct {
	from   int64 // when the interval began, CLOCK_MONOTONIC ns
	before map[countKey]bpf.ProbeCount
	values []byte
}

type countKey struct {
	program *probe.Program
	key     string
}

func newProbeCounts(cfg *Config, open int64) *probeCounts {
	for _, p := range cfg.Kernel.Probes {
		if p.Counts {
			return &probeCounts{from: open, before: make(map[countKey]bpf.ProbeCount)}
		}
	}
	return nil
}

// writeDue writes an interval that is over.
func (c *probeCounts) writeDue(r *recorder) error {
	if c == nil || proc.Monotonic()-c.from < countEvery.Nanoseconds() {
		return nil
	}
	return c.write(r, 0)
}

// drainEvery is how many events are written to the rings before they are drained.
const drainEvery = 2000

// write writes what was counted since the last time: an event for each key of which there was any. at is the events' time; 0: now.
func (c *probeCounts) write(r *recorder, at int64) error {
	if c == nil {
		return nil
	}
	now := at
	if now == 0 {
		now = proc.Monotonic()
	}
	interval := now - c.from
	events := make(map[uint32]uint64) // by type
	c.from = now
	written := 0
	err := r.tracer.ProbeCounts(func(total *bpf.ProbeCount) error {
		key := countKey{total.Program, total.Key}
		last := c.before[key]
		if total.Events == last.Events {
			return nil
		}
		c.before[key] = *total
		events[total.Program.Type] += total.Events - last.Events
		if written++; written%drainEvery == 0 {
			if _, _, err := r.drain.Round(); err != nil {
				return err
			}
		}
		return r.tracer.WriteCount(total.Program.Type, at, c.encode(total, &last, interval))
	})
	if r.watched != nil {
		r.watched.compareProbes(events, now, interval)
	}
	return err
}

// encode returns the values of an event of what was counted since last.
func (c *probeCounts) encode(total, last *bpf.ProbeCount, interval int64) []byte {
	le := binary.LittleEndian
	length := probeplan.CountBuckets
	if total.Program.CountsBuckets {
		length = probeplan.CountBytes
	}
	c.values = append(append(c.values[:0], total.Key...), make([]byte, length)...)
	counts := c.values[len(total.Key):]
	le.PutUint64(counts[probeplan.CountEvents:], total.Events-last.Events)
	le.PutUint64(counts[probeplan.CountSum:], uint64(total.Sum-last.Sum))
	le.PutUint64(counts[probeplan.CountInterval:], uint64(interval))
	for i := range total.Buckets[:(length-probeplan.CountBuckets)/8] {
		le.PutUint64(counts[probeplan.CountBuckets+8*i:], total.Buckets[i]-last.Buckets[i])
	}
	return c.values
}
