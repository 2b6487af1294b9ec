package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads 5s, 1.5ms, 200us, 7ns, 2m or 1h; a number without a unit is milliseconds, and bare says so.
func ParseDuration(s string) (d time.Duration, bare bool, err error) {
	number, unit := splitUnit(s)
	scale, ok := map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}[unit]
	if !ok {
		return 0, false, fmt.Errorf("%q is not a duration: the unit is one of ns, us, ms, s, m, h", s)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || v < 0 {
		return 0, false, fmt.Errorf("%q is not a duration like 5s, 250ms or 1.5m", s)
	}
	if v *= scale; v > math.MaxInt64/2 {
		return 0, false, fmt.Errorf("%q is longer than this tool can count", s)
	}
	return time.Duration(math.Round(v)), unit == "", nil
}

// ParseSize reads 64kb, 8mb or 1gb, in powers of 1024; a number without a unit is bytes.
func ParseSize(s string) (int64, error) {
	number, unit := splitUnit(strings.ToLower(s))
	scale, ok := map[string]float64{"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}[unit]
	if !ok {
		return 0, fmt.Errorf("%q is not a size: the unit is one of b, kb, mb, gb", s)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || v < 0 {
		return 0, fmt.Errorf("%q is not a size like 64kb or 8mb", s)
	}
	if v *= scale; v > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is larger than this tool can count", s)
	}
	return int64(math.Round(v)), nil
}

func splitUnit(s string) (number, unit string) {
	i := strings.LastIndexAny(s, "0123456789.") + 1
	return s[:i], s[i:]
}
