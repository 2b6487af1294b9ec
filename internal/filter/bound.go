package filter

import (
	"fmt"
	"math"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/cli"
)

// Bound is one end of a time range. The zero value is none.
type Bound struct {
	set    bool
	offset time.Duration // from the opening of the first window
	at     time.Time     // not zero: this time of day instead
}

// ParseBound parses an offset like 1.5s or 250ms, where a number without a unit is milliseconds, or a time of day like
// @2026-11-21T02:00:00.5Z. An empty text is no bound.
func ParseBound(text string) (Bound, error) {
	if text == "" {
		return Bound{}, nil
	}
	if moment, ok := strings.CutPrefix(text, "@"); ok {
		at, err := time.Parse(time.RFC3339Nano, strings.Replace(moment, " ", "T", 1))
		if err != nil {
			return Bound{}, fmt.Errorf("%q is not a time of day like @2026-11-21T02:00:00.5Z or @2026-11-21T04:00:00+02:00", text)
		}
		return Bound{set: true, at: at}, nil
	}
	offset, err := cli.ParseDuration(text)
	if err != nil {
		return Bound{}, fmt.Errorf("%w; a time of day is written as @2026-11-21T02:00:00.5Z", err)
	}
	return Bound{set: true, offset: offset}, nil
}

// resolve returns the bound as CLOCK_MONOTONIC ns, or the nearest time that a stream can have.
func (b Bound) resolve(open int64, clocks []*format.ClockSnapshot) (int64, error) {
	at, err := b.monotonic(open, clocks)
	return max(-format.MaxTime, min(at, format.MaxTime)), err
}

// monotonic converts the bound to CLOCK_MONOTONIC ns, a time of day by the nearest clock snapshot before it.
func (b Bound) monotonic(open int64, clocks []*format.ClockSnapshot) (int64, error) {
	if b.at.IsZero() {
		return format.Sum(open, int64(b.offset)), nil
	}
	moment := b.at.UnixNano()
	if seconds := b.at.Unix(); seconds != moment/1e9 && seconds != moment/1e9-1 { // years before 1678 and after 2262
		moment = max(-1, min(seconds, 1)) * (math.MaxInt64 / 4)
	}
	var near *format.ClockSnapshot
	for _, c := range clocks {
		if c.Realtime != 0 && (near == nil || c.Realtime <= moment) {
			near = c
		}
	}
	if near == nil {
		return 0, cli.Usagef("find %s in the capture: it has no time of day; give an offset like 1.5s", b.at.Format(time.RFC3339Nano))
	}
	return format.Sum(format.Sum(moment, -near.Realtime), near.Monotonic), nil
}
