package around

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"wprof/internal/cli"
	"wprof/internal/printable"
	"wprof/internal/probe"
	"wprof/internal/sources"
)

const maxText = 1024 // bytes of a condition

// parser reads a condition from left to right. After the first error it is at the end and reads nothing more.
type parser struct {
	text string
	pos  int
	err  *probe.Error
}

// Parse reads a condition such as "span(req) > 50ms". Whether a capture has what it names is not checked. An error is a [*probe.Error].
func Parse(text string) (Condition, error) {
	p := &parser{text: strings.TrimSpace(strings.ReplaceAll(text, "\t", " "))}
	p.checkText()
	c := Condition{Text: p.text}
	w := p.what(&c)
	p.name(&c, w)
	p.limit(&c, w)
	if p.spaces(); p.err == nil && p.pos < len(p.text) {
		p.fail(p.pos, len(p.text)-p.pos, nil, "nothing can follow here: a second condition is a second --around")
	}
	if p.err != nil {
		return Condition{}, p.err
	}
	return c, nil
}

// fail records the first error, at a place of the condition.
func (p *parser) fail(at, length int, near []string, form string, args ...any) {
	if p.err == nil {
		p.err = &probe.Error{Text: p.text, At: at, Length: length, Reason: fmt.Sprintf(form, args...), Near: near}
		p.pos = len(p.text)
	}
}

// checkText refuses what could not be shown above a caret.
func (p *parser) checkText() {
	switch {
	case p.text == "":
		p.fail(0, 0, nil, "the condition is empty: write one like %s", words()[0].example)
	case len(p.text) > maxText:
		at := maxText
		for !utf8.RuneStart(p.text[at]) {
			at--
		}
		p.fail(at, 0, nil, "the condition has %d bytes: %d are possible", len(p.text), maxText)
	}
	for at := 0; at < len(p.text); {
		_, size := utf8.DecodeRuneInString(p.text[at:])
		if c := p.text[at : at+size]; !printable.Is(c) {
			p.fail(at, size, nil, "'%s' cannot be in a condition", printable.Text(c))
		}
		at += size
	}
}

func (p *parser) rest() string { return p.text[p.pos:] }

func (p *parser) spaces() { p.pos += len(p.rest()) - len(strings.TrimLeft(p.rest(), " ")) }

// take takes a character if it is next, after spaces.
func (p *parser) take(c string) bool {
	p.spaces()
	if !strings.HasPrefix(p.rest(), c) {
		return false
	}
	p.pos += len(c)
	return true
}

// recorders are words of the recorder's conditions, which have their name behind a colon.
var recorders = []string{"slow", "offcpu", "runq"}

// asHere returns how --around writes a condition of wprof-record --snapshot-on.
func asHere(word, name string) string {
	source, value, named := strings.Cut(name, ":")
	switch {
	case word == "slow" && slices.Contains(sources.SpanWords(), source) && named:
		word, name = source, value
	case word == "slow" && slices.Contains(sources.SpanWords(), source):
		return source
	case word == "slow":
		word = "span"
	}
	return fmt.Sprintf("%s(%s)", word, name)
}

// what reads the first word.
func (p *parser) what(c *Condition) word {
	at := p.pos
	text := p.rest()
	if end := strings.IndexAny(text, " (<>="); end >= 0 {
		text = text[:end]
	}
	w, ok := wordNamed(text)
	if !ok {
		length := len(text)
		if length == 0 {
			length = min(1, len(p.rest()))
		}
		if w, name, _ := strings.Cut(text, ":"); name != "" && slices.Contains(recorders, w) {
			p.fail(at, length, []string{asHere(w, name)}, "'%s' is as wprof-record --snapshot-on takes it, and no condition here", printable.Text(text))
			return word{}
		}
		p.fail(at, length, cli.Nearest(text, allWords()), "'%s' is no condition; write span(ID), offcpu(NAME), runq(NAME), event(ID), %s, or a source such as syscall(NAME), block or irq", printable.Text(text), exitSignal)
		return word{}
	}
	p.pos += len(text)
	c.What = w.what
	if w.what == WhatSource {
		c.Word = w.text
	}
	return w
}

