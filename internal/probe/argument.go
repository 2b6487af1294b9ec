package probe

import (
	"slices"
	"strconv"
	"strings"
)

const (
	maxIndex   = 255
	maxDisplay = 64  // bytes of the name of an argument
	maxName    = 256 // bytes of the name of a number
)

// argument reads an argument with its accessors, type and modifiers, and returns its text too.
func (p *parser) argument() (Arg, Word) {
	p.spaces()
	a := Arg{At: p.pos}
	p.base(&a)
	for p.err == nil && p.accessor(&a) {
	}
	if p.take(":") {
		w := p.word()
		if p.oneWord(w, "a type", typeWords()) {
			a.Type = typeNamed(w.Text)
		}
	}
	var given []string
	for p.take("/") {
		p.modifier(&a, &given)
	}
	return a, Word{strings.TrimRight(p.def.Text[a.At:p.pos], " "), a.At}
}

func (p *parser) base(a *Arg) {
	switch w := p.word(); {
	case p.err != nil:
	case w.Text == "":
		p.missing("an argument is expected: an index, a name, ret or ctx")
	case isDigit(w.Text[0]):
		n, err := strconv.ParseUint(w.Text, 10, 31)
		if err != nil || n > maxIndex {
			p.fail(w, nil, "'%s' is neither a name nor an index from 0 to %d", w.Text, maxIndex)
		}
		a.Base, a.Index = BaseIndex, int(n)
	case w.Text == "ret":
		a.Base = BaseReturn
	case w.Text == "ctx":
		a.Base = BaseContext
	default:
		a.Base, a.Name = BaseName, w.Text
	}
}

// accessor reads one accessor, and returns false when there are no more.
func (p *parser) accessor(a *Arg) bool {
	x := Access{At: p.pos}
	switch {
	case p.has("->"):
		p.failAt(p.pos, 2, nil, "'->' is not an accessor: '.' follows pointers too")
	case p.take("."):
		x.Kind = Field
		w := p.word()
		if x.Field = w.Text; w.Text == "" {
			p.missing("the name of a field is expected after the dot")
		}
	case p.take("["):
		x.Kind = Element
		w, _ := p.value("an index", "]")
		var unsigned, ok bool
		if x.Index, unsigned, ok = number(w.Text); !ok || unsigned {
			p.fail(w, nil, "'%s' is not an index: it is a number, as in [2]", w.Text)
		}
		p.expect("]")
	case p.take("::"):
		p.typed(&x)
	default:
		return false
	}
	a.Access = append(a.Access, x)
	return true
}

func (p *parser) expect(what string) {
	if p.err == nil && !p.take(what) {
		p.missing("'%s' is expected", what)
	}
}

// typed reads cast<TYPE> and container_of<TYPE, MEMBER>.
func (p *parser) typed(x *Access) {
	w := p.word()
	if !p.oneWord(w, "an accessor after ::", []string{"cast", "container_of"}) {
		return
	}
	p.expect("<")
	if w.Text == "cast" {
		x.Kind = Cast
		x.Type, x.IsPtr = p.typeName()
	} else {
		x.Kind = Container
		start := p.pos
		if x.Type, x.IsPtr = p.typeName(); x.IsPtr {
			p.failAt(start, p.pos-start, nil, "container_of takes the type of a structure, without *")
		}
		p.expect(",")
		x.Member = p.member()
	}
	p.expect(">")
}

// member reads NAME.NAME….
func (p *parser) member() string {
	var names []string
	for p.err == nil {
		w := p.word()
		if w.Text == "" {
			p.missing("the name of a member is expected")
		}
		if names = append(names, w.Text); !p.take(".") {
			break
		}
	}
	return strings.Join(names, ".")
}

// typeName reads a type up to a comma or > that is in no angle brackets.
func (p *parser) typeName() (name string, isPtr bool) {
	p.spaces()
	w, outline := p.bracketed()
	name = strings.TrimPrefix(strings.Join(strings.Fields(w.Text), " "), "const ")
	pointed := strings.TrimRight(name, "* ")
	stars := strings.Count(name[len(pointed):], "*")
	words := strings.Fields(strings.TrimPrefix(strings.TrimRight(outline, "* "), "const "))
	switch {
	case p.err != nil:
	case len(words) == 0:
		p.failAt(w.At, len(w.Text), nil, "a type is expected: struct NAME, union NAME, enum NAME, a typedef, or one like u32 or char *")
	case stars > 1:
		p.fail(w, nil, "a type has one * at most: leave out the others, and cast again after the next step")
	case slices.Contains([]string{"struct", "union", "enum"}, words[0]) && len(words) == 1:
		p.failAt(w.At+len(w.Text), 0, nil, "the name of the %s is expected", words[0])
	case !isTypeName(words):
		p.fail(w, nil, "'%s' is not a type: it is struct NAME, union NAME, enum NAME, a typedef, or one like u32 or char *", w.Text)
	}
	return pointed, stars > 0
}

