package records

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"wprof/internal/printable"
	"wprof/internal/stacks"
)

// Texts converts any bytes to valid UTF-8, and keeps the first text that was not valid.
type Texts struct {
	first string // as it is shown
}

// Clean replaces what is not UTF-8 by U+FFFD.
func (t *Texts) Clean(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	s := strings.ToValidUTF8(string(raw), "�")
	if t.first == "" {
		t.first = s
	}
	return s
}

// Clip is Clean of a text that is cut to the length that is shown.
func (t *Texts) Clip(raw []byte) string { return t.Clean(stacks.Clipped(raw)) }

// Name is Clip of a name; an empty one has a placeholder.
func (t *Texts) Name(raw []byte) string {
	if len(raw) == 0 {
		return stacks.Unnamed
	}
	return t.Clip(raw)
}

// NotUTF8 returns the first text that was not valid UTF-8, as it is shown; "": all were.
func (t *Texts) NotUTF8() string { return t.first }

// view is Clean without a copy where none is needed: for bytes that never change, such as those of definitions.
func (t *Texts) view(raw []byte) string {
	if len(raw) == 0 || !utf8.Valid(raw) {
		return t.Clean(raw)
	}
	return unsafe.String(&raw[0], len(raw))
}

// Digits holds all numbers of two digits one after the other, for encoders that write many decimals.
const Digits = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// AppendString appends a JSON string without terminal controls. s is valid UTF-8.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < 0x7f {
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if !printable.Rune(r) {
				b = printable.AppendEscape(append(b, s[from:i]...), r)
				from = i + size
			}
			i += size - 1
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		if c == '\\' && from == len(s) {
			// Perfetto's engine takes the quote after \\ for an escaped one, and refuses the whole trace.
			b = append(b, `\u005c`...)
			break
		}
		b = appendEscape(b, c)
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\t':
		return append(b, '\\', 't')
	case '\r':
		return append(b, '\\', 'r')
	}
	return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

// AppendStrings appends texts as a JSON array.
func AppendStrings(b []byte, all []string) []byte {
	b = append(b, '[')
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}
