package columns

import (
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/records"
)

// Event types have files of their own, so that each value is a column. Events of types beyond maxTypeFiles, and of lost ones,
// are in the file of the kind, with their values as JSON; so have types that share a table, which is one file.
const (
	maxTypeFiles = 32
	maxTypeName  = 48 // bytes of a type's name in the name of its file
)

// IsOfType reports whether a name of a file is that of an event type.
func IsOfType(name string) bool {
	if !strings.HasSuffix(name, Extension) {
		return false
	}
	for _, k := range records.Kinds() {
		if k.HasTypes() && strings.HasPrefix(name, k.Name+"_") {
			return true
		}
	}
	return false
}

// typeFiles are the files of event types. A type of another section with the same name and fields goes on in the same file.
type typeFiles struct {
	bySignature map[string]*file[event]
	byID        byid.Table[typeFile] // of a section's types
	section     int
	names       map[string]bool
}

// typeFile is the file of a type that was looked up.
type typeFile struct {
	known bool
	of    *file[event] // nil: in the file of the kind
}

// of returns the file of a type, and creates it if there is none; nil: its events are in the file of the kind.
func (f *typeFiles) of(w *writer, t *format.EventType) (*file[event], error) {
	if t.IsLost() {
		return nil, nil
	}
	if n := w.r.Sections(); n != f.section {
		f.section = n
		f.byID.Clear()
	}
	if known := f.byID.Get(t.Id); known.known {
		return known.of, nil
	}
	if f.bySignature == nil {
		f.bySignature, f.names = make(map[string]*file[event]), make(map[string]bool)
	}
	signature := signatureOf(t)
	found := f.bySignature[signature]
	if found == nil && len(f.bySignature) < maxTypeFiles {
		var err error
		if found, err = create(w, f.name(t), otherLimits(), tableFields(t, w.options)); err != nil {
			return nil, err
		}
		f.bySignature[signature] = found
	}
	f.byID.Put(t.Id, typeFile{true, found})
	return found, nil
}

// signatureOf returns the same string for types whose events have the same columns.
func signatureOf(t *format.EventType) string {
	if len(t.Table) > 0 {
		return fmt.Sprintf("table %q", t.Table)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q %q", records.KindOf(t), t.Group, nameOf(t))
	for _, f := range t.Fields {
		fmt.Fprintf(&b, " %s %d %t", f.Name, f.Type, f.List)
	}
	return b.String()
}

// nameOf returns what a type's file is named after: one of a probe has the events of all functions to which that is attached.
func nameOf(t *format.EventType) []byte {
	switch {
	case len(t.Table) > 0:
		return t.Table
	case records.KindOf(t) != records.Typed:
		return t.Probe
	}
	return t.Name
}

// name returns a unique file name for a type.
func (f *typeFiles) name(t *format.EventType) string {
	of, kind := nameOf(t), kindOf(t)
	name := kind.Name + "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, string(of[:min(len(of), maxTypeName)]))
	unique := name
	for n := 2; f.names[strings.ToLower(unique)]; n++ {
		unique = fmt.Sprintf("%s_%d", name, n)
	}
	f.names[strings.ToLower(unique)] = true
	return unique
}

// kindOf returns the kind of a type's events.
func kindOf(t *format.EventType) records.KindInfo { return records.Kinds()[records.KindOf(t)-1] }

// tableFields are the columns of a type's file.
func tableFields(t *format.EventType, o Options) []field[event] {
	if len(t.Table) == 0 {
		return typeFields(t, o)
	}
	kind := kindOf(t)
	return eventFields(&kind, o)
}

// typeFields are the columns of the kind, with the values in a group of their own instead of as JSON.
func typeFields(t *format.EventType, o Options) []field[event] {
	kind := kindOf(t)
	last := len(kind.Fields) - 1 // args
	kind.Fields = kind.Fields[:last:last]
	fields := eventFields(&kind, o)
	var args []field[event]
	for i, f := range records.ArgFields(t) {
		args = append(args, argField(i, f))
	}
	if len(args) > 0 {
		fields = append(fields, group("args", args...))
	}
	return fields
}

// argField is the column of a value; it is NULL where the event's values cannot be read.
func argField(index int, f *format.TypeField) field[event] {
	name := string(f.Name)
	get := func(e *event) *records.Arg {
		if index < len(e.Args) {
			return &e.Args[index]
		}
		return nil
	}
	if f.List {
		return optionalText(name, func(e *event) (string, bool) {
			a := get(e)
			if a == nil || a.Unknown {
				return "", false
			}
			return string(records.AppendArg(nil, a, appendNanoseconds)), true
		})
	}
	isNull := func(a *records.Arg) bool {
		return a == nil || a.Unknown || a.Type == format.ValueType_VALUE_STACK && a.Number == 0
	}
	integer := func(e *event) (int64, bool) {
		if a := get(e); !isNull(a) {
			return int64(a.Number), true
		}
		return 0, false
	}
	switch format.ValueType(f.Type) {
	case format.ValueType_VALUE_UINT:
		return optional(name, parquet.Uint(64), long, integer)
	case format.ValueType_VALUE_BOOL:
		return optional(name, parquet.Leaf(parquet.BooleanType), boolean, integer)
	case format.ValueType_VALUE_FLOAT:
		return optional(name, parquet.Leaf(parquet.DoubleType), long, integer)
	case format.ValueType_VALUE_TASK:
		return taskGroup(name, true, false, func(e *event) *records.Task {
			if a := get(e); !isNull(a) {
				return a.Task
			}
			return nil
		})
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING, format.ValueType_VALUE_TEXT, format.ValueType_VALUE_ENUM:
		return optionalText(name, func(e *event) (string, bool) {
			if a := get(e); !isNull(a) {
				return a.Word(), true
			}
			return "", false
		})
	}
	return optionalInteger(name, integer)
}
