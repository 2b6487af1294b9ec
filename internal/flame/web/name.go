package web

import (
	"unicode/utf8"

	"wprof/internal/printable"
)

// longestName is how many bytes of a name pictures show. C++ has longer ones; their ends say as much as their middles.
const longestName = 400

// pictureName is a name as pictures show it: what is no character, or moves the text about, is written as an escape.
func ShortName(name string) string {
	return printable.Text(shortened(name))
}

// shortened takes the middle out of a very long name.
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
