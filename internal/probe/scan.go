package probe

import (
	"slices"
	"strconv"
	"strings"

	"wprof/internal/cli"
)

// parser reads a definition from left to right. After the first error it is at the end and reads nothing more, so that callers look
// at the error only where they would repeat themselves.
type parser struct {
	def   *Definition
	pos   int
	err   *Error
	stack Word            // the last stack among the parameters
	given map[string]Word // settings so far, with their places
}

// failAt records the first error, at a place of the definition.
func (p *parser) failAt(at, length int, near []string, form string, args ...any) {
	if p.err == nil {
		p.err = p.def.Errorf(at, length, near, form, args...)
		p.pos = len(p.def.Text)
	}
}

// fail is failAt for what a word says.
func (p *parser) fail(w Word, near []string, form string, args ...any) {
	p.failAt(w.At, len(w.Text), near, form, args...)
}

// missing is an error about what is next.
func (p *parser) missing(form string, args ...any) {
	length := min(1, len(p.rest()))
	if w := identifier(p.rest()); w != "" {
		length = len(w)
	}
	p.failAt(p.pos, length, nil, form, args...)
}

func (p *parser) rest() string { return p.def.Text[p.pos:] }

func (p *parser) atEnd() bool { return p.pos == len(p.def.Text) }

func (p *parser) spaces() { p.pos += len(p.rest()) - len(strings.TrimLeft(p.rest(), " ")) }

// has reports whether a text is next, after spaces.
func (p *parser) has(text string) bool {
	p.spaces()
	return strings.HasPrefix(p.rest(), text)
}

// take takes a text if it is next, after spaces.
func (p *parser) take(text string) bool {
	if p.err != nil || !p.has(text) {
		return false
	}
	p.pos += len(text)
	return true
}

// word takes letters, digits and _; nothing when there are none.
func (p *parser) word() Word {
	p.spaces()
	w := Word{Text: identifier(p.rest()), At: p.pos}
	p.pos += len(w.Text)
	return w
}

// identifier returns the letters, digits, _ and $ that a text begins with. Every character beyond ASCII is a letter: names in Go and
// Rust have them.
func identifier(text string) string {
	i := 0
	for i < len(text) && isLetter(text[i]) {
		i++
	}
	return text[:i]
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// value takes a text in quotes, or one up to a character of stops that is in no parentheses.
func (p *parser) value(what, stops string) (w Word, quoted bool) {
	if p.spaces(); p.has("'") || p.has(`"`) {
		return p.quoted(), true
	}
	end := endOf(p.rest(), stops)
	if end < 0 {
		p.failAt(p.pos+strings.IndexByte(p.rest(), '('), 1, nil, "'(' is not closed")
		return Word{}, false
	}
	w = Word{Text: strings.TrimRight(p.rest()[:end], " "), At: p.pos}
	p.pos += end
	if p.err == nil && w.Text == "" {
		p.missing("%s is expected", what)
	}
	return w, false
}

// endOf returns where the first character of stops is that is in no parentheses, or a ) that closes none; -1: a parenthesis is open.
func endOf(text, stops string) int {
	depth := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == ')' && depth == 0, depth == 0 && strings.IndexByte(stops, c) >= 0:
			return i
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
	}
	if depth > 0 {
		return -1
	}
	return len(text)
}

// quoted takes a text in quotes of either kind; a backslash stands before a quote or a backslash that belongs to the text.
func (p *parser) quoted() Word {
	start, end := p.pos, endOfQuoted(p.rest())
	if end < 0 {
		p.failAt(start, 1, nil, "the quote is not closed")
		return Word{}
	}
	inside := p.rest()[1 : end-1]
	p.pos += end
	if inside == "" {
		p.failAt(start, end, nil, "there is nothing in the quotes")
	}
	return Word{Text: unescaper().Replace(inside), At: start + 1}
}

func unescaper() *strings.Replacer { return strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`) }

// endOfQuoted returns how long the quoted text is that a text begins with, with its quotes; -1: it is not closed.
func endOfQuoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return i + 1
		case '\\':
			if i+1 < len(text) && strings.IndexByte(`\'"`, text[i+1]) >= 0 {
				i++
			}
		}
	}
	return -1
}

// quote writes a text in quotes.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// number reads a whole number, decimal or with 0x, 0o or 0b before it. One above the signed ones is unsigned.
func number(text string) (n int64, unsigned, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	if len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) || strings.ContainsAny(text, "_+") {
		return 0, false, false
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, false, true
	}
	u, err := strconv.ParseUint(text, 0, 64)
	return int64(u), err == nil, err == nil
}

// oneWord reports an error, with near words, unless a word is one of these.
func (p *parser) oneWord(w Word, what string, valid []string) bool {
	if slices.Contains(valid, w.Text) {
		return true
	}
	if w.Text == "" {
		p.missing("%s is expected: %s", what, oneOf(valid))
		return false
	}
	p.fail(w, cli.Nearest(w.Text, valid), "'%s' is not %s: it is %s", w.Text, what, oneOf(valid))
	return false
}
