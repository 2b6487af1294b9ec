package probe

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"wprof/internal/printable"
)

// Error says what is wrong at a place of a definition.
type Error struct {
	Text   string // the definition
	At     int    // byte offset of the place
	Length int    // its bytes; 0: the end of the definition, or what is missing there
	Reason string
	Near   []string // what may have been intended
}

// shown is how many characters of a definition are shown on each side of a place, so that a terminal does not wrap the line.
const shown = 60

// Error writes the reason, the definition, and a caret under the place.
func (e *Error) Error() string {
	before, at, after := e.Text[:e.At], e.Text[e.At:e.At+e.Length], e.Text[e.At+e.Length:]
	before, at, after = lastOf(printable.Text(before), shown), firstOf(printable.Text(at), shown), firstOf(printable.Text(after), shown)
	line := strings.Repeat(" ", utf8.RuneCountInString(before)) + "^" + strings.Repeat("~", max(0, utf8.RuneCountInString(at)-1))
	text := fmt.Sprintf("%s\n  %s%s%s\n  %s", e.Reason, before, at, after, line)
	if len(e.Near) > 0 {
		text += " did you mean " + oneOf(e.Near) + "?"
	}
	return text
}

// IsPlaced implements [cli.Placed].
func (e *Error) IsPlaced() {}

// lastOf and firstOf cut a text to that many characters.
func lastOf(text string, characters int) string {
	r := []rune(text)
	if len(r) <= characters {
		return text
	}
	return "…" + string(r[len(r)-characters:])
}

func firstOf(text string, characters int) string {
	r := []rune(text)
	if len(r) <= characters {
		return text
	}
	return string(r[:characters]) + "…"
}

// oneOf writes "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Errorf returns an error about a place of the definition.
func (d *Definition) Errorf(at, length int, near []string, form string, args ...any) *Error {
	at = min(max(at, 0), len(d.Text))
	length = min(max(length, 0), len(d.Text)-at)
	return &Error{Text: d.Text, At: at, Length: length, Reason: d.From + fmt.Sprintf(form, args...), Near: near}
}
