package capture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/cli"
)

const (
	// defaultPeriod is 100 Hz: one second of samples shows what takes 1% of it, and costs 0.05% of the CPU.
	defaultPeriod = 10 * time.Millisecond
	// shortestPeriod is the period at which sampling would take most of the CPU.
	shortestPeriod = 20 * time.Microsecond

	sourceTimer   = 1 // rec_sample.source
	nameTimer     = "timer"
	nameOffCPU    = "offcpu"
	nameWaker     = "waker"
	nameFault     = "fault"
	nameLock      = "lock"
	namePMU       = "pmu"
	nameAll       = "all"
	longestPeriod = time.Minute
)

// Stacks select the stacks that are taken, and which part of each.
type Stacks struct {
	Timer   time.Duration // between two samples of a CPU; 0: none
	OffCPU  bool          // of threads when they are back on a CPU
	Waker   bool          // of wakers
	Faults  bool          // of all page faults, if they are recorded
	Locks   bool          // of waits for kernel locks, if they are recorded
	Sources bool          // of the events of sources that have stacks
	PMU     []pmuSample   // events of performance counters that are sampled
	Kernel  bool
	User    bool
	// offCPURequested and so on: by -S, not by default.
	offCPURequested, wakerRequested, faultsRequested, locksRequested bool
}

// Any reports whether any stacks are taken.
func (s Stacks) Any() bool { return s.Timer > 0 || s.OffCPU || s.Waker || s.Sources || len(s.PMU) > 0 }

// StackKinds returns the words that -S takes.
func StackKinds() []string {
	return []string{nameTimer, nameOffCPU, nameWaker, nameFault, nameLock, namePMU, nameAll}
}

// CheckStacks validates one value of -S before anything happens.
func CheckStacks(value string) error { return new(Stacks).add(value) }

// CheckNoStacks does so with one of --no-stacks.
func CheckNoStacks(value string) error { return new(Stacks).remove(value) }

// stacks reads -S and related flags. Without -S, and with -S alone, the defaults hold; -SKIND replaces them and
// -S+KIND adds to them. What --no-stacks names is left out of that.
func stacks(inv *cli.Invocation) (Stacks, error) {
	s := Stacks{Timer: defaultPeriod, OffCPU: true, Locks: true, Kernel: !inv.Bool("no-kernel-stacks"), User: !inv.Bool("no-user-stacks")}
	left := inv.Strings("no-stacks")
	if slices.Contains(left, "") || slices.Contains(left, nameAll) {
		for _, flag := range []string{"stacks", "freq"} {
			if inv.IsSet(flag) {
				return s, cli.Usagef("--%s and --no-stacks contradict each other", flag)
			}
		}
		return Stacks{}, nil
	}
	replaced := false
	for _, value := range inv.Strings("stacks") {
		if value != "" && value[0] != '+' && !replaced {
			replaced = true
			s.Timer, s.OffCPU, s.Locks = 0, false, false
		}
		if err := s.add(value); err != nil {
			return s, cli.Usagef("--stacks: %w", err)
		}
	}
	if inv.IsSet("freq") {
		period, err := parseFrequency(inv.String("freq"))
		if err != nil {
			return s, cli.Usagef("--freq: %w", err)
		}
		s.Timer = period
	}
	for _, value := range left {
		if err := s.remove(value); err != nil {
			return s, cli.Usagef("--no-stacks: %w", err)
		}
	}
	if !s.Kernel && !s.User {
		s.OffCPU, s.Waker = false, false
	}
	return s, nil
}

// remove removes one kind; "" and all: each.
func (s *Stacks) remove(kind string) error {
	switch kind {
	case nameTimer:
		s.Timer = 0
	case nameOffCPU:
		s.OffCPU, s.offCPURequested = false, false
	case nameWaker:
		s.Waker, s.wakerRequested = false, false
	case nameFault:
		s.Faults, s.faultsRequested = false, false
	case nameLock:
		s.Locks, s.locksRequested = false, false
	case namePMU:
		s.PMU = nil
	case "", nameAll:
		*s = Stacks{}
	default:
		return unknownKind(kind)
	}
	return nil
}

