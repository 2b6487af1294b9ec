//go:build linux

package bpf

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/test/tools"
)

func TestSamplingLoadsWithAndWithoutEachPart(t *testing.T) {
	for name, o := range map[string]Options{
		"both stacks":       {Sample: Sample{Kernel: true, User: true}},
		"kernel stacks":     {Sample: Sample{Kernel: true}},
		"user stacks":       {Sample: Sample{User: true}},
		"no stacks":         {},
		"samples alone":     {Off: format.GroupSched | format.GroupWakeup | format.GroupTaskLife, NoArgs: true, Sample: Sample{Kernel: true, User: true}},
		"a filter of names": {Filter: Filter{Names: []string{"*"}, NoNames: []string{"x"}, Idle: true, Kthread: true}, Sample: Sample{Kernel: true, User: true}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Sample.Period = time.Millisecond
			if name == "a filter of names" {
				o.Filter.PIDs = []int32{int32(os.Getpid())}
			}
			records := recording(t, mustLoad(t, o), func() {
				for range 20 {
					onThread(func() { innermost(5 * time.Millisecond) })
					run(t, "true")
				}
			})
			_, samples := checkStacks(t, records)
			user := count(records, func(r record) bool { return r.is(ringdata.KindSample) && r.userID() != 0 })
			kernel := count(records, func(r record) bool { return r.is(ringdata.KindSample) && r.kernelID() != 0 })
			if samples == 0 || user > 0 != o.Sample.User || kernel > 0 != o.Sample.Kernel {
				t.Errorf("%d samples, %d with a user and %d with a kernel stack, want %v and %v", samples, user, kernel, o.Sample.User, o.Sample.Kernel)
			}
		})
	}
}

func TestWithoutAPeriodNothingIsSampled(t *testing.T) {
	tracer := mustLoad(t, Options{Sample: Sample{Kernel: true, User: true}})
	records := recording(t, tracer, func() { onThread(func() { innermost(50 * time.Millisecond) }) })
	if _, n := checkStacks(t, records); n > 0 || len(tracer.SampleEvents()) > 0 {
		t.Errorf("%d samples, %d events", n, len(tracer.SampleEvents()))
	}
}

// A busy thread has as many samples as intervals fit into its time on a CPU.
func TestSamplesCountTimeOnCPU(t *testing.T) {
	sample := Sample{Period: time.Millisecond}
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup, Sample: sample})
	var tid int
	var busy int64
	records := recording(t, tracer, func() {
		tid = onThread(func() {
			pin(0)
			begin := threadTime()
			for deadline := time.Now().Add(time.Minute); busy < 500e6 && time.Now().Before(deadline); { // others may have the CPU
				innermost(100 * time.Millisecond)
				busy = threadTime() - begin
			}
		})
	})
	n := count(records, func(r record) bool { return r.is(ringdata.KindSample) && r.tid() == tid })
	want := float64(busy) / float64(sample.Interval())
	t.Logf("%d samples in %d ms on the CPU, want %.0f", n, busy/1e6, want)
	// A hypervisor that stops the CPU has samples dropped.
	if got := float64(n); got > want+4*math.Sqrt(want) || got < 0.75*want/emulated(t) || want < 100 {
		t.Errorf("%d samples in %d ms on the CPU, want %.0f", n, busy/1e6, want)
	}
}

// emulated returns the tolerated share of missing samples: an emulated CPU is late with its timers, the more so the busier its host (16 of
// 530 were seen).
func emulated(t *testing.T) float64 {
	t.Helper()
	if tools.Emulated(t) {
		return 100
	}
	return 1
}

func threadTime() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return ts.Nano()
}

// All CPUs are sampled, each by its own timer, and the samples move through the scheduler's ticks.
func TestEachOnlineCPUIsSampled(t *testing.T) {
	period := 2 * time.Millisecond
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup, Sample: Sample{Period: period}})
	records := recording(t, tracer, func() {
		done := make(chan int)
		for cpu := range runtime.NumCPU() {
			go func() { done <- onThread(func() { pin(cpu); innermost(500 * time.Millisecond) }) }()
		}
		for range runtime.NumCPU() {
			<-done
		}
	})
	const tick = 4e6
	sampled := map[int]int{}
	phases := map[int]map[int64]bool{}
	for _, r := range records {
		if r.is(ringdata.KindSample) {
			sampled[r.cpu()]++
			if phases[r.cpu()] == nil {
				phases[r.cpu()] = map[int64]bool{}
			}
			phases[r.cpu()][r.ts()%tick/(tick/20)] = true
		}
	}
	ids := map[uint64]bool{}
	for _, e := range tracer.SampleEvents() {
		ids[e.ID] = true
		if n := sampled[e.CPU]; float64(n) < 100/emulated(t) || len(phases[e.CPU]) < 10 {
			t.Errorf("CPU %d: %d samples, at %d of 20 places of a tick; want about 250, at most of them", e.CPU, n, len(phases[e.CPU]))
		}
	}
	if len(ids) != runtime.NumCPU() {
		t.Errorf("%d events with ids of their own, want %d", len(ids), runtime.NumCPU())
	}
}