// name reads what is in the parentheses.
func (p *parser) name(c *Condition, w word) {
	if p.err != nil {
		return
	}
	if !p.take("(") {
		if !w.anyName {
			p.fail(p.pos, min(1, len(p.rest())), nil, "parentheses with a name are expected, as in %s", w.example)
		}
		c.Name = "*"
		return
	}
	open := p.pos - 1
	at, text := p.inParentheses()
	switch {
	case at < 0:
		p.fail(open, 1, nil, "'(' is not closed")
		return
	case text == "" && !w.anyName:
		p.fail(open, p.pos-open, nil, "a name is expected in the parentheses, as in %s", w.example)
	case text == "":
		text = "*"
	case w.what == WhatExit && text != "signal":
		p.fail(at, len(text), cli.Nearest(text, []string{"signal"}), "'%s' is no way to end: write %s", text, exitSignal)
	}
	c.Name = text
}

// inParentheses reads up to the parenthesis that closes: names of functions have some of their own. The place is -1 where there is none.
func (p *parser) inParentheses() (at int, text string) {
	p.spaces()
	if rest := p.rest(); rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		if end := strings.IndexByte(rest[1:], rest[0]); end >= 0 {
			at, text = p.pos+1, rest[1:1+end]
			p.pos += end + 2
			if p.take(")") {
				return at, text
			}
		}
		return -1, ""
	}
	depth := 0
	for i := range len(p.rest()) {
		switch c := p.rest()[i]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == ')':
			at, text = p.pos, strings.TrimRight(p.rest()[:i], " ")
			p.pos += i + 1
			return at, text
		}
	}
	return -1, ""
}

// limit reads what the duration must exceed.
func (p *parser) limit(c *Condition, w word) {
	if p.err != nil {
		return
	}
	p.spaces()
	at := p.pos
	switch {
	case !p.take(">"):
		if w.limit || p.pos < len(p.text) && strings.ContainsAny(p.text[p.pos:p.pos+1], "<=!") {
			p.fail(at, min(1, len(p.text)-at), nil, "'>' and a duration are expected, as in %s", w.example)
		}
		return
	case !w.limit:
		p.fail(at, len(p.text)-at, nil, "%s has no duration: write it without '>'", w.text)
		return
	}
	if p.take("=") {
		p.fail(p.pos-1, 1, nil, "a duration is always compared by '>' alone")
		return
	}
	p.spaces()
	at = p.pos
	text := strings.TrimRight(p.rest(), " ")
	if end := strings.IndexByte(text, ' '); end >= 0 {
		text = text[:end]
	}
	c.Limit.Given = true
	var err error
	switch {
	case text == "":
		p.fail(at, 0, nil, "a duration is expected, as in %s, or a quantile such as p99", w.example)
	case isQuantile(text):
		if c.Limit.Quantile, err = parseQuantile(text); err != nil {
			p.fail(at, len(text), nil, "%v", err)
		}
	default:
		if c.Limit.Duration, err = cli.ParseDuration(text); err != nil {
			p.fail(at, len(text), cli.Nearest(text, []string{"median", "p99"}), "%v; a quantile is median, p90, p99 or p99.9", err)
		}
	}
	if p.err == nil {
		p.pos = at + len(text)
	}
}

func isQuantile(text string) bool {
	return text == "median" || len(text) > 1 && text[0] == 'p' && strings.Trim(text[1:], "0123456789.") == ""
}

// parseQuantile reads median, or p and a percentage with at most four decimals.
func parseQuantile(text string) (Quantile, error) {
	if text == "median" {
		return median, nil
	}
	percent, decimals, _ := strings.Cut(text[1:], ".")
	if len(percent) <= 2 && len(decimals) <= 4 {
		if n, err := strconv.ParseUint(percent+(decimals + "0000")[:4], 10, 32); err == nil && n > 0 {
			return Quantile(n), nil
		}
	}
	return 0, fmt.Errorf("%s is not a quantile such as p50, p99 or p99.9, with four decimals at most", text)
}
