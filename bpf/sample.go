//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

// Sample configures the timer that samples the threads on CPUs. Idle CPUs are never sampled.
type Sample struct {
	Period       time.Duration // nominal time between two samples of a CPU, see [Sample.Interval]; 0: no samples
	Kernel, User bool          // take these stacks
}

// shortestInterval is the shortest interval of the kernel's software clock; see perf_swevent_hrtimer in
// kernel/events/core.c.
const shortestInterval = 10 * time.Microsecond

// Interval is the actual time between two samples of a CPU: 255/256 of the period. A period that is a multiple of
// the scheduler's tick, as those of all round rates are, would sample each tick's work always at the same
// point; so samples move through the tick period, through all of it within a second at 100 Hz.
func (s *Sample) Interval() time.Duration { return s.Period - s.Period/256 }

func (s *Sample) stacks() bool { return s.Period != 0 && (s.Kernel || s.User) }

const (
	// wakeShare is the part of a ring that is full when the timer wakes its reader.
	wakeShare = 4
	// wakePeriod is the longest period, and wakeRing the smallest ring, with which the reader is still in time: a CPU
	// that begins to write 24 MB a second has filled another 6% of such a ring when the timer fires.
	wakePeriod = 20 * time.Millisecond
	wakeRing   = 4 << 20
)

// WakesReader reports whether the timer wakes the reader when a ring fills, so that the ring need not be polled
// often. It fires on busy CPUs; idle ones write little.
func (o *Options) WakesReader() bool {
	return o.Sample.Period > 0 && o.Sample.Period <= wakePeriod && o.RingBytes >= wakeRing
}

func (o *Options) wakeBytes() uint64 {
	if !o.WakesReader() {
		return 0
	}
	return uint64(o.RingBytes / wakeShare)
}

// SampleEvent is the perf event that samples a CPU. Its clock is CLOCK_MONOTONIC; its records have a sample id of
// PERF_SAMPLE_IDENTIFIER alone. It writes none unless its output is redirected to another event's buffer
// (PERF_EVENT_IOC_SET_OUTPUT): then that gets PERF_RECORD_THROTTLE and UNTHROTTLE.
type SampleEvent struct {
	CPU int
	FD  int    // valid until [Tracer.Close]
	ID  uint64 // in its records
}

// SampleEvents returns the events of the CPUs that are online, if sampling was requested.
func (t *Tracer) SampleEvents() []SampleEvent {
	t.sampling.Lock()
	defer t.sampling.Unlock()
	return slices.Clone(t.samples)
}

// SampleCPU begins to sample a CPU that has come online since [Load], if sampling was requested. One that was sampled
// before and has been offline gets a new event: the kernel removes the events of a CPU that goes offline for good. After an
// error, or if the CPU is offline again, nothing has changed.
func (t *Tracer) SampleCPU(cpu int) error {
	if t.options.Sample.Period == 0 {
		return nil
	}
	t.sampling.Lock()
	defer t.sampling.Unlock()
	event, err := openSampleEvent(cpu, t.options.Sample.Interval())
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	if err != nil {
		return sampleError(err)
	}
	if err := t.beginSampleEvent(event); err != nil {
		return errors.Join(err, unix.Close(event.FD))
	}
	for i, old := range t.samples {
		if old.CPU == cpu {
			t.samples[i] = event
			return unix.Close(old.FD)
		}
	}
	t.samples = append(t.samples, event)
	return nil
}

// beginSampleEvent attaches the program to an event, and enables it if the others are enabled.
func (t *Tracer) beginSampleEvent(event SampleEvent) error {
	if err := event.setProgram(t.collection.Programs["sample"].FD()); err != nil {
		return err
	}
	if t.onEvent != nil {
		if err := t.onEvent(event); err != nil {
			return err
		}
	}
	if !t.started {
		return nil
	}
	return event.enable()
}

