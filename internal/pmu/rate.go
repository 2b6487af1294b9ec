package pmu

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is how often an event is sampled: one of both.
type Rate struct {
	Frequency uint64 // samples a second of a CPU, which the kernel reaches by adapting the period
	Period    uint64 // events from one sample to the next
}

// DefaultFrequency is that of perf's older versions: an event shows where it happens after a second.
const DefaultFrequency = 1000

func (r Rate) IsZero() bool { return r == Rate{} }

// String is the rate as it is written after an event.
func (r Rate) String() string {
	if r.Period != 0 {
		return "period=" + strconv.FormatUint(r.Period, 10)
	}
	return "freq=" + strconv.FormatUint(r.Frequency, 10)
}

func (r Rate) check() error {
	switch {
	case r.IsZero():
		return fmt.Errorf("a frequency or period must be 1 or more")
	case r.Period > math.MaxInt64:
		return fmt.Errorf("a period can be at most 2^63-1 events")
	case r.Frequency > math.MaxInt32:
		return fmt.Errorf("a frequency can be at most %d", math.MaxInt32)
	}
	return nil
}

// CutRate cuts the rate from an event or the name of one: EVENT@1000hz, EVENT@freq=1000, EVENT@100 or EVENT@period=100.
func CutRate(text string) (event string, rate Rate, err error) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 || at < strings.LastIndexByte(text, '/') {
		return text, Rate{}, nil
	}
	event = text[:at]
	if rate, err = parseRate(text[at+1:]); err != nil {
		return "", Rate{}, fmt.Errorf("event %q: %w", clip(text), err)
	}
	return event, rate, nil
}

func parseRate(text string) (r Rate, err error) {
	lower := strings.ToLower(text)
	scale := uint64(1)
	if digits, ok := strings.CutPrefix(lower, "freq="); ok {
		r.Frequency, err = parseCount(digits)
	} else if digits, ok := strings.CutPrefix(lower, "period="); ok {
		r.Period, err = parseCount(digits)
	} else if digits, ok := strings.CutSuffix(lower, "hz"); ok {
		if digits, ok = strings.CutSuffix(digits, "k"); ok {
			scale = 1000
		}
		r.Frequency, err = parseCount(digits)
		r.Frequency = min(r.Frequency, math.MaxInt64/scale) * scale
	} else {
		r.Period, err = parseCount(lower)
	}
	if err != nil {
		return Rate{}, fmt.Errorf("%q is no rate: write @1000hz or @freq=1000 for a frequency, @1000 or @period=1000 for every 1000th event", clip(text))
	}
	return r, r.check()
}

func parseCount(digits string) (uint64, error) { return strconv.ParseUint(digits, 10, 64) }
