package cli

import (
	"strconv"
	"strings"
)

// Grouped writes an integer with separators: 1,234,567.
func Grouped[T ~int | ~int64 | ~uint32 | ~uint64](n T) string {
	sign, digits := "", strconv.FormatUint(uint64(n), 10)
	if n < 0 {
		sign, digits = "-", strconv.FormatUint(-uint64(n), 10)
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return sign + digits
}

// Counted writes a number with a noun whose plural ends in s or es.
func Counted(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "s") {
		thing += "e"
	}
	return Grouped(n) + " " + thing + "s"
}
