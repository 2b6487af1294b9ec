package ndjson

import (
	"strconv"

	"wprof/internal/records"
)

const second = 1_000_000_000

// appendSeconds appends ns as seconds with nine decimals, exactly.
func appendSeconds(b []byte, ns int64) []byte {
	u := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		u = -u
	}
	if whole := u / second; whole < 10 {
		b = append(b, byte('0'+whole))
	} else {
		b = strconv.AppendUint(b, whole, 10)
	}
	return appendNine(append(b, '.'), uint32(u%second))
}

// appendNine appends a number of nine digits.
func appendNine(b []byte, n uint32) []byte {
	top := n / 100_000_000
	n -= top * 100_000_000
	hi, lo := n/10_000, n%10_000
	const pairs = records.Digits
	a, c, d, e := hi/100*2, hi%100*2, lo/100*2, lo%100*2
	return append(b, byte('0'+top), pairs[a], pairs[a+1], pairs[c], pairs[c+1], pairs[d], pairs[d+1], pairs[e], pairs[e+1])
}

// appendTime appends a time in the requested unit.
func (l *layout) appendTime(b []byte, ns int64) []byte {
	if l.nanoseconds {
		return strconv.AppendInt(b, ns, 10)
	}
	return appendSeconds(b, ns)
}
