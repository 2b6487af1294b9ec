package ndjson

import "strconv"

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

// pairs are the numbers of two digits.
const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// appendNine appends a number of nine digits.
func appendNine(b []byte, n uint32) []byte {
	top := n / 100_000_000
	n -= top * 100_000_000
	hi, lo := n/10_000, n%10_000
	a, c, d, e := hi/100*2, hi%100*2, lo/100*2, lo%100*2
	return append(b, byte('0'+top), pairs[a], pairs[a+1], pairs[c], pairs[c+1], pairs[d], pairs[d+1], pairs[e], pairs[e+1])
}

// appendTime appends a time in the unit that was asked for.
func (l *layout) appendTime(b []byte, ns int64) []byte {
	if l.nanoseconds {
		return strconv.AppendInt(b, ns, 10)
	}
	return appendSeconds(b, ns)
}
