//go:build linux

package bpf

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/internal/pmu"
	"wprof/internal/ringdata"
	"wprof/internal/tracefs"
)

// event resolves an event on this machine.
func event(t *testing.T, text string) *pmu.Event {
	t.Helper()
	points, err := tracefs.Open()
	must(t, err)
	defer points.Close()
	s, err := pmu.Parse(text)
	must(t, err)
	e, err := (&pmu.Machine{PMUs: os.DirFS("/sys/bus/event_source/devices"), Tracepoints: points}).Resolve(s)
	must(t, err)
	return e
}

func TestSamplingOfCountersLoadsWithAndWithoutEachPart(t *testing.T) {
	both := Stacks{Kernel: true, User: true}
	for name, o := range map[string]Options{
		"both stacks":       {SourceStacks: both},
		"kernel stacks":     {SourceStacks: Stacks{Kernel: true}},
		"user stacks":       {SourceStacks: Stacks{User: true}},
		"by tables":         {SourceStacks: both, Unwind: Unwinding{Tables: true}},
		"no stacks":         {},
		"the timer too":     {SourceStacks: both, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true}},
		"one ring":          {SourceStacks: both, Rings: 1},
		"a filter of names": {SourceStacks: both, Filter: Filter{Names: []string{"*"}, NoNames: []string{"x"}, Kthread: true, Children: true, PIDs: []int32{int32(os.Getpid())}}},
	} {
		t.Run(name, func(t *testing.T) {
			o.PMU = []PMUSample{
				{Event: event(t, "page-faults"), Rate: pmu.Rate{Period: 1}, Type: 5},
				{Event: event(t, "sched:sched_switch"), Rate: pmu.Rate{Period: 2}, Type: 6},
			}
			var stacks [8][2]int
			var samples [8]int
			for _, r := range recording(t, mustLoad(t, o), func() { run(t, "true"); time.Sleep(20 * time.Millisecond) }) {
				if !r.is(ringdata.KindTyped) {
					continue
				}
				number := r.u32(ringdata.TracepointType) - ringdata.TypeTracepoint
				if number < 5 || number > 6 {
					t.Fatalf("an event of the type %d", number)
				}
				period, want := r.u64(ringdata.TracepointBytes+ringdata.PmuSamplePeriod), int64(number-4)
				if period != want || r.tid() == 0 || r.u32(ringdata.TracepointLength) != ringdata.PmuSampleSize {
					t.Fatalf("event %d: a sample of thread %d stands for %d events, want %d", number, r.tid(), period, want)
				}
				samples[number]++
				for i, at := range []int{ringdata.StacksUser, ringdata.StacksKernel} {
					if r.u64(ringdata.TracepointBytes+ringdata.PmuSampleStacks+at) != 0 {
						stacks[number][i]++
					}
				}
			}
			for number := 5; number <= 6; number++ {
				user, kernel := stacks[number][0], stacks[number][1]
				if samples[number] == 0 || user > 0 != o.SourceStacks.User || kernel > 0 != o.SourceStacks.Kernel {
					t.Errorf("event %d: %d samples, %d with a user and %d with a kernel stack", number, samples[number], user, kernel)
				}
			}
		})
	}
}

// TestSampledAttributesAreThoseOfPerf compares what is passed to perf_event_open(2) with what perf record prints.
func TestSampledAttributesAreThoseOfPerf(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("there is no perf")
	}
	for _, c := range []struct {
		text string
		rate pmu.Rate
	}{
		{"cycles:u", pmu.Rate{Frequency: 99}}, {"page-faults:u", pmu.Rate{Period: 10}}, {"cache-misses:pp", pmu.Rate{Frequency: 1000}},
		{"L1-dcache-load-misses:k", pmu.Rate{Period: 5}}, {"r3c:ppp", pmu.Rate{Frequency: 1}}, {"cycles:P", pmu.Rate{Frequency: 99}},
		{"instructions:GH", pmu.Rate{Period: 1 << 40}}, {"context-switches:D", pmu.Rate{Frequency: 4000}}, {"branches:I", pmu.Rate{Period: 7}},
	} {
		rate := []string{"-c", strconv.FormatUint(c.rate.Period, 10)}
		if c.rate.Frequency != 0 {
			rate = []string{"-F", strconv.FormatUint(c.rate.Frequency, 10)}
		}
		want := recordedAttr(t, append([]string{"record", "-vv", "-o", "/dev/null", "-e", c.text}, append(rate, "--", "true")...)...)
		s := (&PMUSample{Event: event(t, c.text), Rate: c.rate}).sampler(0)
		attr, _ := s.on(0)
		got := map[string]uint64{"type": uint64(attr.Type), "config": attr.Config, "{ sample_period, sample_freq }": attr.Sample, "precise_ip": s.precise}
		for name, bit := range comparedBits() {
			if attr.Bits&bit != 0 {
				got[name] = 1
			}
		}
		for name := range want {
			if _, compared := got[name]; !compared {
				got[name] = 0
			}
		}
		for name, number := range got {
			if want[name] != number {
				t.Errorf("%s at %s: %s is %#x, with perf %#x", c.text, c.rate, name, number, want[name])
			}
		}
	}
}

