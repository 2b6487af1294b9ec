//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/internal/pmu"
)

const (
	pmuProgram           = "pmu_sample"
	pmuTracepointProgram = "pmu_tracepoint"

	// MaxPMU bounds the events that are sampled: PMU_EVENTS in pmu.h.
	MaxPMU = 32
	// maxPrecise is the most that precise_ip can be.
	maxPrecise = 3
)

// PMUSample is an event of performance counters that is sampled.
type PMUSample struct {
	Event *pmu.Event
	Rate  pmu.Rate // of a tracepoint a period
	Type  uint32   // number of the event type of its samples, above ringdata.TypeTracepoint
}

// samplesPMU reports whether events are sampled: tracepoints, or others.
func (o *Options) samplesPMU(tracepoints bool) bool {
	for i := range o.PMU {
		if (o.PMU[i].Event.Tracepoint != "") == tracepoints {
			return true
		}
	}
	return false
}

// cookie is what the program finds the event by.
func (s *PMUSample) cookie(number int) uint64 { return uint64(s.Type)<<32 | uint64(number) }

func (s *PMUSample) sampler(number int) sampler {
	cookie := s.cookie(number)
	out := sampler{program: pmuProgram, cookie: &cookie, event: s.Event, explain: s.explain, precise: uint64(s.Event.Attr.Precise)}
	if s.Event.MaxPrecise {
		out.precise = maxPrecise
	}
	if s.Event.IsClock() {
		out.attr.Bits |= unix.PerfBitExcludeIdle
	}
	if out.attr.Sample = s.Rate.Period; s.Rate.Frequency != 0 {
		out.attr.Sample = s.Rate.Frequency
		out.attr.Bits |= unix.PerfBitFreq
	}
	return out
}

// eventAttr is struct perf_event_attr since Linux 6.3 (PERF_ATTR_SIZE_VER8); x/sys/unix has that of 5.13.
type eventAttr struct {
	unix.PerfEventAttr
	Config3 uint64
}

// exclusions are the bits that leave out user space, the kernel, guests and so on.
const exclusions = unix.PerfBitExcludeUser | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitExcludeIdle | unix.PerfBitExcludeHost | unix.PerfBitExcludeGuest

// openEvent opens an event of a CPU. A PMU that can leave nothing out, such as msr, refuses to leave out guests, which is the default: then they
// count, too, as with perf.
func openEvent(attr *eventAttr, cpu int) (fd int, err error) {
	fd, err = attr.open(cpu)
	if errors.Is(err, unix.EINVAL) && attr.Bits&exclusions == unix.PerfBitExcludeGuest {
		attr.Bits &^= unix.PerfBitExcludeGuest
		return attr.open(cpu)
	}
	return fd, err
}

