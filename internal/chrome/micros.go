package chrome

import "wprof/internal/records"

const digits = records.Digits

// appendMicros appends ns as µs with three decimals: a float64 would not hold them in a trace of some months.
func appendMicros(b []byte, ns int64) []byte {
	n := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		n = -n
	}
	var text [24]byte
	at := len(text) - 4
	us, rest := n/1000, n%1000
	text[at] = '.'
	text[at+1] = byte('0' + rest/100)
	text[at+2] = digits[rest%100*2]
	text[at+3] = digits[rest%100*2+1]
	for us >= 100 {
		at -= 2
		two := us % 100 * 2
		us /= 100
		text[at], text[at+1] = digits[two], digits[two+1]
	}
	if us >= 10 {
		at -= 2
		text[at], text[at+1] = digits[us*2], digits[us*2+1]
	} else {
		at--
		text[at] = byte('0' + us)
	}
	return append(b, text[at:]...)
}

// appendLength appends the length of a slice, less 0.4 ns. Most tools add it to the start of the slice in float64, where
// the sum is often a little later than the start of the next slice: they would nest one in the other, or refuse both.
// A reader that rounds to nanoseconds gets the exact length. float64 values near 10^12 µs are 0.12 ns apart.
func appendLength(b []byte, ns int64) []byte {
	if ns <= 0 {
		return appendMicros(b, 0)
	}
	return append(appendMicros(b, ns-1), '6')
}
