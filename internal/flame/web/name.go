package web

import (
	"unicode/utf8"

	"wprof/internal/printable"
)

// longestName is the maximum length of a name in pictures, bytes. C++ has longer ones; of these the beginning and the end are shown.
const longestName = 400

// ShortName returns a name as pictures show it: at most longestName bytes, with invalid characters, control characters and those
// that change the direction of text escaped.
func ShortName(name string) string {
	return printable.Text(shortened(name))
}

// shortened removes the middle of a very long name.
func shortened(name string) string {
	if len(name) <= longestName {
		return name
	}
	head, tail := longestName*3/4, len(name)-longestName/4
	for head > 0 && !utf8.RuneStart(name[head]) {
		head--
	}
	for tail < len(name) && !utf8.RuneStart(name[tail]) {
		tail++
	}
	return name[:head] + "…" + name[tail:]
}
