//go:build linux

package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"github.com/cilium/ebpf"

	"wprof/internal/probe"
)

const leftProgram = "left_probe"

// ThreadSpan is a span of a probe that is open, and that only the thread can end in which it began.
type ThreadSpan struct {
	TID   uint32
	Start int64 // CLOCK_MONOTONIC ns
	key   probeSpanKey
}

// probeSpanKey mirrors struct probe_key in probe.h.
type probeSpanKey struct{ Who, Where, Probe uint64 }

// spansAtOnce is how many spans a system call reads; the kernel needs room for all those of a bucket of its hash table.
const spansAtOnce = 512

// threadTypes returns the event types of the spans that a thread ends itself.
func (o *Options) threadTypes() map[uint32]bool {
	types := make(map[uint32]bool)
	for _, p := range o.Probes {
		if p.Role == probe.Begin && (p.Key.Kind == probe.KeyThread || p.Key.Kind == probe.KeyFrame || p.Key.Kind == probe.KeyCall) {
			types[p.Type] = true
		}
	}
	return types
}

// HasThreadSpans reports whether there may be a [ThreadSpan].
func (t *Tracer) HasThreadSpans() bool { return len(t.options.threadTypes()) > 0 }

// ThreadSpans returns the spans that began before a time. Those that end meanwhile may be among them.
func (t *Tracer) ThreadSpans(before int64) (all []ThreadSpan, err error) {
	m, types := t.collection.Maps["probe_spans"], t.options.threadTypes()
	keys := make([]probeSpanKey, spansAtOnce)
	values := reflect.MakeSlice(reflect.SliceOf(reflect.ArrayOf(int(m.ValueSize()), reflect.TypeFor[byte]())), spansAtOnce, spansAtOnce)
	for cursor := new(ebpf.MapBatchCursor); ; {
		n, err := m.BatchLookup(cursor, keys, values.Interface(), nil)
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return all, fmt.Errorf("read the open spans of probes: %w", err)
		}
		for i := range n {
			start := int64(binary.NativeEndian.Uint64(values.Index(i).Slice(0, spanHeader).Bytes()))
			if types[uint32(keys[i].Probe)] && start < before {
				all = append(all, ThreadSpan{uint32(keys[i].Who), start, keys[i]})
			}
		}
		if err != nil {
			return all, nil
		}
	}
}

// LeaveSpan removes a span whose thread has ended in it, and writes it to the rings as one that has not ended.
func (t *Tracer) LeaveSpan(s *ThreadSpan) error {
	context := make([]byte, 0, 32)
	for _, word := range [...]uint64{s.key.Who, s.key.Where, s.key.Probe, uint64(s.Start)} {
		context = binary.NativeEndian.AppendUint64(context, word)
	}
	if _, err := t.collection.Programs[leftProgram].Run(&ebpf.RunOptions{Context: context}); err != nil {
		return fmt.Errorf("remove an open span of a probe: %w", err)
	}
	return nil
}
