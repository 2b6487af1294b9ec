package probe

import (
	"slices"
	"strconv"
	"strings"
)

// settingArg reads an argument of a setting, of either leg. arg: may be left out before it.
func (p *parser) settingArg() Arg {
	if len(p.def.Legs) == 2 {
		return p.settingArgOf(0, 1)
	}
	return p.settingArgOf(0)
}

// settingArgOf reads an argument of one of these legs. If it names one of the parameters it is the same with its type and
// modifiers.
func (p *parser) settingArgOf(legs ...int) Arg {
	if p.has("arg") && strings.HasPrefix(p.rest(), "arg:") && !strings.HasPrefix(p.rest(), "arg::") {
		p.pos += len("arg:")
	}
	if p.has("*") {
		p.failAt(p.pos, 1, nil, "arg:* is for parameters: name one argument here")
	}
	a, source := p.argument()
	if p.err != nil {
		return a
	}
	if a.Type == TypeAuto && a.Display.modifiers() == "" {
		for _, same := range []func(*Arg, *Arg, int) (Arg, bool){sameName, sameExpression, extended, samePosition} {
			for _, i := range legs {
				for j := range p.def.Legs[i].Args {
					if found, ok := same(&a, &p.def.Legs[i].Args[j], j); ok {
						found.At, found.Leg = a.At, i
						return found
					}
				}
			}
		}
	}
	a.Leg = legs[0]
	if last := legs[len(legs)-1]; !a.readableAt(p.def.Legs[a.Leg].Probe.Info()) && a.readableAt(p.def.Legs[last].Probe.Info()) {
		a.Leg = last
	}
	p.checkReadable(&a, source, p.def.Legs[a.Leg].Probe)
	a.nameField(p.def.Legs[a.Leg].Probe)
	return a
}

// The following return the parameter that an argument of a setting means: by its name, what it reads, a name with more accessors, or
// its position.

func sameName(a, param *Arg, position int) (Arg, bool) {
	return *param, a.expression() == param.DisplayName(position)
}

func sameExpression(a, param *Arg, _ int) (Arg, bool) {
	return *param, a.expression() == param.expression()
}

func extended(a, param *Arg, _ int) (Arg, bool) {
	if a.Base != BaseName || a.Name != param.Display.Name {
		return Arg{}, false
	}
	found := Arg{Base: param.Base, Index: param.Index, Name: param.Name}
	found.Access = append(append(found.Access, param.Access...), a.Access...)
	return found, true
}

func samePosition(a, param *Arg, position int) (Arg, bool) {
	return *param, a.expression() == "arg"+strconv.Itoa(position)
}

// checkTemplate refuses a name for events with wrong braces or arguments that are not there.
func (p *parser) checkTemplate(w Word) {
	known := []string{"func", "comm", "pid", "tid"}
	add := func(name string) {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	all := false
	for i := range p.def.Legs {
		leg := &p.def.Legs[i]
		all = all || leg.All
		for j := range leg.Args {
			a := &leg.Args[j]
			add(a.DisplayName(j))
			if a.Base == BaseName && len(a.Access) == 0 {
				add(a.Name)
			}
			add("arg" + strconv.Itoa(j))
		}
	}
	for _, f := range p.fields(w) {
		switch {
		case f.Text == "":
			p.failAt(f.At-1, 2, nil, "the name of an argument is expected in the braces; {{ and }} are braces themselves")
		case !all:
			p.oneWord(f, "an argument of the definition", known)
		}
	}
}

// fields returns what stands in the braces of a name.
func (p *parser) fields(w Word) []Word {
	var fields []Word
	for i := 0; i < len(w.Text); i++ {
		rest := w.Text[i:]
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			i++
		case rest[0] == '}':
			p.failAt(w.At+i, 1, []string{"}}"}, "'}' closes nothing")
		case rest[0] == '{':
			name, _, closed := strings.Cut(rest[1:], "}")
			if !closed {
				p.failAt(w.At+i, 1, []string{"{{"}, "'{' is not closed")
			}
			fields = append(fields, Word{name, w.At + i + 1})
			i += len(name) + 1
		}
	}
	return fields
}
