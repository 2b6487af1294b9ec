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
	longestPeriod = time.Minute
)

// Stacks say which samples are taken, and what of each stack.
type Stacks struct {
	Timer  time.Duration // between two samples of a CPU; 0: none
	Kernel bool
	User   bool
}

// StackKinds are the words that -S takes.
func StackKinds() []string { return []string{nameTimer} }

// CheckStacks judges one value of -S before anything happens.
func CheckStacks(value string) error {
	_, err := parsePeriod(value)
	return err
}

// stacks reads -S and the flags beside it. Without -S, and with -S alone, the defaults hold; -SKIND replaces them and
// -S+KIND adds to them.
func stacks(inv *cli.Invocation) (Stacks, error) {
	s := Stacks{Timer: defaultPeriod, Kernel: !inv.Bool("no-kernel-stacks"), User: !inv.Bool("no-user-stacks")}
	if inv.Bool("no-stacks") {
		if inv.IsSet("stacks") {
			return s, cli.Usagef("--stacks and --no-stacks contradict each other")
		}
		return Stacks{}, nil
	}
	for _, value := range inv.Strings("stacks") {
		if value == "" {
			continue
		}
		period, err := parsePeriod(value)
		if err != nil {
			return s, cli.Usagef("--stacks: %w", err)
		}
		s.Timer = period
	}
	return s, nil
}

// parsePeriod reads timer, timer=99hz or timer=5ms, with or without a + before it.
func parsePeriod(value string) (time.Duration, error) {
	kind, rate, given := strings.Cut(strings.TrimPrefix(value, "+"), "=")
	if kind == "" && !given {
		return defaultPeriod, nil
	}
	if kind != nameTimer {
		return 0, fmt.Errorf("%q is not a kind of sample; %s is one", kind, strings.Join(StackKinds(), ", "))
	}
	if !given {
		return defaultPeriod, nil
	}
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

// sources are what the session tells of them.
func (s Stacks) sources() []*format.Source {
	if s.Timer == 0 {
		return nil
	}
	timer := bpf.Sample{Period: s.Timer}
	return []*format.Source{{Id: sourceTimer, Name: nameTimer, Period: timer.Interval().Nanoseconds()}}
}

// String tells it as one would: every 10ms, with kernel and user stacks.
func (s Stacks) String() string {
	what := "kernel and user stacks"
	switch {
	case !s.Kernel && !s.User:
		what = "no stacks"
	case !s.Kernel:
		what = "user stacks"
	case !s.User:
		what = "kernel stacks"
	}
	return fmt.Sprintf("every %s of a CPU, with %s", s.Timer, what)
}
