package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"unsafe"

	"google.golang.org/protobuf/proto"
)

// Values of a typed event stand in its bytes field, one after the other in the order of the type's fields, without tags:
// unsigned numbers, booleans and ids as uvarint, signed numbers, durations and enumerations as zigzag varint, times as the
// zigzag distance back from [Event.TimeBase], floating-point numbers as 8 bytes, little-endian, bytes and strings after
// their length, lists after the number of their elements.

const (
	maxTypeFields = 64
	maxFieldName  = 64  // bytes
	maxTypeText   = 256 // bytes of a type's name, group, track or colour, of a unit, and of the name of a number
	maxEnumNames  = 1024
	maxTypeBytes  = 256 << 10 // of the definition of a type
	maxTextBytes  = 64 << 10  // of a Text
	maxWaitBytes  = 4 << 10   // of a Wait
	maxTypedBytes = 64 << 10  // of the values of an event

	// MaxSectionTypes bounds the event types of a section.
	MaxSectionTypes = 1 << 16
	// MaxValueText and MaxEventText bound what is shown of a text and of all texts of an event, in bytes: a list of ids may name a
	// long text tens of thousands of times.
	MaxValueText = 4096
	MaxEventText = maxTypeFields * MaxValueText
)

// Value is the value of one field of a typed event.
type Value struct {
	Field *TypeField
	// Number holds numbers, booleans and ids: signed values as uint64(int64), times as CLOCK_MONOTONIC ns, floats as their
	// bits; for a list, the number of elements.
	Number uint64
	Bytes  []byte // of bytes and strings; of a list its elements; belongs to the event
}

// Is reports whether a field has values of a type, single or in a list.
func (f *TypeField) Is(t ValueType) bool { return f.Type == uint32(t) }

// Int is the value of a signed number, a duration, a time or an enumeration.
func (v *Value) Int() int64 { return int64(v.Number) }

// IsUnknown reports whether the value stands for "unknown" by its field's hint.
func (v *Value) IsUnknown() bool {
	if v.Field.Hint != uint32(ValueHint_HINT_OR_UNKNOWN) {
		return false
	}
	return v.Number == 0 && !v.Field.Is(ValueType_VALUE_INT) || v.Int() == -1 && v.Field.Is(ValueType_VALUE_INT)
}

// Float is the value of a floating-point number.
func (v *Value) Float() float64 { return math.Float64frombits(v.Number) }

// TimeBase returns the base of the time values of a typed event: its start if it has one, else its time. Filters may change
// the end of a span but not its start.
func (e *Event) TimeBase() int64 {
	if e.Flags&TypedHasStart != 0 {
		return int64(e.Args[TypedStart])
	}
	return e.Time
}

// Problem returns why the type cannot be used; "": it can.
func (t *EventType) Problem() string {
	switch {
	case len(t.Name) == 0:
		return fmt.Sprintf("event type %d has no name", t.Id)
	case max(len(t.Name), len(t.Group), len(t.Track), len(t.Colour), len(t.Table)) > maxTypeText:
		return fmt.Sprintf("event type %d has a text of more than %d bytes", t.Id, maxTypeText)
	case proto.Size(t) > maxTypeBytes:
		return fmt.Sprintf("the definition of event type %d has more than %d bytes", t.Id, maxTypeBytes)
	case len(t.Fields) > maxTypeFields:
		return fmt.Sprintf("event type %d has %d fields, more than %d", t.Id, len(t.Fields), maxTypeFields)
	case t.Shape > uint32(TypeShape_SHAPE_END):
		return fmt.Sprintf("event type %d has an unknown shape, %d", t.Id, t.Shape)
	case t.Ends != 0 && t.Shape != uint32(TypeShape_SHAPE_END):
		return fmt.Sprintf("event type %d ends another one, and has not the shape of an end", t.Id)
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

// IsInterrupt reports whether the type's spans are those of interrupts. Value HINT_OWN excepts single ones.
func (t *EventType) IsInterrupt() bool {
	return t.Shape == uint32(TypeShape_SHAPE_SPAN) && (t.Interrupts == uint32(TypeInterrupts_INTERRUPTS_HARD) || t.Interrupts == uint32(TypeInterrupts_INTERRUPTS_SOFT))
}

// MayBegin reports whether another type may end the spans of this one: it is the begin of a span, or its definition is lost.
func (t *EventType) MayBegin() bool {
	return t.IsLost() || t.Shape == uint32(TypeShape_SHAPE_BEGIN)
}

// EndProblem returns why a type with the shape of an end cannot end spans; "": it can, or it has another shape. mayBegin is
// [EventType.MayBegin] of the type that it ends.
func (t *EventType) EndProblem(mayBegin bool) string {
	switch {
	case t.Shape != uint32(TypeShape_SHAPE_END):
		return ""
	case t.Ends == 0:
		return fmt.Sprintf("event type %d has the shape of an end, but ends no other one", t.Id)
	case !mayBegin:
		return fmt.Sprintf("event type %d ends event type %d, which is not the begin of a span", t.Id, t.Ends)
	}
	return ""
}

// Problem returns why the text cannot be used; "": it can.
func (t *Text) Problem() string {
	if len(t.Text) > maxTextBytes {
		return fmt.Sprintf("text %d has more than %d bytes", t.Id, maxTextBytes)
	}
	return ""
}

// Memory is what the decoded definition takes in bytes, somewhat rounded up.
func (t *EventType) Memory() int {
	const perType, perField, perName = int(unsafe.Sizeof(EventType{})), int(unsafe.Sizeof(TypeField{})), int(unsafe.Sizeof(EnumName{}))
	const perPart = 2*int(unsafe.Sizeof(t)) + 16 // of a list that grows by doubling, and of rounding up what it points to
	n := perType + len(t.Name) + len(t.Group) + len(t.Track) + len(t.Colour) + len(t.Table) + len(t.unknownFields)
	for _, f := range t.Fields {
		n += perField + perPart + len(f.Name) + len(f.Unit) + len(f.unknownFields)
		for _, e := range f.Names {
			n += perName + perPart + len(e.Name) + len(e.unknownFields)
		}
	}
	return n
}

func (f *TypeField) problem() string {
	switch {
	case f.Type == uint32(ValueType_VALUE_NONE) || f.Type > uint32(ValueType_VALUE_STACK):
		return fmt.Sprintf("has an unknown type, %d", f.Type)
	case len(f.Name) == 0 || len(f.Name) > maxFieldName:
		return fmt.Sprintf("has a name of %d bytes, not 1 to %d", len(f.Name), maxFieldName)
	case len(f.Unit) > maxTypeText:
		return fmt.Sprintf("has a unit of more than %d bytes", maxTypeText)
	case len(f.Names) > maxEnumNames:
		return fmt.Sprintf("names %d numbers, more than %d", len(f.Names), maxEnumNames)
	case f.List && f.Hint > uint32(ValueHint_HINT_HEX) && f.Hint <= uint32(ValueHint_HINT_OR_UNKNOWN):
		return "is a list, which cannot be a name, a key, a counter or a track"
	case (f.Hint == uint32(ValueHint_HINT_COUNTER) || f.Hint == uint32(ValueHint_HINT_COUNTER_AT_START)) && !f.isNumber():
		return "is a counter and no number"
	case f.Hint == uint32(ValueHint_HINT_OR_UNKNOWN) && !f.Is(ValueType_VALUE_UINT) && !f.Is(ValueType_VALUE_INT) && !f.Is(ValueType_VALUE_DURATION):
		return "may be unknown, and is neither an integer nor a duration"
	case f.Hint == uint32(ValueHint_HINT_OWN) && (f.List || !f.Is(ValueType_VALUE_BOOL)):
		return "says whether an interrupt is the thread's own, and is no boolean"
	}
	for _, e := range f.Names {
		if len(e.Name) > maxTypeText {
			return fmt.Sprintf("has a name of a number of more than %d bytes", maxTypeText)
		}
	}
	for _, c := range f.Name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return "has a name of other characters than letters, digits, _, - and ."
		}
	}
	return ""
}

