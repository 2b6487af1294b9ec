package probe

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wprof/internal/cli"
	"wprof/internal/printable"
)

const (
	maxText        = 4096 // bytes of a definition
	maxDefinitions = 1024 // of a file
	maxID          = 256  // bytes of an id and of a name
	maxPID         = 1 << 22
	maxComm        = 15 // bytes of the name of a thread
)

// ParseFile reads definitions, one a line. Empty lines and those that begin with # are comments.
func ParseFile(name string, text []byte) ([]*Definition, error) {
	var all []*Definition
	line := 0
	for text := range strings.Lines(string(text)) {
		line++
		if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
			continue
		}
		if len(all) == maxDefinitions {
			return nil, fmt.Errorf("%s:%d: a file can have %d definitions of probes", name, line, maxDefinitions)
		}
		d, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		d.From = fmt.Sprintf("%s:%d: ", name, line)
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no definitions of probes", name)
	}
	return all, nil
}

// Parse reads a definition. What depends on the system, such as whether a function exists, is not checked. An error is an [*Error].
//
// Names of functions have spaces, parentheses and operators in C++, Go and Rust. A target therefore ends at the first ~~ or | that is
// in no parentheses (a | after "operator" is a part of the name), or before the parentheses that stand last there, if a space is
// before them: these are the parameters. Any other target can stand in quotes.
func Parse(text string) (*Definition, error) {
	p := &parser{def: &Definition{Text: strings.ReplaceAll(strings.TrimSpace(text), "\t", " ")}}
	p.checkText()
	p.leg()
	for p.take("~~") {
		if len(p.def.Legs) == 2 {
			p.failAt(p.pos-2, 2, nil, "a span has two ends: there is a second ~~")
		}
		p.leg()
	}
	if !p.has("|") && !p.atEnd() {
		p.missing("only ~~ or | can follow here")
	}
	p.settings()
	if p.err != nil {
		return nil, p.err
	}
	return p.def, nil
}

// checkText refuses what could not be shown below a caret.
func (p *parser) checkText() {
	text := p.def.Text
	switch {
	case text == "":
		p.failAt(0, 0, nil, "the definition is empty: write PROBE:TARGET, as in u:malloc (arg:0)")
	case len(text) > maxText:
		p.failAt(maxText, 0, nil, "the definition has %d bytes: %d are possible", len(text), maxText)
	}
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		if c := text[at : at+size]; !printable.Is(c) {
			p.failAt(at, size, nil, "'%s' cannot be in a definition", printable.Text(c))
		}
		at += size
	}
}

// leg reads a probe, its target, and its parameters.
func (p *parser) leg() {
	leg := Leg{Probe: p.kind()}
	if p.err != nil {
		return
	}
	info := leg.Probe.Info()
	if info.Span && (len(p.def.Legs) > 0 || p.endsWithSecondLeg()) {
		w := Word{info.Word + ":", p.pos - len(info.Word) - 1}
		ends := leg.Probe.related(func(k KindInfo) bool { return !k.Span })
		p.fail(w, nil, "%s is a span already, and no end of one: write %s", w.Text, oneOf(ends))
	}
	if p.has("'") || p.has(`"`) {
		leg.Target = p.quoted()
	} else {
		leg.Target = p.target(info)
	}
	p.checkTarget(leg.Probe, leg.Target)
	if p.take("(") && !p.take(")") {
		p.list(")", func() { p.parameter(&leg) })
	}
	p.watched(&leg)
	p.checkNames(&leg)
	if n := len(p.def.Legs); n > 0 {
		leg.inherit(&p.def.Legs[0])
	}
	p.def.Legs = append(p.def.Legs, leg)
}

// inherit takes the processes of the first end of a span for the second.
func (l *Leg) inherit(first *Leg) {
	if !l.Probe.Info().User || !first.Probe.Info().User || len(l.PIDs) > 0 || l.GPU || l.Path.Text != "" || l.Comm.Text != "" {
		return
	}
	l.PIDs, l.GPU, l.Path, l.Comm = first.PIDs, first.GPU, first.Path, first.Comm
}

// list reads what is separated by commas up to an end.
func (p *parser) list(end string, item func()) {
	for p.err == nil {
		item()
		if p.take(end) {
			return
		}
		if !p.take(",") {
			p.missing("a comma or '%s' is expected", end)
		}
	}
}

// kind reads the word before the target.
func (p *parser) kind() ProbeKind {
	w := p.word()
	if p.err != nil {
		return 0
	}
	if !p.take(":") {
		switch {
		case w.Text == "" || kindNamed(w.Text) != 0:
			p.missing("a probe is expected, as in u:malloc; probes are %s", strings.Join(probeWords(), ", "))
		default:
			p.fail(w, []string{"u:" + w.Text, "k:" + w.Text}, "no probe is before '%s'; probes are %s", w.Text, strings.Join(probeWords(), ", "))
		}
		return 0
	}
	kind := kindNamed(w.Text)
	if kind == 0 {
		near := sameProbe(w.Text)
		if near == nil {
			near = cli.Nearest(w.Text+":", probeWords())
		}
		p.fail(w, near, "'%s' is not a probe; probes are %s", w.Text, strings.Join(probeWords(), ", "))
	}
	return kind
}

// endsWithSecondLeg reports whether ~~ ends the leg whose target is next.
func (p *parser) endsWithSecondLeg() bool {
	s := scanLeg(p.rest(), true)
	return strings.HasPrefix(p.rest()[s.end:], "~~")
}