// comparedBits are the bits that say what is counted, by perf's names.
func comparedBits() map[string]uint64 {
	return map[string]uint64{
		"exclude_user": unix.PerfBitExcludeUser, "exclude_kernel": unix.PerfBitExcludeKernel, "exclude_hv": unix.PerfBitExcludeHv, "exclude_idle": unix.PerfBitExcludeIdle,
		"exclude_host": unix.PerfBitExcludeHost, "exclude_guest": unix.PerfBitExcludeGuest, "pinned": unix.PerfBitPinned, "exclusive": unix.PerfBitExclusive, "freq": unix.PerfBitFreq,
	}
}

// recordedAttr are the fields of the first perf_event_attr that perf prints, but for those that say what perf wants of samples.
func recordedAttr(t *testing.T, args ...string) map[string]uint64 {
	t.Helper()
	cmd := exec.Command("perf", args...)
	cmd.WaitDelay = time.Minute
	out, _ := cmd.CombinedOutput() // it fails for what this machine does not count
	attr, inside := map[string]uint64{}, false
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		switch {
		case line == "perf_event_attr:":
			inside = true
		case inside && strings.HasPrefix(line, "---"):
			return attr
		case inside:
			at := strings.LastIndexByte(line, ' ')
			name := strings.TrimSpace(line[:at])
			number, err := strconv.ParseUint(line[at+1:], 0, 64)
			_, isBit := comparedBits()[name]
			if err == nil && (isBit || name == "type" || name == "config" || strings.HasPrefix(name, "{") || name == "precise_ip") {
				attr[name] = number
			}
		}
	}
	t.Fatalf("perf %v prints no attribute: %s", args, out)
	return nil
}

// TestCountersArePartsOfSwitches reads counters with and without the other parts of a switch.
func TestCountersArePartsOfSwitches(t *testing.T) {
	both := Stacks{Kernel: true, User: true}
	for name, o := range map[string]Options{
		"alone":            {},
		"off-CPU stacks":   {OffCPU: OffCPU{Stacks: both}},
		"at the departure": {OffCPU: OffCPU{Stacks: both, Place: AtDeparture}},
		"one ring":         {Rings: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for range MaxCounters {
				o.Counters = append(o.Counters, event(t, "context-switches"))
			}
			counted, more := 0, 0
			for _, r := range recording(t, mustLoad(t, o), func() { run(t, "true"); time.Sleep(50 * time.Millisecond) }) {
				counts, ok := r.switchCounts()
				if !ok {
					continue
				}
				if len(counts) != ringdata.CountsPartSize+8*MaxCounters {
					t.Fatalf("a switch of %d bytes", len(r.bytes))
				}
				counted++
				for i := range MaxCounters {
					// The kernel counts a switch after the program that reads the counters: here the one with which the thread came.
					switch n := counts.value(i); {
					case n == 0:
						t.Error("no switch in a time on a CPU")
					case n > 1:
						more++
					}
				}
			}
			// Some kernels do not report every switch, to perf neither. Then the next one has the counts of both.
			if counted == 0 || more > counted*MaxCounters/20 {
				t.Errorf("%d switches have counts, %d counts are of more than one", counted, more)
			}
		})
	}
}

