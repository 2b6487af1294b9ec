package records

import (
	"cmp"

	"wprof/format"
)

// plainKind is the kind of records that have what the events of a kind have.
func plainKind(k *format.KindInfo) KindInfo {
	out := KindInfo{Name: cmp.Or(k.JSON, k.Name), Source: k.Kind, Ours: true, Doc: k.Doc}
	for _, p := range plainFields(k) {
		out.Fields = append(out.Fields, p.Field)
	}
	return out
}

// plainField is a field of such a record, and what it is made of.
type plainField struct {
	Field
	from plainSource
	typ  format.FieldType
	arg  int
	opt  format.Flags
}

// plainSource says which part of an event a field is made of.
type plainSource uint8

const (
	fromArg plainSource = iota
	fromTask
	fromLength // from the start of a span to its end
	fromStart
	fromFlag
)

func plainFields(k *format.KindInfo) []plainField {
	var fields []plainField
	if k.Task != "" {
		fields = append(fields, plainField{Field: Field{Name: "task", Type: TypeTask, Doc: k.Task}, from: fromTask})
	}
	for i, f := range k.Fields {
		if f.Name == k.Start {
			fields = append(fields,
				plainField{Field: Field{Name: "dur", Type: TypeDuration, Doc: "how long it took"}, from: fromLength, arg: i},
				plainField{Field: Field{Name: "start_ts", Type: TypeInstant, Opt: true, Doc: f.Doc + "; absent when that was before the window"}, from: fromStart, arg: i})
			continue
		}
		fields = append(fields, plainField{Field: plainArg(&f), typ: f.Type, arg: i, opt: f.Opt})
	}
	for _, f := range k.Flags {
		fields = append(fields, plainField{Field: Field{Name: f.Name, Type: TypeWord, Words: []string{"yes"}, Opt: true, Doc: "yes if " + f.Doc}, from: fromFlag, opt: f.Bit})
	}
	return fields
}

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

// plain makes the record of an event that has no row of its own.
func (m *Maker) plain(r *Record, e *format.Event, fields []plainField) {
	for i := range fields {
		f := &fields[i]
		if e.Flags&f.opt != f.opt {
			continue
		}
		if m.plainValue(r, e, f) {
			r.Has |= 1 << i
		}
	}
}

// plainValue sets a field; false: it is absent.
func (m *Maker) plainValue(r *Record, e *format.Event, f *plainField) bool {
	arg := e.Args[f.arg]
	switch f.from {
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
	switch f.typ {
	case format.FieldTask:
		r.Tasks[f.Slot] = m.tasks.of(format.TaskID(arg), e.CPU)
	case format.FieldTime:
		r.Values[f.Slot] = int64(arg) - m.first
	case format.FieldState:
		r.Values[f.Slot] = int64(m.states[arg&uint64(len(m.states)-1)])
	case format.FieldCause, format.FieldKind:
		r.Values[f.Slot] = int64(known(arg, len(f.Words)))
	case format.FieldBytes:
		r.Text = m.texts.clean(e.Data)
	case format.FieldStack:
		r.Values[f.Slot] = m.stacks.ID(format.StackID(arg))
		return r.Values[f.Slot] != 0
	default:
		r.Values[f.Slot] = int64(arg)
	}
	return true
}
