package probe

const maxConditions = 16

type operator struct {
	text string
	op   Op
}

// operators returns the comparisons, those before that others begin with.
func operators() []operator {
	return []operator{
		{"==", OpEqual}, {"!=", OpNotEqual}, {"<=", OpLessEqual}, {">=", OpGreaterEqual}, {"<", OpLess}, {">", OpGreater}, {"&", OpMask}, {"~", OpGlob},
	}
}

// onNumbers reports whether an operator compares numbers only.
func (o Op) onNumbers() bool { return o != OpEqual && o != OpNotEqual && o != OpGlob }

// conditions reads what follows if:.
func (p *parser) conditions() {
	s := &p.def.Settings
	for p.err == nil {
		p.spaces()
		start := p.pos
		c := Condition{Arg: p.settingArg()}
		p.operator(&c)
		p.operand(&c)
		if len(s.If) == maxConditions {
			p.failAt(start, p.pos-start, nil, "if: has %d conditions at most", maxConditions)
		}
		if s.If = append(s.If, c); p.has("||") {
			p.failAt(p.pos, 2, nil, "all conditions of if: must be met: they are joined with &&, and there is no ||")
		}
		if !p.take("&&") {
			return
		}
	}
}

func (p *parser) operator(c *Condition) {
	for _, row := range operators() {
		if row.op == OpMask && p.has("&&") {
			continue
		}
		if p.take(row.text) {
			c.Op = row.op
			return
		}
	}
	switch {
	case p.err != nil:
	case p.has("=~"):
		p.failAt(p.pos, 2, []string{"~"}, "'=~' is not a comparison: a glob is compared with ~")
	case p.has("="):
		p.failAt(p.pos, 1, []string{"=="}, "'=' is not a comparison")
	default:
		p.missing("a comparison is expected: ==, !=, <, <=, >, >=, & or ~")
	}
}

// operand reads the value that an argument is compared with.
func (p *parser) operand(c *Condition) {
	w, quoted := p.value("a value", " ,|&")
	if p.err != nil {
		return
	}
	info := c.Arg.Type.Info()
	if c.Arg.Type != TypeAuto && info.Float {
		p.fail(w, nil, "the kernel compares no floating-point numbers")
		return
	}
	c.IsText = quoted || c.Op == OpGlob || c.Arg.Type == TypeStr && !c.Op.onNumbers()
	if !c.IsText {
		c.IsText = !p.numberOf(c, w)
	}
	if !c.IsText {
		p.checkNumber(c, w)
		return
	}
	c.Text = w.Text
	number := c.Arg.Type != TypeAuto && c.Arg.Type != TypeStr
	switch {
	case len(w.Text) >= MaxString:
		p.fail(w, nil, "the text has %d bytes: %d are possible", len(w.Text), MaxString-1)
	case c.Op.onNumbers():
		p.fail(w, nil, "%s compares numbers, and '%s' is none", c.Op, w.Text)
	case number && c.Op == OpGlob:
		p.fail(w, nil, "~ compares texts, and the argument is a number, %s", info.Words[0])
	case number && !c.Arg.Display.Enum:
		p.fail(w, nil, "the argument is a number, %s, and '%s' is none", info.Words[0], w.Text)
	}
}

// numberOf reads a number, or a name that the argument has for one, and returns false when the value is neither.
func (p *parser) numberOf(c *Condition, w Word) bool {
	for _, n := range c.Arg.Display.Names {
		if n.Name == w.Text {
			c.Number = n.Number
			return true
		}
	}
	var ok bool
	if c.Number, c.Unsigned, ok = number(w.Text); ok {
		return true
	}
	switch w.Text {
	case "NULL", "null", "nil", "false":
		return true
	case "true":
		c.Number = 1
		return true
	}
	if isDigit(w.Text[0]) || w.Text[0] == '-' || w.Text[0] == '+' {
		p.fail(w, nil, "'%s' is not a number like 10, -10, 0x10 or 0o10; in quotes it is a text", w.Text)
	}
	return false
}

func (p *parser) checkNumber(c *Condition, w Word) {
	switch {
	case c.Arg.Type == TypeStr:
		p.fail(w, nil, "texts are compared with ==, != and ~")
	case c.Op == OpMask && c.Number == 0:
		p.fail(w, nil, "no number has a bit of 0: the condition is never met")
	}
}
