package format

import "math"

// Sum adds two counts or durations of a stream. A sum that does not fit is the largest, or smallest, number that does.
func Sum[T int64 | uint64](a, b T) T {
	sum := a + b
	switch {
	case b >= 0 && sum >= a || b < 0 && sum < a:
		return sum
	case b < 0:
		least := int64(math.MinInt64)
		return T(least)
	case T(0)-1 > 0: // it has no sign
		return T(0) - 1
	}
	return T(0) + math.MaxInt64
}
