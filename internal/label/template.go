// Package label makes the names of events by the templates of their types, and the texts of their values.
package label

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

const (
	// MaxTemplate bounds a template, in bytes.
	MaxTemplate = 256
	// MaxName bounds what is made of one.
	MaxName = 1024

	maxValue = MaxName + utf8.UTFMax // bytes of a value; what is longer is cut together with the name
)

// Template is what events are called: "malloc {size}" is a text and the value of a field. {{ and }} stand for braces. The zero
// value is empty.
type Template struct{ parts []part }

type part struct {
	text    string
	isField bool // text is its name
}

// Parse parses a template.
func Parse(text []byte) (Template, error) {
	if len(text) > MaxTemplate {
		return Template{}, fmt.Errorf("the template has %d bytes, more than %d", len(text), MaxTemplate)
	}
	var t Template
	var literal []byte
	for at := 0; at < len(text); {
		rest := text[at:]
		switch c := rest[0]; {
		case c != '{' && c != '}':
			literal = append(literal, c)
			at++
		case len(rest) > 1 && rest[1] == c:
			literal = append(literal, c)
			at += 2
		case c == '}':
			return Template{}, fmt.Errorf("the } at byte %d of the template closes nothing; write }} for a brace", at)
		default:
			name, err := fieldIn(rest[1:], at)
			if err != nil {
				return Template{}, err
			}
			t.add(literal)
			literal = literal[:0]
			t.parts = append(t.parts, part{string(name), true})
			at += len(name) + 2
		}
	}
	t.add(literal)
	return t, nil
}

// fieldIn returns the name before the closing brace; at is where the opening one stands in the template.
func fieldIn(rest []byte, at int) ([]byte, error) {
	end := bytes.IndexAny(rest, "{}")
	if end < 0 || rest[end] == '{' {
		return nil, fmt.Errorf("the { at byte %d of the template is not closed; write {{ for a brace", at)
	}
	if end == 0 {
		return nil, fmt.Errorf("the {} at byte %d of the template names no field", at)
	}
	return rest[:end], nil
}

func (t *Template) add(literal []byte) {
	if len(literal) > 0 {
		t.parts = append(t.parts, part{text: string(literal)})
	}
}

// IsEmpty reports whether the template has neither text nor fields.
func (t Template) IsEmpty() bool { return len(t.parts) == 0 }

// Fields returns the names of its fields, in their order.
func (t Template) Fields() (names []string) {
	for _, p := range t.parts {
		if p.isField {
			names = append(names, p.text)
		}
	}
	return names
}

// Append appends the name of an event, at most [MaxName] bytes. value returns the text of a field, valid until its next call; where
// there is none, nothing is appended.
func (t Template) Append(dst []byte, value func(name string) (text []byte, ok bool)) []byte {
	from := len(dst)
	for _, p := range t.parts {
		if !p.isField {
			dst = append(dst, p.text...)
		} else if text, ok := value(p.text); ok {
			dst = append(dst, text[:min(len(text), maxValue)]...)
		}
		if len(dst)-from > MaxName {
			return dst[:from+len(cut(dst[from:]))]
		}
	}
	return dst
}

// cut cuts a text that is too long, and not within a character.
func cut(text []byte) []byte {
	end := MaxName
	for end > MaxName-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
