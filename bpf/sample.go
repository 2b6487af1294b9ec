//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

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

// timer is what samples CPUs.
func (s *Sample) timer() sampler {
	return sampler{program: "sample", explain: sampleError, attr: unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: uint64(s.Interval()), Bits: unix.PerfBitExcludeIdle,
	}}
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