// add adds one word: a kind, for the timer with its rate, for performance counters with an event, with or without the prefix +.
func (s *Stacks) add(value string) error {
	kind, rate, given := strings.Cut(strings.TrimPrefix(value, "+"), "=")
	if kind == namePMU {
		one, err := parsePMUSample(rate)
		if err == nil {
			s.PMU = append(s.PMU, one)
		}
		return err
	}
	if given && kind != nameTimer {
		if kind == nameOffCPU || kind == nameWaker || kind == nameFault || kind == nameLock || kind == nameAll {
			return fmt.Errorf("%q: only %s has a rate", value, nameTimer)
		}
		return unknownKind(kind)
	}
	switch kind {
	case "":
		return nil
	case nameTimer:
		if !given {
			s.Timer = defaultPeriod
			return nil
		}
		period, err := parsePeriod(rate)
		s.Timer = period
		return err
	case nameOffCPU:
		s.OffCPU, s.offCPURequested = true, true
	case nameWaker:
		s.Waker, s.wakerRequested = true, true
	case nameFault:
		s.Faults, s.faultsRequested = true, true
	case nameLock:
		s.Locks, s.locksRequested = true, true
	case nameAll:
		if s.Timer == 0 {
			s.Timer = defaultPeriod
		}
		s.OffCPU, s.Waker, s.Faults, s.Locks = true, true, true, true
	default:
		return unknownKind(kind)
	}
	return nil
}

func unknownKind(kind string) error {
	return fmt.Errorf("%q is not a kind of stack; %s are", kind, strings.Join(StackKinds(), ", "))
}

// parsePeriod reads 99hz or 5ms.
func parsePeriod(rate string) (time.Duration, error) {
	period, err := periodOf(rate)
	if err != nil {
		return 0, err
	}
	if period < shortestPeriod || period > longestPeriod {
		return 0, fmt.Errorf("%q: samples can be taken every %s to every %s", rate, shortestPeriod, longestPeriod)
	}
	return period, nil
}

// CheckFrequency validates the value of --freq before anything happens.
func CheckFrequency(value string) error {
	_, err := parseFrequency(value)
	return err
}

// parseFrequency reads 99, 99hz or 1khz.
func parseFrequency(text string) (time.Duration, error) {
	if strings.Trim(text, "0123456789.") == "" {
		text += "hz"
	}
	if !strings.HasSuffix(strings.ToLower(text), "hz") {
		return 0, fmt.Errorf("%q is not a frequency like 99 or 1khz", text)
	}
	return parsePeriod(text)
}

func periodOf(rate string) (time.Duration, error) {
	if text, ok := strings.CutSuffix(strings.ToLower(rate), "hz"); ok {
		scale := 1.0
		if text, ok = strings.CutSuffix(text, "k"); ok {
			scale = 1000
		}
		hz, err := strconv.ParseFloat(text, 64)
		if err != nil || !(hz > 0) {
			return 0, fmt.Errorf("%q is not a rate like 99hz", rate)
		}
		return time.Duration(min(float64(time.Second)/(hz*scale), float64(2*longestPeriod))), nil
	}
	period, err := cli.ParseDuration(rate)
	if err != nil || strings.Trim(rate, "0123456789.") == "" {
		return 0, fmt.Errorf("%q is neither a rate like 99hz nor a period like 5ms", rate)
	}
	return period, nil
}

// sources returns the session's entry for the samples.
func (s Stacks) sources() []*format.Source {
	if s.Timer == 0 {
		return nil
	}
	timer := bpf.Sample{Period: s.Timer}
	return []*format.Source{{Id: sourceTimer, Name: nameTimer, Period: timer.Interval().Nanoseconds()}}
}

// samples describes the samples taken: every 10ms of a CPU, with kernel and user stacks.
func (s Stacks) samples() string {
	return fmt.Sprintf("every %s of a CPU, with %s", s.Timer, s.parts())
}

// parts describes the parts of a stack that are taken.
func (s Stacks) parts() string {
	what := "kernel and user stacks"
	switch {
	case !s.Kernel && !s.User:
		what = "no stacks"
	case !s.Kernel:
		what = "user stacks"
	case !s.User:
		what = "kernel stacks"
	}
	return what
}
