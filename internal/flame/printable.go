package flame

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// longestName is how many bytes of a name pictures show. C++ has longer ones; their ends say as much as their middles.
const longestName = 400

// printable is a name as pictures show it: what is no character, or moves the text about, is written as an escape.
func printable(name string) string {
	return escaped(shortened(name))
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

func escaped(name string) string {
	if isPlain(name) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(name[0])|0x100, 16)[1:])
		case strconv.IsPrint(r):
			b.WriteString(name[:size])
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		name = name[size:]
	}
	return b.String()
}

// isPlain tells whether a name has printable ASCII only, as nearly all have.
func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
