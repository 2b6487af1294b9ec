package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Values of a typed event stand in its bytes field, one after the other in the order of the type's fields, without tags:
// unsigned numbers, booleans and ids as uvarint, signed numbers, durations and enumerations as zigzag varint, times as the
// zigzag distance back from [Event.TimeBase], floating-point numbers as 8 bytes, little-endian, bytes and strings after
// their length, lists after the number of their elements.

const (
	// MaxTypeFields is how many fields an event type may have.
	MaxTypeFields = 64
	// maxTypeNameBytes bounds the names of fields, and maxEnumNames their named numbers.
	maxTypeNameBytes = 64
	maxEnumNames     = 4096
	// maxSectionTypes bounds the event types of a section.
	maxSectionTypes = 1 << 16
)

// Value is the value of one field of a typed event.
type Value struct {
	Field *TypeField
	// Number of numbers, booleans and ids; of signed ones uint64(int64), of times CLOCK_MONOTONIC ns, of floating-point numbers
	// their bits; of a list how many elements it has.
	Number uint64
	Bytes  []byte // of bytes and strings; of a list its elements; belongs to the event
}

// Is reports whether a field has values of a type, single or in a list.
func (f *TypeField) Is(t ValueType) bool { return f.Type == uint32(t) }

// Int is the value of a signed number, a duration, a time or an enumeration.
func (v *Value) Int() int64 { return int64(v.Number) }

// Float is the value of a floating-point number.
func (v *Value) Float() float64 { return math.Float64frombits(v.Number) }

// TimeBase is what times among the values of a typed event are stored as distances from: its start, or, of an event without
// one, its own time. A filter may move the end of a span, never its start.
func (e *Event) TimeBase() int64 {
	if e.Flags&TypedHasStart != 0 {
		return int64(e.Args[TypedStart])
	}
	return e.Time
}

// Problem says why readers do not use an event type; "": they do.
func (t *EventType) Problem() string {
	switch {
	case len(t.Fields) > MaxTypeFields:
		return fmt.Sprintf("event type %d has %d fields, more than %d", t.Id, len(t.Fields), MaxTypeFields)
	case t.Shape > uint32(TypeShape_SHAPE_END):
		return fmt.Sprintf("event type %d has an unknown shape, %d", t.Id, t.Shape)
	}
	names := make(map[string]bool, len(t.Fields))
	for _, f := range t.Fields {
		if problem := f.problem(); problem != "" {
			return fmt.Sprintf("field %q of event type %d %s", f.Name, t.Id, problem)
		}
		if names[string(f.Name)] {
			return fmt.Sprintf("event type %d has two fields %q", t.Id, f.Name)
		}
		names[string(f.Name)] = true
	}
	return ""
}

func (f *TypeField) problem() string {
	switch {
	case f.Type == uint32(ValueType_VALUE_NONE) || f.Type > uint32(ValueType_VALUE_STACK):
		return fmt.Sprintf("has an unknown type, %d", f.Type)
	case len(f.Name) == 0 || len(f.Name) > maxTypeNameBytes:
		return fmt.Sprintf("has a name of %d bytes, not 1 to %d", len(f.Name), maxTypeNameBytes)
	case len(f.Names) > maxEnumNames:
		return fmt.Sprintf("names %d numbers, more than %d", len(f.Names), maxEnumNames)
	}
	for _, c := range f.Name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return "has a name of other characters than letters, digits, _, - and ."
		}
	}
	return ""
}

// EnumName is what a field calls a number; nil: nothing.
func (f *TypeField) EnumName(n int64) []byte {
	for _, e := range f.Names {
		if e.Number == n {
			return e.Name
		}
	}
	return nil
}

// AppendValues appends the values of a typed event to into, one for each field. ok is false if its bytes are not those of the
// type: then the fields before are there.
func (t *EventType) AppendValues(into []Value, e *Event) (values []Value, ok bool) {
	b, i, base := e.Data, 0, e.TimeBase()
	for _, f := range t.Fields {
		var v Value
		if v, i = readField(f, b, i, base); i > len(b) {
			return into, false
		}
		into = append(into, v)
	}
	return into, i == len(b)
}

