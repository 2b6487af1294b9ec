// Package printable escapes what controls a terminal in texts that may have any bytes: names, paths and command lines.
package printable

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Rune reports whether a terminal shows a character in its place. Control characters have other effects, and bidi controls move
// the text around them.
func Rune(r rune) bool { return unicode.IsPrint(r) }

// Is reports whether all of a text is UTF-8 that a terminal shows.
func Is(s string) bool {
	if isPlain(s) {
		return true
	}
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !Rune(r) }) < 0
}

// Text writes what a terminal would not show as an escape of Go: \x1b, \n, \u202e, and \xff for a byte that is no UTF-8.
func Text(s string) string {
	if Is(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case Rune(r):
			b.WriteString(s[:size])
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[size:]
	}
	return b.String()
}

// isPlain reports whether a text has printable ASCII only, as nearly all have.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// JSON escapes in a JSON text what a terminal would not show, but for white space between values. A reader of it gets the
// same strings.
func JSON(text []byte) []byte {
	if isPlainJSON(text) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r < 0x7f || Rune(r) {
			out = utf8.AppendRune(out, r)
		} else {
			out = AppendEscape(out, r)
		}
		text = text[size:]
	}
	return out
}

func isPlainJSON(text []byte) bool {
	for _, c := range text {
		if c > '~' {
			return false
		}
	}
	return true
}

// AppendEscape appends a character as JSON's \uXXXX, of which those beyond U+FFFF need two.
func AppendEscape(b []byte, r rune) []byte {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return AppendEscape(AppendEscape(b, high), low)
	}
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