// parameter reads one of the words in the parentheses.
func (p *parser) parameter(leg *Leg) {
	w := p.word()
	if p.err != nil {
		return
	}
	words := wordsOf(ParameterWords())
	if slices.Contains(stackWords(), w.Text) {
		if leg.Stack {
			p.fail(w, nil, "stack is given twice")
		}
		leg.Stack, p.stack = true, w
		return
	}
	colon := !p.has("::") && p.take(":")
	switch {
	case w.Text == "":
		p.missing("a parameter is expected; parameters are %s", strings.Join(words, ", "))
	case slices.Contains(words, w.Text+":") && !colon:
		p.fail(w, nil, "a colon and a value are expected after '%s'", w.Text)
	case !slices.Contains(words, w.Text+":"):
		near := cli.Nearest(w.Text+p.def.Text[w.At+len(w.Text):p.pos], words)
		if near == nil && !colon {
			near = []string{"arg:" + w.Text}
		}
		p.fail(w, near, "'%s' is not a parameter; parameters are %s", w.Text, strings.Join(words, ", "))
	case w.Text == "arg":
		p.argumentOf(leg)
	case !leg.Probe.Info().User:
		p.fail(w, nil, "%s: is for probes of programs, not for %s:", w.Text, leg.Probe.Info().Word)
	case w.Text == "pid":
		p.pid(leg)
	case w.Text == "path":
		p.text(w, &leg.Path, "the path of a program or library", "),")
	case w.Text == "comm":
		p.text(w, &leg.Comm, "the name of threads", "),")
		if c := leg.Comm; len(c.Text) > maxComm && !strings.Contains(c.Text, "*") {
			p.fail(c, nil, "names of threads have %d bytes at most: write %s*", maxComm, strings.ToValidUTF8(c.Text[:maxComm-1], ""))
		}
	}
}

// text reads a value that can be given once.
func (p *parser) text(w Word, into *Word, what, stops string) {
	if into.Text != "" {
		p.fail(w, nil, "%s: is given twice", w.Text)
		return
	}
	*into, _ = p.value(what, stops)
}

func (p *parser) pid(leg *Leg) {
	w, _ := p.value("the id of a process, or nv-smi", ",) ")
	if p.err != nil {
		return
	}
	n, _, ok := number(w.Text)
	switch {
	case w.Text == "nv-smi" || w.Text == "nvidia-smi":
		leg.GPU = true
	case !ok:
		p.fail(w, cli.Nearest(w.Text, []string{"nv-smi"}), "'%s' is neither the id of a process nor nv-smi", w.Text)
	case n < 1 || n > maxPID:
		p.fail(w, nil, "ids of processes are 1 to %d", maxPID)
	case !slices.Contains(leg.PIDs, int(n)):
		leg.PIDs = append(leg.PIDs, int(n))
	}
}

// argumentOf reads what follows arg: in the parameters.
func (p *parser) argumentOf(leg *Leg) {
	if p.take("*") {
		star := Word{"*", p.pos - 1}
		if leg.All {
			p.fail(star, nil, "arg:* is given twice")
		}
		if !p.has(",") && !p.has(")") {
			p.fail(star, nil, "arg:* has no accessors, type or modifiers: write what is special as an argument of its own beside it")
		}
		leg.All = true
		return
	}
	a, source := p.argument()
	if len(leg.Args) == MaxArgs {
		p.fail(source, nil, "a probe has %d arguments at most", MaxArgs)
	}
	p.checkReadable(&a, source, leg.Probe)
	a.nameField(leg.Probe)
	a.Leg = len(p.def.Legs)
	leg.Args = append(leg.Args, a)
}

// checkReadable refuses arguments at a return, and return values at an entry.
func (p *parser) checkReadable(a *Arg, source Word, kind ProbeKind) {
	if a.readableAt(kind.Info()) {
		return
	}
	what := "arguments other than ret"
	if a.Base == BaseReturn {
		what = "return value"
	}
	reason := fmt.Sprintf("%s: has no %s", kind.Info().Word, what)
	if words := kind.related(a.readableAt); words != nil {
		reason += "; " + strings.Join(words, " and ") + " have"
	}
	p.fail(source, nil, "%s", reason)
}

// nameField makes ret the name of a field, which tracepoints of system calls have.
func (a *Arg) nameField(kind ProbeKind) {
	if kind == Tracepoint && a.Base == BaseReturn {
		a.Base, a.Name = BaseName, "ret"
	}
}

func (a *Arg) readableAt(k KindInfo) bool {
	return a.Base == BaseContext || a.isOfThread() || a.Base == BaseReturn && (k.Return || k.Kind == Tracepoint) || (a.Base == BaseIndex || a.Base == BaseName) && k.Entry
}

// isOfThread reports whether the argument may be one of [ThreadWords].
func (a *Arg) isOfThread() bool {
	return a.Base == BaseName && len(a.Access) == 0 && slices.Contains(wordsOf(ThreadWords()), a.Name)
}

// checkNames refuses two arguments with one name.
func (p *parser) checkNames(leg *Leg) {
	names := map[string]bool{}
	for i := range leg.Args {
		name := leg.Args[i].DisplayName(i)
		if names[name] {
			p.failAt(leg.Args[i].At, len(leg.Args[i].expression()), nil, "two arguments have the name %s: add /name(NAME) to one of them", name)
		}
		names[name] = true
	}
}