// open opens an event. Kernels before Linux 6.3 refuse a config3 that is not 0 (E2BIG).
func (a *eventAttr) open(cpu int) (fd int, err error) {
	a.Size = uint32(unsafe.Sizeof(*a))
	if a.Config3 == 0 {
		a.Size = uint32(unsafe.Sizeof(a.PerfEventAttr))
	}
	return unix.PerfEventOpen(&a.PerfEventAttr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

// perfAttr is what the kernel takes for an event, without how precise it is.
func perfAttr(a *pmu.Attr) eventAttr {
	attr := eventAttr{unix.PerfEventAttr{Type: a.Type, Config: a.Config, Ext1: a.Config1, Ext2: a.Config2}, a.Config3}
	for bit, set := range map[uint64]bool{
		unix.PerfBitExcludeUser: a.User, unix.PerfBitExcludeKernel: a.Kernel, unix.PerfBitExcludeHv: a.Hypervisor, unix.PerfBitExcludeIdle: a.Idle,
		unix.PerfBitExcludeHost: a.Host, unix.PerfBitExcludeGuest: a.Guest, unix.PerfBitPinned: a.Pinned, unix.PerfBitExclusive: a.Exclusive,
	} {
		if set {
			attr.Bits |= bit
		}
	}
	return attr
}

// CheckPMU refuses events that cannot be sampled, before any is opened.
func (o *Options) CheckPMU() error {
	if len(o.PMU) > MaxPMU {
		return fmt.Errorf("%d events are to be sampled, and at most %d can be", len(o.PMU), MaxPMU)
	}
	for i := range o.PMU {
		if err := o.PMU[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *PMUSample) check() error {
	e := s.Event
	switch {
	case e.Uncore:
		return fmt.Errorf("event %q counts what several CPUs share, and is read on CPUs %s: it cannot be sampled, since no thread can be named for it", e.Name, e.PlacesText())
	case e.Tracepoint != "" && s.Rate.Period == 0:
		return fmt.Errorf("event %q is a tracepoint, of which every n-th hit is sampled, not so many a second: write @period=N, or nothing for every hit", e.Name)
	case e.Tracepoint != "" && e.Attr.Exclude != pmu.Exclude{Guest: true}:
		return fmt.Errorf("event %q is a tracepoint, which is hit in the kernel: leave out the modifiers", e.Name)
	case s.Rate.Frequency == 0:
		return nil
	}
	limit, err := perfSetting("perf_event_max_sample_rate")
	if err == nil && s.Rate.Frequency > uint64(limit) {
		return unsupported(unix.EINVAL, "event %q: sampling %d times a second is more than the kernel allows: kernel.perf_event_max_sample_rate is %d; "+
			"choose a lower rate, or raise it with sysctl -w kernel.perf_event_max_sample_rate=%d", e.Name, s.Rate.Frequency, limit, s.Rate.Frequency)
	}
	return nil
}

// checkOnline refuses an event that none of the online CPUs has.
func checkOnline(e *pmu.Event, cpus []int) error {
	if slices.ContainsFunc(cpus, func(cpu int) bool { return e.On(cpu) != nil }) {
		return nil
	}
	return fmt.Errorf("event %q is one of CPUs %s, and none of them is online", e.Name, e.PlacesText())
}

// explain turns an error of perf_event_open(2) into a sentence.
func (s *PMUSample) explain(err error) error { return explainEvent(s.Event.Name, err) }

func explainEvent(name string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return unsupported(err, "this machine cannot count %q: it has no hardware counters for it, as most virtual machines (%v)", name, err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return unsupported(err, "this machine cannot count or sample %q: its PMU takes no samples, or not with these modifiers (%v)", name, err)
	case errors.Is(err, unix.EINVAL):
		return unsupported(err, "this kernel does not accept the event %q: a value between its slashes, a modifier or the rate is not possible, or its PMU takes no samples (%v)", name, err)
	case errors.Is(err, unix.EBUSY):
		return unsupported(err, "the counters that %q needs are in use: end what else uses them, such as perf with the modifier D, or the NMI watchdog (%v)", name, err)
	case errors.Is(err, unix.E2BIG):
		return unsupported(err, "the event %q needs config3, which kernels before Linux 6.3 do not have (%v)", name, err)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fmt.Errorf("open the event %q on each CPU: %w: raise the limit with ulimit -n", name, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS):
		return sampleError(err)
	}
	return fmt.Errorf("open the event %q: %w", name, err)
}

// setPMU sets the periods of tracepoints in the programs.
func (o *Options) setPMU(spec *ebpf.CollectionSpec) error {
	var periods [MaxPMU]uint64
	for i := range o.PMU {
		periods[i] = o.PMU[i].Rate.Period
	}
	return setVariables(spec, map[string]any{"pmu_periods": periods})
}

// attachPMUTracepoints attaches a program to the tracepoints that are sampled.
func (t *Tracer) attachPMUTracepoints(program *ebpf.Program) error {
	cpu, err := currentCPU()
	if err != nil {
		return err
	}
	for i := range t.options.PMU {
		s := &t.options.PMU[i]
		if s.Event.Tracepoint == "" {
			continue
		}
		link, err := attachTracepoint(program.FD(), int(s.Event.Attr.Config), s.cookie(i), cpu)
		if err != nil {
			return unsupported(err, "this kernel does not let a program be attached to the tracepoint %s (%v)", s.Event.Tracepoint, err)
		}
		t.pinned().hold(link)
	}
	return nil
}

// PMUFiles is the number of open files for the events that are sampled, on a number of CPUs.
func (o *Options) PMUFiles(cpus int) (n int) {
	for i := range o.PMU {
		if n++; o.PMU[i].Event.Tracepoint == "" {
			n += 2 * cpus
		}
	}
	return n
}
