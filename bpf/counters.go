//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/internal/pmu"
	"wprof/internal/ringdata"
)

// MaxCounters bounds the counters: COUNTERS in counters.h.
const MaxCounters = 8

// countsAt is where the counters of a CPU begin in the map.
func countsAt(cpu int) uint32 { return uint32(cpu * MaxCounters) }

// CheckCounters refuses events that cannot be counted for threads, before any is opened.
func (o *Options) CheckCounters() error {
	if len(o.Counters) > MaxCounters {
		return fmt.Errorf("%d events are to be counted, and at most %d can be", len(o.Counters), MaxCounters)
	}
	for _, e := range o.Counters {
		if e.Uncore {
			return fmt.Errorf("event %q counts what several CPUs share, and is read on CPUs %s: it cannot be counted for threads", e.Name, e.PlacesText())
		}
	}
	return nil
}

// setCounters sets the number of counters, and the size of their map.
func (o *Options) setCounters(spec *ebpf.CollectionSpec, cpus int) error {
	if len(o.Counters) > 0 {
		spec.Maps["counters"].MaxEntries = countsAt(cpus)
	}
	return setVariables(spec, map[string]any{
		"counter_count": uint32(len(o.Counters)), "work_counted": len(o.Counters) > 0 && o.Sources.Has(ringdata.TypeWork),
	})
}

// sizeCounters replaces the map of the counters by one that has room for those of all CPUs: the library makes no map of perf events with
// more entries than there are CPUs.
func sizeCounters(maps map[string]*ebpf.Map, specs map[string]*ebpf.MapSpec) error {
	old, spec := maps["counters"], specs["counters"]
	if old == nil || spec.MaxEntries <= old.MaxEntries() {
		return nil
	}
	const bpfMapCreate = 0
	create := struct{ kind, key, value, entries, flags uint32 }{uint32(ebpf.PerfEventArray), 4, 4, spec.MaxEntries, 0}
	fd, err := bpfCall(bpfMapCreate, unsafe.Pointer(&create), unsafe.Sizeof(create))
	if err != nil {
		return fmt.Errorf("create a map of %d counters: %w", spec.MaxEntries, err)
	}
	m, err := ebpf.NewMapFromFD(fd)
	if err != nil {
		return fmt.Errorf("open the map of counters: %w", err)
	}
	maps["counters"] = m
	return old.Close()
}

// openCounters opens the counters of all CPUs, which count from then on.
func (t *Tracer) openCounters() error {
	if len(t.options.Counters) == 0 {
		return nil
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	for _, e := range t.options.Counters {
		if err := checkOnline(e, cpus); err != nil {
			return err
		}
	}
	for _, cpu := range cpus {
		if err := t.countCPU(cpu); err != nil {
			return err
		}
	}
	return nil
}

// countCPU opens the counters of a CPU that is online. Those that it had before it was offline are replaced: the kernel has removed them.
func (t *Tracer) countCPU(cpu int) error {
	for i, e := range t.options.Counters {
		attr := e.On(cpu)
		if attr == nil {
			continue // this kind of CPU does not have the event: its counts there are not known
		}
		fd, err := openCounter(attr, cpu)
		if errors.Is(err, unix.ENODEV) {
			return nil // it has just gone offline
		}
		if err != nil {
			return explainEvent(e.Name, err)
		}
		at := countsAt(cpu) + uint32(i)
		if err := t.collection.Maps["counters"].Put(at, uint32(fd)); err != nil {
			return errors.Join(fmt.Errorf("give the counter %q to the kernel programs: %w", e.Name, err), unix.Close(fd))
		}
		if err := unix.Close(fd); err != nil { // the map keeps it
			return err
		}
	}
	return nil
}

func openCounter(a *pmu.Attr, cpu int) (fd int, err error) {
	attr := perfAttr(a)
	attr.Bits |= uint64(a.Precise) << preciseShift
	attr.Read_format = unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING
	return openEvent(&attr, cpu)
}
