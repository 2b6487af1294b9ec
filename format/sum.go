package format

import "math"

// Sum adds two counts or durations of a stream. A sum that does not fit is the largest, or smallest, number that does.
func Sum[T int64 | uint64](a, b T) T {
	most := ^T(0) // of uint64
	if most < 0 {
		most = math.MaxInt64
	}
	sum := a + b
	switch {
	case b >= 0 && sum < a:
		return most
	case b < 0 && sum > a:
		return -most - 1
	}
	return sum
}
