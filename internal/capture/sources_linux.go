package capture

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/cli"
)

const (
	// defaultPeriod is 100 Hz: samples of a second show what takes a percent of it, for 0.05% of the CPU.
	defaultPeriod = 10 * time.Millisecond
	// shortestPeriod is where sampling becomes all that the machine does.
	shortestPeriod = 20 * time.Microsecond

	sourceTimer   = 1 // rec_sample.source
	nameTimer     = "timer"
	nameOffCPU    = "offcpu"
	nameWaker     = "waker"
	nameAll       = "all"
	longestPeriod = time.Minute
)

// Stacks say of what stacks are taken, and which part of each.
type Stacks struct {
	Timer  time.Duration // between two samples of a CPU; 0: none
	OffCPU bool          // of threads that were off their CPU
	Waker  bool          // of who wakes
	Kernel bool
	User   bool
	// offCPUAsked and wakerAsked: not by default.
	offCPUAsked, wakerAsked bool
}

// Any reports whether anything needs to know of code.
func (s Stacks) Any() bool { return s.Timer > 0 || s.OffCPU || s.Waker }

// StackKinds are the words that -S takes.
func StackKinds() []string { return []string{nameTimer, nameOffCPU, nameWaker, nameAll} }

// CheckStacks validates one value of -S before anything happens.
func CheckStacks(value string) error { return new(Stacks).add(value) }

// stacks reads -S and the flags beside it. Without -S, and with -S alone, the defaults hold; -SKIND replaces them and
// -S+KIND adds to them.
func stacks(inv *cli.Invocation) (Stacks, error) {
	s := Stacks{Timer: defaultPeriod, OffCPU: true, Kernel: !inv.Bool("no-kernel-stacks"), User: !inv.Bool("no-user-stacks")}
	if inv.Bool("no-stacks") {
		if inv.IsSet("stacks") {
			return s, cli.Usagef("--stacks and --no-stacks contradict each other")
		}
		return Stacks{}, nil
	}
	replaced := false
	for _, value := range inv.Strings("stacks") {
		if value != "" && value[0] != '+' && !replaced {
			replaced = true
			s.Timer, s.OffCPU = 0, false
		}
		if err := s.add(value); err != nil {
			return s, cli.Usagef("--stacks: %w", err)
		}
	}
	if !s.Kernel && !s.User {
		s.OffCPU, s.Waker = false, false
	}
	return s, nil
}

// add takes one word: a kind, of the timer with its rate, with or without a + before it.
func (s *Stacks) add(value string) error {
	kind, rate, given := strings.Cut(strings.TrimPrefix(value, "+"), "=")
	if given && kind != nameTimer {
		if kind == nameOffCPU || kind == nameWaker || kind == nameAll {
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
		s.OffCPU, s.offCPUAsked = true, true
	case nameWaker:
		s.Waker, s.wakerAsked = true, true
	case nameAll:
		if s.Timer == 0 {
			s.Timer = defaultPeriod
		}
		s.OffCPU, s.Waker = true, true
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
	period, bare, err := cli.ParseDuration(rate)
	if err != nil || bare {
		return 0, fmt.Errorf("%q is neither a rate like 99hz nor a period like 5ms", rate)
	}
	return period, nil
}

// sources are the entries of the session for them.
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

// parts are those that are taken of a stack.
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
