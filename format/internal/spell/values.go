package spell

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"wprof/format"
)

// A time in the text form is absolute without a sign (5, 5ns, 1.5s) and counts from the opening of the section's
// window with one (+1000, -0.000001000, +1ms). Without a unit it is seconds where it has a point, else nanoseconds.
// Dump writes seconds with nine digits from the opening.

// AppendTime writes a time; one too far from the opening to be counted from there is absolute, in hexadecimal.
func AppendTime(b []byte, t, open int64) []byte {
	d := t - open
	if (t >= open) != (d >= 0) || d == math.MinInt64 {
		return fmt.Appendf(b, "0x%x", uint64(t))
	}
	sign := byte('+')
	if d < 0 {
		sign, d = '-', -d
	}
	return fmt.Appendf(append(b, sign), "%d.%09d", d/1e9, d%1e9)
}

// ParseTime reads a time.
func ParseTime(s string, open int64) (int64, error) {
	if after, ok := strings.CutPrefix(s, "0x"); ok {
		v, err := strconv.ParseUint(after, 16, 64)
		if err != nil {
			return 0, badTime(s)
		}
		return int64(v), nil
	}
	digits, sign := s, int64(0)
	if s != "" && (s[0] == '+' || s[0] == '-') {
		digits, sign = s[1:], 1
		if s[0] == '-' {
			sign = -1
		}
	}
	ns, ok := parseDuration(digits)
	if !ok {
		return 0, badTime(s)
	}
	if sign == 0 {
		return ns, nil
	}
	t := open + sign*ns
	if (t > open) != (sign*ns > 0) && ns != 0 {
		return 0, fmt.Errorf("the time %s does not fit into 64 bits", Clip(s))
	}
	return t, nil
}

func badTime(s string) error {
	return fmt.Errorf("%s is no time; write 1500 or 1.5us for an absolute one, +1500 or +0.000001500 for one from the opening", Clip(s))
}

// parseDuration reads digits with an optional fraction and unit, exactly: fractions of 1 ns are rejected.
func parseDuration(s string) (int64, bool) {
	number := strings.TrimRight(s, "nums")
	unit, ok := map[string]int{"ns": 0, "us": 3, "ms": 6, "s": 9, "": 0}[s[len(number):]]
	whole, fraction, point := strings.Cut(number, ".")
	if point && len(number) == len(s) {
		unit = 9
	}
	if !ok || whole == "" || point && fraction == "" || len(fraction) > unit {
		return 0, false
	}
	all := whole + fraction + strings.Repeat("0", unit-len(fraction))
	if strings.ContainsAny(all, "+-_") {
		return 0, false
	}
	v, err := strconv.ParseInt(all, 10, 64)
	return v, err == nil
}

// ParseCPU reads cpu0, or all.
func ParseCPU(text string) (uint32, error) {
	if text == "all" {
		return format.AllCPUs, nil
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "cpu"), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s is no CPU; write cpu0, or all", Clip(text))
	}
	return uint32(v), nil
}

// ParseHex reads bytes, each of two hexadecimal digits.
func ParseHex(text string) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not a sequence of pairs of hexadecimal digits", Clip(text))
	}
	return b, nil
}

// ParseUint reads a number of at most this many bits.
func ParseUint(s string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(s, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%s is no number from 0 to %d", Clip(s), uint64(math.MaxUint64)>>(64-bits))
	}
	return n, nil
}
