package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// smallestBare is the smallest number that is accepted without a unit, besides 0. A smaller one is more often intended as seconds.
const smallestBare = 100

// ParseDuration reads 5s, 1.5ms, 200us, 7ns, 2m, 1h or several of them as in 1m30s. A number without a unit is
// milliseconds, from 100 on. Signs, exponents, spaces and what no int64 of nanoseconds can hold are errors.
func ParseDuration(s string) (time.Duration, error) {
	if strings.HasPrefix(s, "-") {
		return 0, fmt.Errorf("%q is negative, not a duration like 5s, 250ms or 1m30s", s)
	}
	total := 0.0
	rest := s
	for {
		var number, unit string
		number, unit, rest = firstUnit(rest)
		bare := unit == ""
		if bare && len(number) < len(s) {
			return 0, fmt.Errorf("%q is not a duration like 5s, 250ms or 1m30s", s)
		}
		scale, ok := map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}[unit]
		if !ok {
			return 0, fmt.Errorf("%q is not a duration: the unit is one of ns, us, ms, s, m, h", s)
		}
		v, err := decimal(number)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration like 5s, 250ms or 1m30s", s)
		}
		if bare && v > 0 && v < smallestBare {
			return 0, fmt.Errorf("%q has no unit: write %[2]ss or %[2]sms", s, number)
		}
		if total += v * scale; total > math.MaxInt64/2 {
			return 0, fmt.Errorf("%q is too long a duration", s)
		}
		if rest == "" {
			return time.Duration(math.Round(total)), nil
		}
	}
}

const digits = "0123456789."

// firstUnit splits off the first number with its unit.
func firstUnit(s string) (number, unit, rest string) {
	i := len(s) - len(strings.TrimLeft(s, digits))
	j := strings.IndexAny(s[i:], digits)
	if j < 0 {
		return s[:i], s[i:], ""
	}
	return s[:i], s[i : i+j], s[i+j:]
}

// ParseSize reads 64kb, 8m or 1GiB, in powers of 1024 and in either case, and returns bytes; a number without a unit is
// bytes already. A part of a byte is rounded.
func ParseSize(s string) (int64, error) {
	number, unit := splitUnit(strings.ToLower(s))
	scale, ok := map[string]float64{
		"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30,
	}[unit]
	if !ok {
		return 0, fmt.Errorf("%q is not a size: the unit is one of b, kb, mb, gb, in powers of 1024", s)
	}
	v, err := decimal(number)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size like 64kb or 8mb", s)
	}
	if v *= scale; v > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is too large a size", s)
	}
	return int64(math.Round(v)), nil
}

func splitUnit(s string) (number, unit string) {
	i := strings.LastIndexAny(s, digits) + 1
	return s[:i], s[i:]
}

// decimal reads digits with at most one point: ParseFloat alone would take 1e3, 0x1p4 and infinity as well.
func decimal(number string) (float64, error) {
	if strings.Trim(number, digits) != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(number, 64)
}
