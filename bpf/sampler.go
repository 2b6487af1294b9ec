//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/pmu"
)

// sampler is what samples all CPUs: the timer, or an event of performance counters.
type sampler struct {
	attr    unix.PerfEventAttr // how often it samples; of the timer also what is counted
	event   *pmu.Event         // nil: the timer
	precise uint64             // the most that is tried of precise_ip; the attribute has none
	program string
	cookie  *uint64           // of the program; nil: it needs none
	explain func(error) error // of perf_event_open(2)
}

// on returns what is opened on a CPU; false: this kind of CPU does not have it.
func (s *sampler) on(cpu int) (attr eventAttr, ok bool) {
	if s.event == nil {
		return eventAttr{PerfEventAttr: s.attr}, true
	}
	of := s.event.On(cpu)
	if of == nil {
		return attr, false
	}
	attr = perfAttr(of)
	attr.Sample, attr.Bits = s.attr.Sample, attr.Bits|s.attr.Bits
	return attr, true
}

// errOtherCPU is why an event was not opened on a CPU.
var errOtherCPU = errors.New("this kind of CPU does not have the event")

// hasNoEvent reports whether an event was not opened because the CPU is offline or does not have it.
func hasNoEvent(err error) bool { return errors.Is(err, unix.ENODEV) || errors.Is(err, errOtherCPU) }

// samplers returns what samples CPUs, as the options request.
func (o *Options) samplers() (all []sampler) {
	if o.Sample.Period != 0 {
		all = append(all, o.Sample.timer())
	}
	for i := range o.PMU {
		if o.PMU[i].Event.Tracepoint == "" {
			all = append(all, o.PMU[i].sampler(i))
		}
	}
	return all
}

// SampleEvent is a perf event that samples a CPU. Its clock is CLOCK_MONOTONIC; its records have a sample id of
// PERF_SAMPLE_IDENTIFIER alone. It writes none unless its output is redirected to another event's buffer
// (PERF_EVENT_IOC_SET_OUTPUT): then that gets PERF_RECORD_THROTTLE and UNTHROTTLE.
type SampleEvent struct {
	CPU int
	FD  int    // valid until [Tracer.Close]
	ID  uint64 // in its records

	of   int // index of what samples
	link int // that attaches the program; -1: the event does
}

// SampleEvents returns the events of the CPUs that are online, if sampling was requested.
func (t *Tracer) SampleEvents() []SampleEvent {
	t.hotplug.Lock()
	defer t.hotplug.Unlock()
	return slices.Clone(t.samples)
}

// AddCPU opens, on a CPU that has come online since [Load], the perf events that were requested: of samples, sources, counters and breakpoints of
// the kernel. A CPU that has been offline gets new ones, since those of a CPU that goes offline never count again. An event
// that cannot be opened stays as it was, also because the CPU is offline again.
func (t *Tracer) AddCPU(cpu int) error {
	t.hotplug.Lock()
	defer t.hotplug.Unlock()
	var errs []error
	for i := range t.samplers {
		errs = append(errs, t.sampleCPU(i, cpu))
	}
	for _, e := range t.onEvents {
		errs = append(errs, t.attachToCPU(e, cpu))
	}
	return errors.Join(append(errs, t.countCPU(cpu), t.watchCPU(cpu))...)
}

func (t *Tracer) sampleCPU(of, cpu int) error {
	event, err := t.openSampleEvent(of, cpu)
	if hasNoEvent(err) {
		return nil
	}
	if err != nil {
		return t.samplers[of].explain(err)
	}
	if err := t.beginSampleEvent(&event); err != nil {
		return errors.Join(err, event.close())
	}
	for i, old := range t.samples {
		if old.CPU == cpu && old.of == of {
			t.samples[i] = event
			return old.close()
		}
	}
	t.samples = append(t.samples, event)
	return nil
}

// beginSampleEvent attaches the program to an event, and enables it if the tracer is armed.
func (t *Tracer) beginSampleEvent(event *SampleEvent) error {
	if err := t.attachSampleEvent(event); err != nil {
		return err
	}
	if t.onEvent != nil {
		if err := t.onEvent(*event); err != nil {
			return err
		}
	}
	if !t.started {
		return nil
	}
	return event.enable()
}

// OnSampleEvent makes the Tracer call f with each event, existing ones and those that [Tracer.AddCPU] creates, before the
// event is enabled.
func (t *Tracer) OnSampleEvent(f func(SampleEvent) error) error {
	t.hotplug.Lock()
	defer t.hotplug.Unlock()
	t.onEvent = f
	for _, event := range t.samples {
		if err := f(event); err != nil {
			return err
		}
	}
	return nil
}