func TestSamplesMeetTheFilter(t *testing.T) {
	mine := make(chan int)
	var ended atomic.Bool
	defer ended.Store(true)
	go onThread(func() {
		mine <- unix.Gettid()
		for !ended.Load() {
			innermost(10 * time.Millisecond)
		}
	})
	tid := <-mine
	tracer := mustLoad(t, Options{Filter: Filter{TIDs: []int32{int32(tid)}}, Sample: Sample{Period: 100 * time.Microsecond, Kernel: true, User: true}})
	records := recording(t, tracer, func() {
		newPair(t).play(3000, func(play func()) { play() })
		onThread(func() { innermost(200 * time.Millisecond) })
	})
	_, samples := checkStacks(t, records)
	for _, r := range records {
		if (r.is(ringdata.KindSample) || r.is(ringdata.KindStack)) && r.tid() != tid {
			t.Fatalf("a record of kind %d of thread %d, wanted is %d", r.kind(), r.tid(), tid)
		}
	}
	if samples < 100 {
		t.Errorf("%d samples of the thread that is wanted", samples)
	}
}

// Idle CPUs have no samples, not even of interrupts.
func TestIdleIsNotSampled(t *testing.T) {
	tracer := mustLoad(t, Options{Sample: Sample{Period: 200 * time.Microsecond, Kernel: true}})
	idle := 0
	for range 240 { // others may keep all CPUs busy for a while
		idle += checkIdle(t, recording(t, tracer, func() { time.Sleep(500 * time.Millisecond) }))
		if idle > 0 {
			return
		}
	}
	t.Error("no CPU was ever idle: the test does not test")
}

// checkIdle returns how often a CPU became idle.
func checkIdle(t *testing.T, records []record) (idle int) {
	t.Helper()
	running := map[int]int{}
	for _, r := range records {
		switch {
		case r.is(ringdata.KindSwitch):
			running[r.cpu()] = r.next()
			if r.next() == 0 {
				idle++
			}
		case r.is(ringdata.KindSample):
			if tid, ok := running[r.cpu()]; r.tid() == 0 || ok && tid == 0 {
				t.Errorf("a sample of thread %d on CPU %d, where thread %d runs", r.tid(), r.cpu(), tid)
			}
		}
	}
	return idle
}

func TestRatesThatTheKernelWouldThrottleAreRefused(t *testing.T) {
	limit, err := perfSetting("perf_event_max_sample_rate")
	must(t, err)
	if limit > 98_000 {
		limit = 98_000 // the timer's own limit
	} else {
		_, err = Load(Options{Sample: Sample{Period: time.Second / time.Duration(limit)}})
		if missing := new(Unsupported); !errors.As(err, &missing) || !strings.Contains(err.Error(), "kernel.perf_event_max_sample_rate") {
			t.Errorf("at the limit: %v", err)
		}
	}
	mustLoad(t, Options{Sample: Sample{Period: 2 * time.Second / time.Duration(limit)}})
	for _, period := range []time.Duration{-1, 1, 10 * time.Microsecond} {
		if _, err := Load(Options{Sample: Sample{Period: period}}); err == nil {
			t.Errorf("a period of %s is taken", period)
		}
		if err := (&Options{Sample: Sample{Period: period}}).Validate(); err == nil {
			t.Errorf("a period of %s is valid", period)
		}
	}
}