// TestEventsOfSomeCPUs: as on a machine with several kinds of CPUs, an event is another one on the first CPU, and none on others.
func TestEventsOfSomeCPUs(t *testing.T) {
	cpus := min(runtime.NumCPU(), 2)
	first, err := pmu.ParseCPUs("0")
	must(t, err)
	e := event(t, "context-switches/name=cycles/")
	e.Attr.Config = 1 << 31 // there is no such event
	e.Places = []pmu.Place{{CPUs: first, Attr: event(t, "page-faults").Attr}}
	o := Options{Counters: []*pmu.Event{e}, PMU: []PMUSample{{Event: e, Rate: pmu.Rate{Period: 1}, Type: 5}}}
	var counted, unknown, sampled [2]int
	for _, r := range recording(t, mustLoad(t, o), func() {
		for cpu := range cpus {
			onThread(func() {
				pin(cpu)
				for range 20 {
					run(t, "true")
				}
			})
		}
	}) {
		on := min(r.cpu(), 1)
		counts, ok := r.switchCounts()
		switch {
		case r.is(ringdata.KindTyped) && r.u32(ringdata.TracepointType) == ringdata.TypeTracepoint+5:
			sampled[on]++
		case !ok:
		case counts.unknown() != 0:
			unknown[on]++
		default:
			counted[on] += int(counts.value(0))
		}
	}
	if counted[0] < 100 || sampled[0] < 100 || unknown[0] > 0 || counted[1] > 0 || sampled[1] > 0 || unknown[1] < 20*(cpus-1) {
		t.Errorf("on the first CPU and others: counted %v, sampled %v, not known in %v times", counted, sampled, unknown)
	}
	e.Places[0].CPUs, err = pmu.ParseCPUs("4095")
	must(t, err)
	if _, err := Load(o); err == nil || !strings.Contains(err.Error(), `"cycles" is one of CPUs 4095, and none of them is online`) {
		t.Errorf("an event of a CPU that there is not: %v", err)
	}
}

// TestThirdWordOfAnEvent: kernels that know no config3 refuse it, others pass it to the PMU, where software events ignore it.
func TestThirdWordOfAnEvent(t *testing.T) {
	attr := perfAttr(&event(t, "page-faults/config3=5/").Attr)
	fd, err := openEvent(&attr, 0)
	knows := unsafe.Sizeof(attr) == 136 && attr.Config3 == 5
	if err == nil {
		must(t, unix.Close(fd))
	} else if knows = errors.Is(err, unix.E2BIG) && strings.Contains(explainEvent("x", err).Error(), "before Linux 6.3"); knows {
		t.Logf("%v", err)
	}
	if !knows {
		t.Errorf("%+v: %v", attr, err)
	}
	attr.Config3 = 0
	fd, err = openEvent(&attr, 0)
	must(t, err)
	must(t, unix.Close(fd))
}

// TestCountersThatLeaveNothingOut: the processor's time stamps, which a PMU counts that cannot leave out guests, go on as the clock does.
func TestCountersThatLeaveNothingOut(t *testing.T) {
	if _, err := os.Stat("/sys/bus/event_source/devices/msr/events/tsc"); err != nil {
		t.Skip("this machine has no PMU msr")
	}
	o := Options{Counters: []*pmu.Event{event(t, "msr/tsc/"), event(t, "cpu-clock")}}
	var rates []float64
	for _, r := range recording(t, mustLoad(t, o), func() { run(t, "true"); time.Sleep(100 * time.Millisecond) }) {
		counts, ok := r.switchCounts()
		if !ok {
			continue
		}
		if counts.unknown() != 0 || counts.scaled() != 0 {
			t.Fatal("a count is not known, or scaled")
		}
		stamps, ns := counts.value(0), counts.value(1)
		if ns > 50_000 {
			rates = append(rates, float64(stamps)/float64(ns))
		}
	}
	slices.Sort(rates)
	if n := len(rates); n < 5 || rates[n/4] < 0.95*rates[n/2] || rates[3*n/4] > 1.05*rates[n/2] || rates[n/2] < 0.01 || rates[n/2] > 10 {
		t.Errorf("stamps in a nanosecond: %v", rates)
	}
	o.Counters[0] = event(t, "msr/tsc/u")
	if _, err := Load(o); err == nil || !strings.Contains(err.Error(), "msr/tsc/u") {
		t.Errorf("stamps of programs alone: %v", err)
	}
}