// openSampleEvents creates the events, disabled.
func (t *Tracer) openSampleEvents() error {
	if t.samplers = t.options.samplers(); len(t.samplers) == 0 {
		return nil
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return err
	}
	for i := range t.samplers {
		if e := t.samplers[i].event; e != nil {
			if err := checkOnline(e, cpus); err != nil {
				return err
			}
		}
		for _, cpu := range cpus {
			event, err := t.openSampleEvent(i, cpu)
			if hasNoEvent(err) {
				continue
			}
			if err != nil {
				return t.samplers[i].explain(err)
			}
			t.samples = append(t.samples, event)
		}
	}
	return nil
}

// openSampleEvent opens an event as precise as the machine can, up to what was requested.
func (t *Tracer) openSampleEvent(of, cpu int) (event SampleEvent, err error) {
	s := &t.samplers[of]
	attr, ok := s.on(cpu)
	if !ok {
		return event, errOtherCPU
	}
	for precise := s.precise; ; precise-- {
		event, err = openSampleEvent(attr, precise, cpu)
		if event.of = of; err == nil || precise == 0 || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EMFILE) {
			s.precise = precise
			return event, err
		}
	}
}

// preciseShift is where precise_ip is among the bits of a perf_event_attr.
const preciseShift = 15

func openSampleEvent(attr eventAttr, precise uint64, cpu int) (SampleEvent, error) {
	attr.Sample_type = unix.PERF_SAMPLE_IDENTIFIER
	attr.Bits |= unix.PerfBitDisabled | unix.PerfBitUseClockID | unix.PerfBitSampleIDAll | precise<<preciseShift
	attr.Clockid = unix.CLOCK_MONOTONIC
	fd, err := openEvent(&attr, cpu)
	if err != nil {
		return SampleEvent{}, err
	}
	event := SampleEvent{CPU: cpu, FD: fd, link: -1}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&event.ID))); errno != 0 {
		_ = unix.Close(fd)
		return SampleEvent{}, errno
	}
	return event, nil
}

// attachSamplers attaches a program to the events of all that needs it.
func (t *Tracer) attachSamplers(program string) error {
	for i := range t.samples {
		if event := &t.samples[i]; t.samplers[event.of].program == program {
			if err := t.attachSampleEvent(event); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tracer) attachSampleEvent(event *SampleEvent) (err error) {
	s := &t.samplers[event.of]
	program := t.collection.Programs[s.program].FD()
	if s.cookie == nil {
		err = unix.IoctlSetInt(event.FD, unix.PERF_EVENT_IOC_SET_BPF, program)
	} else {
		event.link, err = createLink(program, event.FD, *s.cookie)
	}
	if err != nil {
		return unsupported(err, "this kernel does not let a program be attached to a perf event (%v)", err)
	}
	return nil
}

func (e *SampleEvent) enable() error {
	if err := unix.IoctlSetInt(e.FD, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		return fmt.Errorf("start sampling CPU %d: %w", e.CPU, err)
	}
	return nil
}

func (e *SampleEvent) close() error {
	if e.link < 0 {
		return unix.Close(e.FD)
	}
	return errors.Join(unix.Close(e.link), unix.Close(e.FD))
}

// stagger returns the time over which the events are started, so that CPUs are not all interrupted at the same time.
func (o *Options) stagger() time.Duration {
	const longest = 10 * time.Millisecond
	if o.Sample.Period == 0 {
		return longest
	}
	return min(o.Sample.Interval(), longest)
}

// StartSampling returns when all events are enabled, which takes up to 10 ms. No sample is written before [Tracer.Arm].
func (t *Tracer) StartSampling() error {
	t.hotplug.Lock()
	defer t.hotplug.Unlock()
	wasStarted := t.started
	t.started = true
	if wasStarted || len(t.samples) == 0 {
		return nil
	}
	begin, step := time.Now(), t.options.stagger()/time.Duration(len(t.samples))
	for i := range t.samples {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * step)))
		if err := t.samples[i].enable(); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tracer) stopSampling() error {
	t.hotplug.Lock()
	defer t.hotplug.Unlock()
	t.started = false
	for _, event := range t.samples {
		if err := unix.IoctlSetInt(event.FD, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
			return fmt.Errorf("stop sampling CPU %d: %w", event.CPU, err)
		}
	}
	return nil
}

func (t *Tracer) closeSampleEvents() error {
	var errs []error
	for i := range t.samples {
		errs = append(errs, t.samples[i].close())
	}
	return errors.Join(errs...)
}
