package tracks

import (
	"slices"
	"strconv"

	"wprof/format"
)

// Plain makes items of events as the table of kinds says.
type Plain struct {
	kinds [format.MaxKind + 1]*plainKind
	item  Item
}

// plainKind is what is drawn of a kind.
type plainKind struct {
	info       *format.KindInfo
	start      int // its argument; -1: an instant
	name       int // the field that names it; -1: the kind's name does
	stackField int // -1: none
}

// NewPlain returns a Plain for all kinds that no output draws specially.
func NewPlain() *Plain {
	p := &Plain{}
	for _, k := range format.Kinds() {
		p.add(&k)
	}
	return p
}

func (p *Plain) add(k *format.KindInfo) {
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

// Item is what is drawn of an event, until the next call; nil: nothing, or not in this way.
func (p *Plain) Item(e *format.Event) *Item {
	if e.Kind > format.MaxKind || p.kinds[e.Kind] == nil {
		return nil
	}
	s := p.kinds[e.Kind]
	at := e.Happened()
	i := &p.item
	*i = Item{On: s.info.Draw.On, Task: e.Task, CPU: e.CPU, From: at, To: at, Open: e.Flags&format.FlagOpen != 0, Name: s.info.Name, Args: i.Args[:0]}
	if s.start >= 0 || i.On != format.TypeTrack_TRACK_THREAD {
		i.Track = s.info.Name
	}
	if s.start >= 0 {
		i.Shape = Slice
		i.From = min(int64(e.Args[s.start]), at)
	}
	if s.name >= 0 {
		i.Name = text(e, s.name, &s.info.Fields[s.name])
	}
	if s.stackField >= 0 {
		i.Stack = e.Stack()
	}
	for n := range s.info.Fields {
		if f := &s.info.Fields[n]; n != s.start && n != s.name && n != s.stackField && e.Flags&f.Opt == f.Opt {
			i.Args = append(i.Args, argument(e, n, f, at))
		}
	}
	for n := range s.info.Flags {
		if f := &s.info.Flags[n]; e.Flags&f.Bit != 0 {
			i.Args = append(i.Args, Arg{Name: f.Name, Type: ArgText, Text: "yes"})
		}
	}
	return i
}

func argument(e *format.Event, n int, f *format.Field, at int64) Arg {
	switch f.Type {
	case format.FieldUint:
		return Arg{Name: f.Name, Number: e.Args[n]}
	case format.FieldSint:
		return Arg{Name: f.Name, Type: ArgInt, Number: e.Args[n]}
	case format.FieldTime: // a timeline has no place for a second time but its distance
		return Arg{Name: f.Name + "_before_ns", Type: ArgInt, Number: uint64(at - int64(e.Args[n]))}
	case format.FieldTask:
		return Arg{Name: f.Name, Type: ArgTask, Number: e.Args[n]}
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
		if name, known := format.Cause(v).Name(); known {
			return name
		}
	case format.FieldSint:
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(v, 10)
}
