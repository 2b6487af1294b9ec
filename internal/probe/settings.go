package probe

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"wprof/internal/cli"
)

// settings reads what stands between the bars. The last bar may be left out.
func (p *parser) settings() {
	p.given = map[string]Word{}
	if !p.take("|") {
		return
	}
	for !p.has("|") && !p.atEnd() {
		p.setting()
		if p.take(",") {
			if p.has("|") || p.atEnd() {
				p.missing("a setting is expected after the comma")
			}
		} else if !p.has("|") && !p.atEnd() {
			p.missing("a comma or | is expected; texts with spaces are in quotes")
		}
	}
	p.take("|")
	if p.spaces(); !p.atEnd() {
		p.missing("nothing can follow the last |")
	}
	p.checkSettings()
}

// isSpan reports whether the definition is a span.
func (p *parser) isSpan() bool { return len(p.def.Legs) == 2 || p.def.Legs[0].Probe.Info().Span }

func (p *parser) setting() {
	w := p.word()
	words := wordsOf(SettingWords())
	colon := !p.has("::") && p.take(":")
	switch {
	case p.err != nil:
	case w.Text == "":
		p.missing("a setting is expected; settings are %s", strings.Join(words, ", "))
	case !slices.Contains(words, w.Text+":") && w.Text != "count":
		p.fail(w, cli.Nearest(w.Text+":", words), "'%s' is not a setting; settings are %s", w.Text, strings.Join(words, ", "))
	case !colon && w.Text != "count":
		p.fail(w, nil, "a colon and a value are expected after '%s'", w.Text)
	case p.given[w.Text] != Word{}:
		p.fail(w, nil, "%s: is given twice%s", w.Text, map[bool]string{true: "; conditions are joined with &&"}[w.Text == "if"])
	}
	p.given[w.Text] = w
	if p.err == nil {
		p.checkKindOf(w)
		p.readSetting(w)
	}
}

// checkKindOf refuses settings of spans for instants.
func (p *parser) checkKindOf(w Word) {
	switch {
	case (w.Text == "min" || w.Text == "entry") && !p.isSpan():
		p.fail(w, nil, "%s: is for spans", w.Text)
	case w.Text == "key" && len(p.def.Legs) < 2:
		p.fail(w, nil, "key: is for spans from two probes, with ~~ between them")
	}
}

func (p *parser) readSetting(w Word) {
	s := &p.def.Settings
	switch w.Text {
	case "id":
		s.ID = p.shortText("an id").Text
	case "name":
		text := p.shortText("a name")
		p.checkTemplate(text)
		s.Name = text.Text
	case "sample":
		s.Sample = p.count("one of so many events is recorded, as in 100 or 10k")
	case "limit":
		s.Limit = p.count("so many events a second are recorded, as in 500, 10k or 1m")
	case "min":
		p.min()
	case "entry":
		if v := p.word(); p.oneWord(v, "a value of entry", []string{"no"}) {
			s.NoEntry = true
		}
	case "if":
		p.conditions()
	case "key":
		p.key()
	case "count":
		s.Count = true
	case "sum":
		if w := identifier(strings.TrimLeft(p.rest(), " ")); w == "dur" || w == "duration" {
			p.fail(p.word(), nil, "it is for arguments; hist:dur has the sum of durations too, and sum:arg:%s is the argument with that name", w)
			return
		}
		s.Sum = p.numberArg()
	case "hist":
		if w := identifier(strings.TrimLeft(p.rest(), " ")); w == "dur" || w == "duration" {
			p.histDuration()
			return
		}
		s.Hist = p.numberArg()
	case "by":
		p.by()
	}
}

func (p *parser) shortText(what string) Word {
	w, _ := p.value(what, " ,|")
	if len(w.Text) > maxID {
		p.fail(w, nil, "the text has %d bytes: %d are possible", len(w.Text), maxID)
	}
	return w
}

