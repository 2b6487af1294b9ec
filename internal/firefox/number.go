package firefox

import (
	"strconv"

	"wprof/internal/records"
)

func appendInt(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }

// appendMillis appends ns as ms, with as many decimals as are needed to be exact.
func appendMillis(b []byte, ns int64) []byte {
	n := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		n = -n
	}
	b = strconv.AppendUint(b, n/1e6, 10)
	rest := n % 1e6
	if rest == 0 {
		return b
	}
	const digits = records.Digits
	high, middle, low := rest/1e4*2, rest/100%100*2, rest%100*2
	b = append(b, '.', digits[high], digits[high+1], digits[middle], digits[middle+1], digits[low], digits[low+1])
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}