// readField reads a value at b[i]. The index that it returns is beyond the end of b if there is none.
func readField(f *TypeField, b []byte, i int, base int64) (Value, int) {
	if !f.List {
		return readValue(f, b, i, base)
	}
	if i >= len(b) {
		return Value{}, len(b) + 1
	}
	n, i := uvarint(b, i)
	from := i
	// Each element takes at least one byte.
	if i > len(b) || n > uint64(len(b)-i) {
		return Value{}, len(b) + 1
	}
	for range n {
		if _, i = readValue(f, b, i, base); i > len(b) {
			return Value{}, i
		}
	}
	return Value{Field: f, Number: n, Bytes: b[from:i:i]}, i
}

func readValue(f *TypeField, b []byte, i int, base int64) (Value, int) {
	if i >= len(b) {
		return Value{}, len(b) + 1
	}
	v := Value{Field: f}
	if f.Is(ValueType_VALUE_FLOAT) {
		if len(b)-i < 8 {
			return v, len(b) + 1
		}
		v.Number = binary.LittleEndian.Uint64(b[i:])
		return v, i + 8
	}
	v.Number, i = uvarint(b, i)
	switch ValueType(f.Type) {
	case ValueType_VALUE_INT, ValueType_VALUE_DURATION, ValueType_VALUE_ENUM:
		v.Number = uint64(unzigzag(v.Number))
	case ValueType_VALUE_TIME:
		v.Number = uint64(base - unzigzag(v.Number))
	case ValueType_VALUE_BYTES, ValueType_VALUE_STRING:
		if i > len(b) || v.Number > uint64(len(b)-i) {
			return v, len(b) + 1
		}
		n := int(v.Number)
		v.Number, v.Bytes = 0, b[i:i+n:i+n]
		i += n
	}
	return v, i
}

// AppendElements appends the elements of a list to into. base is that of the event.
func (v *Value) AppendElements(into []Value, base int64) []Value {
	for i := 0; i < len(v.Bytes); {
		var one Value
		if one, i = readValue(v.Field, v.Bytes, i, base); i > len(v.Bytes) {
			break
		}
		into = append(into, one)
	}
	return into
}

// EachID calls visit with each task, stack and text that the values of an event name, also those in lists; 0 is none.
func EachID(values []Value, base int64, visit func(t ValueType, id uint32)) {
	for i := range values {
		v := &values[i]
		if !v.Field.Is(ValueType_VALUE_TASK) && !v.Field.Is(ValueType_VALUE_STACK) && !v.Field.Is(ValueType_VALUE_TEXT) {
			continue
		}
		if !v.Field.List {
			visit(ValueType(v.Field.Type), uint32(min(v.Number, math.MaxUint32)))
			continue
		}
		for j := 0; j < len(v.Bytes); {
			var one Value
			one, j = readValue(v.Field, v.Bytes, j, base)
			visit(ValueType(v.Field.Type), uint32(min(one.Number, math.MaxUint32)))
		}
	}
}

// errValues is about values that do not fit their type.
var errValues = errors.New("the values are not those of the type's fields")

// AppendTyped appends values to b as they stand in an event of a base. A list's value has its elements in Bytes, as
// [AppendElement] writes them, and their number in Number.
func (t *EventType) AppendTyped(b []byte, values []Value, base int64) ([]byte, error) {
	if len(values) != len(t.Fields) {
		return b, errValues
	}
	for i, f := range t.Fields {
		v := &values[i]
		if f.List {
			b = append(binary.AppendUvarint(b, v.Number), v.Bytes...)
		} else {
			b = AppendElement(b, f, v, base)
		}
	}
	return b, nil
}

// AppendElement appends one value of a field to b.
func AppendElement(b []byte, f *TypeField, v *Value, base int64) []byte {
	switch ValueType(f.Type) {
	case ValueType_VALUE_FLOAT:
		return binary.LittleEndian.AppendUint64(b, v.Number)
	case ValueType_VALUE_INT, ValueType_VALUE_DURATION, ValueType_VALUE_ENUM:
		return binary.AppendUvarint(b, zigzag(v.Int()))
	case ValueType_VALUE_TIME:
		return binary.AppendUvarint(b, zigzag(base-v.Int()))
	case ValueType_VALUE_BYTES, ValueType_VALUE_STRING:
		return append(binary.AppendUvarint(b, uint64(len(v.Bytes))), v.Bytes...)
	}
	return binary.AppendUvarint(b, v.Number)
}
