package records

import (
	"cmp"

	"wprof/format"
)

// plainKind returns the kind of records with the same fields as the events of a kind.
func plainKind(k *format.KindInfo) KindInfo {
	out := KindInfo{Name: cmp.Or(k.JSON, k.Name), Source: k.Kind, Extension: true, Doc: k.Doc}
	add := func(f Field, from plainField) {
		out.Fields, out.plain = append(out.Fields, f), append(out.plain, from)
	}
	if k.Task != "" {
		add(Field{Name: "task", Type: TypeTask, Doc: k.Task}, plainField{from: fromTask})
	}
	for i, f := range k.Fields {
		if f.Name != k.Start {
			add(plainArg(&f), plainField{typ: f.Type, arg: i, opt: f.Opt})
			continue
		}
		add(Field{Name: "dur", Type: TypeDuration, Doc: "duration"}, plainField{from: fromLength, arg: i})
		add(Field{Name: "start_ts", Type: TypeInstant, Opt: true, Doc: f.Doc + "; absent if before the window"}, plainField{from: fromStart, arg: i})
		add(openField(), plainField{from: fromFlag, opt: format.FlagOpen})
	}
	for _, f := range k.Flags {
		add(Field{Name: f.Name, Type: TypeWord, Words: []string{"yes"}, Opt: true, Doc: "yes if " + f.Doc}, plainField{from: fromFlag, opt: f.Bit})
	}
	return out
}

// plainField defines the source of a field of such a record.
type plainField struct {
	from plainSource
	typ  format.FieldType
	arg  int
	opt  format.Flags
}

// plainSource is the part of an event from which a field is made.
type plainSource uint8

const (
	fromArg plainSource = iota
	fromTask
	fromLength // from the start of a span to its end
	fromStart
	fromFlag
)

func plainArg(f *format.Field) Field {
	out := Field{Name: f.Name, Opt: f.Opt != 0, Doc: f.Doc}
	switch f.Type {
	case format.FieldUint:
		out.Type = TypeInt
	case format.FieldSint:
		out.Type, out.Short = TypeInt, true
	case format.FieldTime:
		out.Type = TypeInstant
	case format.FieldTask:
		out.Type = TypeTask
	case format.FieldState:
		out.Type, out.Words = TypeWord, StateNames()
	case format.FieldCause:
		out.Type, out.Words = TypeWord, causeNames()
	case format.FieldKind:
		out.Type, out.Words = TypeWord, eventNames()
	case format.FieldStack:
		out.Name, out.Type, out.Opt = f.Name+"_id", TypeStack, true
	case format.FieldBytes:
		out.Type = TypeText
	}
	return out
}

// fillPlain fills in the record of an event whose kind has no row in [table].
func (m *Maker) fillPlain(r *Record, e *format.Event, k *KindInfo) {
	for i := range k.plain {
		from := &k.plain[i]
		if e.Flags&from.opt != from.opt {
			continue
		}
		if m.plainValue(r, e, from, &k.Fields[i]) {
			r.Has |= 1 << i
		}
	}
}

// plainValue sets a field; false: it is absent.
func (m *Maker) plainValue(r *Record, e *format.Event, from *plainField, f *Field) bool {
	arg := e.Args[from.arg]
	switch from.from {
	case fromTask:
		r.Tasks[f.Slot] = m.subject(e)
		return true
	case fromLength:
		r.Values[f.Slot] = max(0, e.Happened()-int64(arg))
		return true
	case fromStart:
		r.Values[f.Slot] = int64(arg) - m.first
		return int64(arg) >= m.opened
	case fromFlag:
		r.Values[f.Slot] = 0
		return true
	}
	switch from.typ {
	case format.FieldTask:
		r.Tasks[f.Slot] = m.tasks.of(format.TaskID(arg), e.CPU)
	case format.FieldTime:
		r.Values[f.Slot] = int64(arg) - m.first
	case format.FieldState:
		r.Values[f.Slot] = int64(m.states[arg&uint64(len(m.states)-1)])
	case format.FieldCause, format.FieldKind:
		r.Values[f.Slot] = int64(wordIndex(arg, len(f.Words)))
	case format.FieldBytes:
		r.Text = m.texts.Clean(e.Data)
	case format.FieldStack:
		r.Values[f.Slot] = m.stacks.ID(format.StackID(arg))
		return r.Values[f.Slot] != 0
	default:
		r.Values[f.Slot] = int64(arg)
	}
	return true
}
