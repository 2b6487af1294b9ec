package spell

import (
	"math"
	"testing"

	"wprof/format"
)

func TestTimes(t *testing.T) {
	const open = 1_000_000_000
	for text, want := range map[string]int64{
		"5": 5, "5ns": 5, "1.5us": 1500, "2ms": 2_000_000, "0.25": 250_000_000, "3s": 3_000_000_000,
		"+5": open + 5, "-5": open - 5, "+0.000000001": open + 1, "+1.000250000": 2_000_250_000, "+1000250ns": open + 1_000_250,
		"0xffffffffffffffff": -1, "-1s": 0,
	} {
		if got, err := ParseTime(text, open); got != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "+", "-", ".5", "5.", "+5.", "1e3", "1_000", "+-5", "++5", "5m", "0x", "1.5ns", "9223372036854775808", "9999999999s"} {
		if got, err := ParseTime(bad, open); err == nil {
			t.Errorf("%q is taken as %d", bad, got)
		}
	}
	for _, at := range []int64{math.MinInt64, -1, 0, 1, open, math.MaxInt64} {
		for _, from := range []int64{math.MinInt64, -1, 0, open, math.MaxInt64} {
			text := string(AppendTime(nil, at, from))
			if back, err := ParseTime(text, from); back != at || err != nil {
				t.Errorf("%d from %d is %s and comes back as %d, %v", at, from, text, back, err)
			}
		}
	}
}

func TestStates(t *testing.T) {
	for s := range format.State(1 << 12) {
		text := stateText(s)
		if back, err := format.ParseState(text); back != s || err != nil {
			t.Errorf("%#x is %s and comes back as %#x, %v", uint32(s), text, uint32(back), err)
		}
	}
}
