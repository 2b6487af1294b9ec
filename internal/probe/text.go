package probe

import (
	"fmt"
	"strconv"
	"strings"
)

// wordList collects what is given.
type wordList []string

func (l *wordList) add(given bool, form string, args ...any) {
	if given {
		*l = append(*l, fmt.Sprintf(form, args...))
	}
}

func (l *wordList) addArgs(args []Arg) {
	for i := range args {
		l.add(true, "arg:%s", &args[i])
	}
}

func (l *wordList) joined(separator string) string { return strings.Join(*l, separator) }

// String returns a leg as it is written in a definition.
func (l *Leg) String() string {
	var params wordList
	if !l.Implied {
		params.addArgs(l.Args)
		params.add(l.All, "arg:*")
		params.add(l.Stack, "stack")
	}
	for _, pid := range l.PIDs {
		params.add(true, "pid:%d", pid)
	}
	params.add(l.GPU, "pid:nv-smi")
	params.add(l.Path.Text != "", "path:%s", bare(l.Path.Text))
	params.add(l.Comm.Text != "", "comm:%s", bare(l.Comm.Text))
	text := l.Probe.Info().Word + ":" + bare(l.Target.Text)
	if len(params) > 0 {
		text += " (" + params.joined(", ") + ")"
	}
	return text
}

// bare writes a text without quotes if it is sure to be read so.
func bare(text string) string {
	for i := range len(text) {
		if c := text[i]; !isLetter(c) && strings.IndexByte("./*?:+-@", c) < 0 || i == 0 && c == ':' {
			return quote(text)
		}
	}
	return text
}

// String returns an argument as it is written after arg:.
func (a *Arg) String() string {
	text := a.expression()
	if a.Type != TypeAuto {
		text += ":" + a.Type.Info().Words[0]
	}
	return text + a.Display.modifiers()
}

// expression returns what is read, without a type and modifiers.
func (a *Arg) expression() string {
	text := a.Name
	switch a.Base {
	case BaseIndex:
		text = strconv.Itoa(a.Index)
	case BaseReturn:
		text = "ret"
	case BaseContext:
		text = "ctx"
	}
	for _, x := range a.Access {
		star := ""
		if x.IsPtr {
			star = " *"
		}
		switch x.Kind {
		case Field:
			text += "." + x.Field
		case Element:
			text += "[" + strconv.FormatInt(x.Index, 10) + "]"
		case Cast:
			text += "::cast<" + x.Type + star + ">"
		case Container:
			text += "::container_of<" + x.Type + ", " + x.Member + ">"
		}
	}
	return text
}

func (d *Display) modifiers() string {
	var words, names wordList
	for _, n := range d.Names {
		names.add(true, "%d=%s", n.Number, bare(n.Name))
	}
	words.add(d.Name != "", "/name(%s)", d.Name)
	words.add(d.Hex, "/x")
	words.add(len(names) > 0, "/map(%s)", names.joined(", "))
	words.add(d.Enum, "/enum")
	words.add(d.Counter && !d.PerThread, "/counter")
	words.add(d.PerThread, "/counter(thread)")
	words.add(d.Hist, "/hist")
	return words.joined("")
}

// String returns the operator.
func (o Op) String() string {
	for _, row := range operators() {
		if row.op == o {
			return row.text
		}
	}
	return ""
}