func TestSampleErrorsAreSentences(t *testing.T) {
	for want, c := range map[string]struct {
		err      error
		perfmon  bool
		lockdown string
	}{
		"sampling needs CAP_PERFMON, because kernel.perf_event_paranoid is 2: run it as root":                                                                                          {unix.EACCES, false, ""},
		"the kernel does not let CPUs be sampled (operation not permitted): it is locked down for confidentiality, see /sys/kernel/security/lockdown":                                  {unix.EPERM, true, "none integrity [confidentiality]"},
		"perf_event_open is refused (operation not permitted): a container's seccomp profile or a security module forbids it; record outside the container, or record without samples": {unix.EPERM, true, "none [integrity] confidentiality"},
		"this kernel has no perf events: it must be built with CONFIG_PERF_EVENTS":                                                                                                     {unix.ENOSYS, true, ""},
		"this kernel does not support the sampling timer (no such file or directory)":                                                                                                  {unix.ENOENT, true, ""},
	} {
		err := explainSampleError(c.err, c.perfmon, "2", c.lockdown)
		if missing := new(Unsupported); err.Error() != want || !errors.As(err, &missing) || !errors.Is(err, c.err) {
			t.Errorf("%v: %q, want %q", c.err, err, want)
		}
	}
}

// The test runs itself where perf_event_open is forbidden, as in a container.
func TestSeccompIsNamed(t *testing.T) {
	if os.Getenv("WPROF_TEST_SECCOMP") != "" {
		must(t, forbid(unix.SYS_PERF_EVENT_OPEN))
		if _, err := Load(Options{Sample: Sample{Period: time.Millisecond}}); err != nil {
			os.Stdout.WriteString("got: " + err.Error() + "\n")
		}
		return
	}
	c := exec.Command("/proc/self/exe", "-test.run", t.Name())
	c.Env = append(os.Environ(), "WPROF_TEST_SECCOMP=1")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "got: perf_event_open is refused (operation not permitted): a container's seccomp profile") {
		t.Errorf("%v: %s", err, out)
	}
}

// forbid has a system call fail with EPERM in all threads from now on.
func forbid(number uint32) error {
	const (
		setModeFilter, tsync      = 1, 1
		returnErrno, returnAllow  = 0x00050000, 0x7fff0000
		load, jumpIfEqual, finish = 0x20, 0x15, 0x06
	)
	filter := []unix.SockFilter{
		{Code: load}, {Code: jumpIfEqual, K: number, Jf: 1}, {Code: finish, K: returnErrno | uint32(unix.EPERM)}, {Code: finish, K: returnAllow},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, tsync, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}

// The events can report into the buffer of another event on the same CPU when the kernel throttles them.
func TestSampleEventsCanBeRedirected(t *testing.T) {
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup, Sample: Sample{Period: 100 * time.Microsecond}})
	for _, e := range tracer.SampleEvents() {
		attr := unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
			Bits: unix.PerfBitComm | unix.PerfBitUseClockID | unix.PerfBitSampleIDAll, Clockid: unix.CLOCK_MONOTONIC,
		}
		fd, err := unix.PerfEventOpen(&attr, -1, e.CPU, -1, unix.PERF_FLAG_FD_CLOEXEC)
		must(t, err)
		defer unix.Close(fd)
		buffer, err := unix.Mmap(fd, 0, 3*os.Getpagesize()-os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		must(t, err)
		defer func() { must(t, unix.Munmap(buffer)) }()
		must(t, unix.IoctlSetInt(e.FD, unix.PERF_EVENT_IOC_SET_OUTPUT, fd))
	}
	if _, n := checkStacks(t, recording(t, tracer, func() { onThread(func() { innermost(50 * time.Millisecond) }) })); n == 0 {
		t.Error("redirected events do not sample")
	}
}

// A CPU that has been offline is sampled by a new event.
func TestCPUIsSampledAnew(t *testing.T) {
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup, Sample: Sample{Period: time.Millisecond}})
	reported := map[uint64]bool{}
	must(t, tracer.OnSampleEvent(func(e SampleEvent) error {
		reported[e.ID] = true
		return nil
	}))
	old := tracer.SampleEvents()
	var since int64
	records := recording(t, tracer, func() {
		for _, e := range old {
			must(t, tracer.AddCPU(e.CPU))
		}
		since = now()
		for _, e := range old {
			onThread(func() { pin(e.CPU); innermost(200 * time.Millisecond) })
		}
	})
	sampled := map[int]int{}
	for _, r := range records {
		if r.is(ringdata.KindSample) && r.ts() > since {
			sampled[r.cpu()]++
		}
	}
	events := tracer.SampleEvents()
	if len(events) != len(old) || len(reported) != 2*len(old) {
		t.Errorf("%d events in the place of %d, %d were reported", len(events), len(old), len(reported))
	}
	for _, e := range events {
		if n := sampled[e.CPU]; n < 20 || n > 1000 || !reported[e.ID] {
			t.Errorf("CPU %d: %d samples, want about 200", e.CPU, n)
		}
	}
	if err := tracer.AddCPU(4095); err == nil {
		t.Error("a CPU that does not exist is sampled")
	}
}
