package when

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"wprof/internal/cli"
)

// form is how an instant is given.
type form uint8

const (
	none  form = iota
	now        // @now
	at         // @TIME
	after      // +DURATION
	every      // /PERIOD
)

// Spec is a parsed WHEN. The zero value is that of a flag that was not given.
type Spec struct {
	Text string // as it was typed

	form   form
	length time.Duration // of after and every
	wall   time.Time     // of at: what a clock shows, as if it were UTC; if hasZone, the time itself
	// What of at was given. Without a date it is that of the program's start.
	hasDate, hasZone bool
}

// IsGiven reports whether the flag was given.
func (s Spec) IsGiven() bool { return s.form != none }

// layout is a way to write a time. Fractions of the second may follow it.
type layout struct {
	text             string
	hasDate, hasZone bool
}

func layouts() []layout {
	return []layout{
		{"15:04", false, false},
		{"15:04:05", false, false},
		{"2006-01-02", true, false},
		{"2006-01-02T15:04", true, false},
		{"2006-01-02T15:04:05", true, false},
		{"2006-01-02T15:04Z07:00", true, true},
		{"2006-01-02T15:04:05Z07:00", true, true},
	}
}

// maxText bounds a WHEN, which the capture has as it was typed.
const maxText = 64

// Parse reads @now, @TIME, +DURATION or /PERIOD. An empty text is none.
func Parse(text string) (Spec, error) {
	if text == "" {
		return Spec{}, nil
	}
	if len(text) > maxText {
		return Spec{}, fmt.Errorf("it has %d bytes: an instant is written in %d at most", len(text), maxText)
	}
	rest := text[1:]
	switch text[0] {
	case '@':
		return parseTime(text, rest)
	case '+':
		return parseLength(text, rest, after)
	case '/':
		return parseLength(text, rest, every)
	}
	return Spec{}, fmt.Errorf("%q is not @now, a time like @14:30, a duration like +10s, or a period like /1m", text)
}

func parseLength(text, duration string, form form) (Spec, error) {
	length, err := cli.ParseDuration(duration)
	if err != nil {
		return Spec{}, err
	}
	if length == 0 {
		return Spec{}, fmt.Errorf("%q is no time at all: at once is @now", text)
	}
	return Spec{Text: text, form: form, length: length}, nil
}

func parseTime(text, moment string) (Spec, error) {
	if moment == "now" {
		return Spec{Text: text, form: now}, nil
	}
	moment = strings.Replace(moment, " ", "T", 1)
	isReal := true
	for _, l := range layouts() {
		wall, err := time.Parse(l.text, moment)
		if err == nil {
			return Spec{Text: text, form: at, wall: wall, hasDate: l.hasDate, hasZone: l.hasZone}, nil
		}
		failure := new(time.ParseError)
		isReal = isReal && !(errors.As(err, &failure) && strings.HasSuffix(failure.Message, "out of range"))
	}
	if !isReal {
		return Spec{}, fmt.Errorf("%q: no clock and no calendar shows that", text)
	}
	return Spec{}, fmt.Errorf("%q is not @now or a time like @14:30, @14:30:05.5, @2026-06-10 or @2026-06-10T14:30:00", text)
}
