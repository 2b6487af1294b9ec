package format

import (
	"math"
	"testing"
)

func TestSumsStayInRange(t *testing.T) {
	for _, c := range [][3]int64{
		{1, 2, 3}, {-1, 2, 1}, {math.MaxInt64, 1, math.MaxInt64}, {1, math.MaxInt64, math.MaxInt64}, {math.MinInt64, -1, math.MinInt64},
		{-1, math.MinInt64, math.MinInt64}, {math.MaxInt64, math.MinInt64, -1}, {math.MinInt64, math.MaxInt64, -1}, {math.MaxInt64, 0, math.MaxInt64},
	} {
		if got := Sum(c[0], c[1]); got != c[2] {
			t.Errorf("%d + %d is %d, want %d", c[0], c[1], got, c[2])
		}
	}
	for _, c := range [][3]uint64{{1, 2, 3}, {math.MaxUint64, 1, math.MaxUint64}, {math.MaxUint64, math.MaxUint64, math.MaxUint64}, {math.MaxInt64, 1, 1 << 63}} {
		if got := Sum(c[0], c[1]); got != c[2] {
			t.Errorf("%d + %d is %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
