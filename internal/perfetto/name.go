package perfetto

import (
	"unicode"
	"unicode/utf8"
)

// validName makes a name that Perfetto and a terminal can show: what is not UTF-8 or not printable becomes U+FFFD.
// Threads may call themselves anything.
func validName(name []byte, none string) []byte {
	if len(name) == 0 {
		return []byte(none)
	}
	clean := make([]byte, 0, len(name))
	for len(name) > 0 {
		r, size := utf8.DecodeRune(name)
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		clean = utf8.AppendRune(clean, r)
		name = name[size:]
	}
	return clean
}