// bracketed takes the text up to a comma or > that is in no angle brackets, and returns what of it is in none, too.
func (p *parser) bracketed() (w Word, outline string) {
	text, depth := p.rest(), 0
	for i := range len(text) {
		switch c := text[i]; {
		case depth == 0 && (c == '>' || c == ','):
			w = Word{strings.TrimRight(text[:i], " "), p.pos}
			p.pos += i
			return w, outline
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth == 0:
			outline += string(c)
		}
	}
	p.failAt(max(0, p.pos-1), 1, nil, "'<' is not closed")
	return Word{}, ""
}

func isTypeName(words []string) bool {
	for _, w := range words {
		if w = strings.NewReplacer(":", "", ".", "").Replace(w); identifier(w) != w || w == "const" {
			return false
		}
	}
	if len(words) < 2 || len(words) == 2 && slices.Contains([]string{"struct", "union", "enum"}, words[0]) {
		return true
	}
	primitive := []string{"signed", "unsigned", "char", "short", "int", "long", "double"}
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(primitive, w) })
}

// modifier reads what follows a /.
func (p *parser) modifier(a *Arg, given *[]string) {
	w := p.word()
	if w.Text == "hex" {
		w.Text = "x"
	}
	if !p.oneWord(w, "a modifier", wordsOf(ModifierWords())) {
		return
	}
	info := a.Type.Info()
	switch {
	case slices.Contains(*given, w.Text):
		p.fail(w, nil, "/%s is given twice", w.Text)
	case (w.Text == "x" || w.Text == "map" || w.Text == "enum") && (info.Float || a.Type == TypeStr):
		p.fail(w, nil, "/%s is for whole numbers, not for %s", w.Text, info.Words[0])
	case (w.Text == "counter" || w.Text == "hist") && (a.Type == TypeStr || a.Type == TypePtr):
		p.fail(w, nil, "/%s is for numbers, not for %s", w.Text, info.Words[0])
	}
	*given = append(*given, w.Text)
	switch w.Text {
	case "name":
		p.display(&a.Display)
	case "x":
		a.Display.Hex = true
	case "enum":
		a.Display.Enum = true
	case "hist":
		a.Display.Hist = true
	case "map":
		p.expect("(")
		if p.err == nil {
			p.list(")", func() { p.numberName(&a.Display) })
		}
	case "counter":
		a.Display.Counter = true
		if p.take("(") {
			a.Display.PerThread = p.oneWord(p.word(), "what a counter is of", []string{"thread"})
			p.expect(")")
		}
	}
}

func (p *parser) display(d *Display) {
	p.expect("(")
	w, _ := p.value("a name", ",")
	p.expect(")")
	switch {
	case len(w.Text) > maxDisplay:
		p.fail(w, nil, "the name has %d bytes: %d are possible", len(w.Text), maxDisplay)
	case fieldName(w.Text) != w.Text:
		p.fail(w, []string{fieldName(w.Text)}, "the name of an argument has letters, digits, _, - and . only")
	}
	d.Name = w.Text
}

func (p *parser) numberName(d *Display) {
	k, _ := p.value("a number", "=,")
	n, unsigned, ok := number(k.Text)
	switch {
	case !ok || unsigned:
		p.fail(k, nil, "'%s' is not a number: /map is written as /map(0=read, 1=write)", k.Text)
	case slices.ContainsFunc(d.Names, func(have NumberName) bool { return have.Number == n }):
		p.fail(k, nil, "%d has two names", n)
	}
	p.expect("=")
	v, _ := p.value("a name", ",")
	if len(v.Text) > maxName {
		p.fail(v, nil, "the name has %d bytes: %d are possible", len(v.Text), maxName)
	}
	d.Names = append(d.Names, NumberName{n, v.Text})
}

// DisplayName is the name of the value: that of /name, or what is read, as the name of a field of an event. position is that of the
// argument in its leg.
func (a *Arg) DisplayName(position int) string {
	if a.Display.Name != "" {
		return a.Display.Name
	}
	var name string
	switch a.Base {
	case BaseIndex:
		name = "arg" + strconv.Itoa(a.Index)
	case BaseReturn:
		name = "ret"
	case BaseContext:
		name = "ctx"
	default:
		name = fieldName(a.Name)
	}
	for _, x := range a.Access {
		switch x.Kind {
		case Field:
			name += "." + fieldName(x.Field)
		case Element:
			name += "." + strconv.FormatInt(x.Index, 10)
		}
	}
	if strings.Trim(name, "_.") == "" {
		return "arg" + strconv.Itoa(position)
	}
	return name[:min(len(name), maxDisplay)]
}

// fieldName replaces what cannot be in the name of a field of an event.
func fieldName(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (isLetter(byte(r)) && r != '$' || r == '-' || r == '.') {
			return r
		}
		return '_'
	}, text)
}
