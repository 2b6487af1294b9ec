package tracks

import (
	"slices"
	"strconv"

	"wprof/format"
)

// plainItems makes items of events of plain kinds, by the table of kinds.
type plainItems struct {
	*resolver
	kinds [format.MaxKind + 1]*plainKind
	items [1]Item
}

// plainKind is how a kind is drawn.
type plainKind struct {
	info       *format.KindInfo
	start      int // its argument; -1: an instant
	name       int // the field that names it; -1: it has the kind's name
	stackField int // -1: none
}

func newPlainItems(r *resolver) plainItems {
	p := plainItems{resolver: r}
	for _, k := range format.Kinds() {
		p.add(&k)
	}
	return p
}

func (p *plainItems) add(k *format.KindInfo) {
	if !k.IsPlain() {
		return
	}
	field := func(is func(format.Field) bool) int { return slices.IndexFunc(k.Fields, is) }
	p.kinds[k.Kind] = &plainKind{
		info:       k,
		start:      field(func(f format.Field) bool { return f.Name == k.Start }),
		name:       field(func(f format.Field) bool { return f.Name == k.Draw.Name }),
		stackField: field(func(f format.Field) bool { return f.Type == format.FieldStack }),
	}
}

// of returns the items of an event, valid until the next call; false: it is of no plain kind.
func (p *plainItems) of(e *format.Event) ([]Item, bool) {
	if e.Kind > format.MaxKind || p.kinds[e.Kind] == nil {
		return nil, false
	}
	s := p.kinds[e.Kind]
	at := e.Happened()
	i := &p.items[0]
	*i = Item{On: s.info.Draw.On, Task: p.task(e.Task), CPU: e.CPU, From: at, To: at, Open: e.Flags&format.FlagOpen != 0, Name: s.info.Name, Type: s.info.Name, Args: i.Args[:0]}
	if s.start >= 0 {
		i.Shape = ShapeSlice
		i.From = min(int64(e.Args[s.start]), at)
	}
	if s.name >= 0 {
		i.Name = text(e, s.name, &s.info.Fields[s.name])
	}
	if s.stackField >= 0 {
		i.Stack = p.stack(e.Stack())
	}
	for n := range s.info.Fields {
		f := &s.info.Fields[n]
		if n == s.start || n == s.name || n == s.stackField || e.Flags&f.Opt != f.Opt {
			continue
		}
		if a := p.argument(e, n, f, at); a.Type != ArgTask || a.Task != nil {
			i.Args = append(i.Args, a)
		}
	}
	for n := range s.info.Flags {
		if f := &s.info.Flags[n]; e.Flags&f.Bit != 0 {
			i.Args = append(i.Args, Arg{Name: f.Name, Type: ArgText, Text: "yes"})
		}
	}
	i.place()
	return p.items[:], true
}

func (p *plainItems) argument(e *format.Event, n int, f *format.Field, at int64) Arg {
	switch f.Type {
	case format.FieldUint:
		if isShown(e.Args[n]) {
			return Arg{Name: f.Name, Number: e.Args[n]}
		}
	case format.FieldSint:
		return Arg{Name: f.Name, Type: ArgInt, Number: e.Args[n]}
	case format.FieldTime: // a timeline can show a second time only as a distance
		return Arg{Name: f.Name + "_before_ns", Type: ArgInt, Unit: "ns", Number: uint64(at - int64(e.Args[n]))}
	case format.FieldTask:
		return Arg{Name: f.Name, Type: ArgTask, Task: p.task(format.TaskID(e.Args[n]))}
	}
	return Arg{Name: f.Name, Type: ArgText, Text: text(e, n, f)}
}

// text is the value of a field as text.
func text(e *format.Event, n int, f *format.Field) string {
	if f.Type == format.FieldBytes {
		return string(e.Data)
	}
	v := e.Args[n]
	switch f.Type {
	case format.FieldState:
		return format.State(v).String()
	case format.FieldCause:
		return format.Cause(v).String()
	case format.FieldSint:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(v, 10)
}