func (f *TypeField) isNumber() bool {
	switch ValueType(f.Type) {
	case ValueType_VALUE_UINT, ValueType_VALUE_INT, ValueType_VALUE_BOOL, ValueType_VALUE_FLOAT, ValueType_VALUE_DURATION, ValueType_VALUE_ENUM:
		return true
	}
	return false
}

// EnumName returns the name of number n; nil: it has none.
func (f *TypeField) EnumName(n int64) []byte {
	for _, e := range f.Names {
		if e.Number == n {
			return e.Name
		}
	}
	return nil
}

// AppendValues appends the values of event e, one for each field. ok is false if its bytes do not match the type; the values
// before the mismatch are still appended.
func (t *EventType) AppendValues(into []Value, e *Event) (values []Value, ok bool) {
	b, i, base := e.Data, 0, e.TimeBase()
	if len(b) > maxTypedBytes {
		return into, false
	}
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
	case ValueType_VALUE_INT, ValueType_VALUE_ENUM:
		v.Number = uint64(unzigzag(v.Number))
	case ValueType_VALUE_DURATION:
		v.Number = uint64(unzigzag(v.Number))
		if !isTime(v.Int()) {
			return v, len(b) + 1
		}
	case ValueType_VALUE_TIME:
		v.Number = uint64(base - unzigzag(v.Number))
		if !isTime(v.Int()) {
			return v, len(b) + 1
		}
	case ValueType_VALUE_TEXT, ValueType_VALUE_TASK, ValueType_VALUE_STACK:
		if v.Number > math.MaxUint32 {
			return v, len(b) + 1
		}
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

// Elements yields the elements of a list, or v itself. base is that of the event.
func (v *Value) Elements(base int64) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if !v.Field.List {
			yield(*v)
			return
		}
		for i := 0; i < len(v.Bytes); {
			var one Value
			if one, i = readValue(v.Field, v.Bytes, i, base); i > len(v.Bytes) || !yield(one) {
				return
			}
		}
	}
}

// ID is the id that a value names.
func (v *Value) ID() uint32 { return uint32(v.Number) }

// TypeID is the id of a typed event's type.
func (e *Event) TypeID() uint32 { return uint32(e.Args[TypedType]) }

// Happened is when an event happened: a late one stands later, CLOCK_MONOTONIC ns.
func (e *Event) Happened() int64 {
	if e.Flags&FlagLate != 0 {
		return e.Own
	}
	return e.Time
}

// EachID calls visit with each task, stack and text that the values of an event name, also those in lists; 0 is none.
func EachID(values []Value, base int64, visit func(t ValueType, id uint32)) {
	for i := range values {
		f := values[i].Field
		if !f.Is(ValueType_VALUE_TASK) && !f.Is(ValueType_VALUE_STACK) && !f.Is(ValueType_VALUE_TEXT) {
			continue
		}
		for one := range values[i].Elements(base) {
			visit(ValueType(f.Type), one.ID())
		}
	}
}

// errValues: the number of values differs from the number of fields.
var errValues = errors.New("the values do not match the fields of the type")

// AppendTyped appends the encoded values. base is the event's TimeBase. A list has its encoded elements in Bytes and their
// count in Number.
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