// OnSampleEvent makes the Tracer call f with each event, existing ones and those that [Tracer.SampleCPU] creates, before the
// event is enabled.
func (t *Tracer) OnSampleEvent(f func(SampleEvent) error) error {
	t.sampling.Lock()
	defer t.sampling.Unlock()
	t.onEvent = f
	for _, event := range t.samples {
		if err := f(event); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sample) validate() error {
	switch {
	case s.Period < 0:
		return fmt.Errorf("sample every %s: the period is negative", s.Period)
	case s.Period != 0 && s.Interval() < shortestInterval:
		return fmt.Errorf("sample every %s: the kernel's timer accepts no period below %s", s.Period, shortestInterval+shortestInterval/128)
	}
	return nil
}

// checkRate refuses a rate that the kernel would throttle.
func (s *Sample) checkRate() error {
	if s.Period == 0 {
		return nil
	}
	limit, err := perfSetting("perf_event_max_sample_rate")
	if err != nil {
		return nil // if the rate is too high, the kernel throttles, which is reported
	}
	if rate := float64(time.Second) / float64(s.Interval()); rate >= float64(limit) {
		return unsupported(unix.EINVAL, "sampling %.0f times a second is more than the kernel allows: kernel.perf_event_max_sample_rate is %d; "+
			"choose a longer period, or raise it with sysctl -w kernel.perf_event_max_sample_rate=%.0f", rate, limit, 1.1*rate)
	}
	return nil
}

// openSampleEvents creates the events, disabled.
func (t *Tracer) openSampleEvents() error {
	if t.options.Sample.Period == 0 {
		return nil
	}
	cpus, err := proc.CPUs("/sys")
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		if cpu.Offline {
			continue
		}
		event, err := openSampleEvent(int(cpu.Id), t.options.Sample.Interval())
		if errors.Is(err, unix.ENODEV) {
			continue // it has just gone offline
		}
		if err != nil {
			return sampleError(err)
		}
		t.samples = append(t.samples, event)
	}
	return nil
}

func openSampleEvent(cpu int, interval time.Duration) (SampleEvent, error) {
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample:      uint64(interval),
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER,
		Bits:        unix.PerfBitDisabled | unix.PerfBitExcludeIdle | unix.PerfBitUseClockID | unix.PerfBitSampleIDAll,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return SampleEvent{}, err
	}
	event := SampleEvent{CPU: cpu, FD: fd}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&event.ID))); errno != 0 {
		_ = unix.Close(fd)
		return SampleEvent{}, errno
	}
	return event, nil
}

func (t *Tracer) attachSample(program int) error {
	for _, event := range t.samples {
		if err := event.setProgram(program); err != nil {
			return err
		}
	}
	return nil
}

func (e SampleEvent) setProgram(program int) error {
	if err := unix.IoctlSetInt(e.FD, unix.PERF_EVENT_IOC_SET_BPF, program); err != nil {
		return unsupported(err, "this kernel does not let a program be attached to a perf event (%v)", err)
	}
	return nil
}

func (e SampleEvent) enable() error {
	if err := unix.IoctlSetInt(e.FD, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		return fmt.Errorf("start sampling CPU %d: %w", e.CPU, err)
	}
	return nil
}

// stagger returns the time over which the events are started, so that CPUs are not all interrupted at the same time.
func (s *Sample) stagger() time.Duration { return min(s.Interval(), 10*time.Millisecond) }

// StartSampling returns when all events are enabled, which takes up to 10 ms. No sample is written before [Tracer.Arm].
func (t *Tracer) StartSampling() error {
	t.sampling.Lock()
	defer t.sampling.Unlock()
	if t.started || len(t.samples) == 0 {
		t.started = true
		return nil
	}
	t.started = true
	begin, step := time.Now(), t.options.Sample.stagger()/time.Duration(len(t.samples))
	for i, event := range t.samples {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * step)))
		if err := event.enable(); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tracer) stopSampling() error {
	t.sampling.Lock()
	defer t.sampling.Unlock()
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
	for _, event := range t.samples {
		errs = append(errs, unix.Close(event.FD))
	}
	return errors.Join(errs...)
}

// sampleError turns an error of perf_event_open(2) into a sentence.
func sampleError(err error) error {
	capabilities, _ := proc.ReadCapabilities()
	return explainSampleError(err, capabilities.Has(proc.CapPerfmon), readWord("/proc/sys/kernel/perf_event_paranoid"), readWord("/sys/kernel/security/lockdown"))
}

func explainSampleError(err error, perfmon bool, paranoid, lockdown string) error {
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		switch {
		case !perfmon:
			return unsupported(err, "sampling needs CAP_PERFMON, because kernel.perf_event_paranoid is %s: run it as root", paranoid)
		case strings.Contains(lockdown, "[confidentiality]"):
			return unsupported(err, "the kernel does not let CPUs be sampled (%v): it is locked down for confidentiality, see /sys/kernel/security/lockdown", err)
		}
		return unsupported(err, "perf_event_open is refused (%v): a container's seccomp profile or a security module forbids it; "+
			"record outside the container, or record without samples", err)
	case errors.Is(err, unix.ENOSYS):
		return unsupported(err, "this kernel has no perf events: it must be built with CONFIG_PERF_EVENTS")
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		return unsupported(err, "this kernel does not support the sampling timer (%v)", err)
	}
	return fmt.Errorf("create the sampling timers: %w", err)
}

func perfSetting(name string) (int, error) {
	return strconv.Atoi(readWord("/proc/sys/kernel/" + name))
}

// readWord returns "" for a file that cannot be read.
func readWord(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}