// count reads a number from 1 on, which may end with k for thousands or m for millions.
func (p *parser) count(what string) int {
	w, _ := p.value("a number", " ,|")
	digits := strings.TrimRight(w.Text, "kmKM")
	scale, ok := map[string]int64{"": 1, "k": 1e3, "m": 1e6}[strings.ToLower(w.Text[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 32)
	if n *= scale; !ok || err != nil || n < 1 || n > math.MaxInt32 {
		p.fail(w, nil, "'%s' is not a number from 1 to %d: %s", w.Text, math.MaxInt32, what)
	}
	return int(n)
}

func (p *parser) min() {
	w, _ := p.value("a duration like 10us", " ,|")
	if p.err != nil {
		return
	}
	if strings.Trim(w.Text, "0123456789.") == "" {
		p.fail(w, []string{w.Text + "us", w.Text + "ms"}, "'%s' has no unit", w.Text)
		return
	}
	d, err := cli.ParseDuration(w.Text)
	switch {
	case err != nil:
		p.fail(w, nil, "%v", err)
	case d <= 0:
		p.fail(w, nil, "every span is longer than '%s'", w.Text)
	}
	p.def.Settings.Min = d.Nanoseconds()
}

func (p *parser) histDuration() {
	w := p.word()
	if !p.isSpan() {
		p.fail(w, nil, "hist:dur is for spans; hist:arg:%s is the argument with that name", w.Text)
	}
	p.def.Settings.HistDuration = true
}

// key reads one argument for both legs, or one for each.
func (p *parser) key() {
	pair := p.take("(")
	p.spaces()
	start := p.pos
	first := p.settingArgOf(0)
	if pair {
		p.expect(",")
	} else if p.err == nil {
		p.pos = start
	}
	second := p.settingArgOf(1)
	if pair {
		p.expect(")")
	}
	p.def.Settings.Key = [2]*Arg{&first, &second}
}

// numberArg reads an argument that can be added up.
func (p *parser) numberArg() *Arg {
	a := p.settingArg()
	if info := a.Type.Info(); p.err == nil && a.Type != TypeAuto && (info.Float || a.Type == TypeStr || a.Type == TypePtr) {
		p.failAt(a.At, p.pos-a.At, nil, "the argument is not a whole number but %s", info.Words[0])
	}
	return &a
}

// by reads a list, which ends before the next setting if it is in no parentheses.
func (p *parser) by() {
	if p.take("(") {
		p.list(")", p.group)
		return
	}
	for p.group(); p.err == nil && p.has(",") && !p.settingAfterComma(); p.group() {
		p.take(",")
	}
}

// group reads one of the words of by:.
func (p *parser) group() {
	b := &p.def.Settings.By
	p.spaces()
	start := p.pos
	w := identifier(p.rest())
	twice := false
	switch {
	case slices.Contains(stackWords(), w):
		p.word()
		twice, b.Stack = b.Stack, true
	case w == "comm" && !p.hasArgument(w):
		p.word()
		twice, b.Comm = b.Comm, true
	default:
		a := p.settingArg()
		twice = slices.ContainsFunc(b.Args, func(have Arg) bool { return have.expression() == a.expression() && have.Leg == a.Leg })
		if b.Args = append(b.Args, a); len(b.Args) > MaxArgs {
			p.failAt(start, p.pos-start, nil, "by: has %d arguments at most", MaxArgs)
		}
	}
	if twice {
		p.failAt(start, p.pos-start, nil, "it is given twice in by:")
	}
}

// hasArgument reports whether a parameter has a name.
func (p *parser) hasArgument(name string) bool {
	return slices.ContainsFunc(p.def.Legs, func(l Leg) bool {
		for i := range l.Args {
			if l.Args[i].DisplayName(i) == name {
				return true
			}
		}
		return false
	})
}

// settingAfterComma reports whether a setting follows the comma that is next, not a word of by:.
func (p *parser) settingAfterComma() bool {
	rest := strings.TrimLeft(p.rest()[1:], " ")
	w := identifier(rest)
	rest = strings.TrimLeft(rest[len(w):], " ")
	if !strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "::") {
		return w == "count" || w == ""
	}
	if slices.Contains(wordsOf(SettingWords()), w+":") {
		return true
	}
	return w != "arg" && typeNamed(identifier(strings.TrimLeft(rest[1:], " "))) == TypeAuto
}

// checkSettings refuses settings that contradict each other.
func (p *parser) checkSettings() {
	if p.err != nil {
		return
	}
	if !p.def.Settings.Aggregates() {
		if by, ok := p.given["by"]; ok {
			p.fail(by, nil, "by: says what count, sum: and hist: are separated by: there is none of them")
		}
		return
	}
	for _, word := range []string{"name", "limit", "entry"} {
		if w, ok := p.given[word]; ok {
			p.fail(w, nil, "%s: is for events, and count, sum: and hist: record none", word)
		}
	}
	for i := range p.def.Legs {
		if leg := &p.def.Legs[i]; leg.Implied {
			leg.Args, leg.All, leg.Stack = nil, false, false
		}
		if p.def.Legs[i].Stack {
			p.fail(p.stack, nil, "count, sum: and hist: record no stack of each event; by:stack separates by stack")
		}
	}
}
