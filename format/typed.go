package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"unsafe"

	"google.golang.org/protobuf/proto"
)

// Values of a typed event stand in its bytes field, one after the other in the order of the type's fields, without tags:
// unsigned numbers, booleans and ids as uvarint, signed numbers, durations and enumerations as zigzag varint, times as the
// zigzag distance back from [Event.TimeBase], floating-point numbers as 8 bytes, little-endian, bytes and strings after
// their length, lists after the number of their elements.

const (
	maxTypeFields = 64
	maxFieldName  = 64      // bytes
	maxTypeText   = 256     // bytes of a type's texts but its definition, of a unit, and of the name of a number
	maxProbeText  = 4 << 10 // bytes of the definition of a probe
	maxEnumNames  = 1024
	maxTypeBytes  = 256 << 10 // of the definition of a type
	maxTextBytes  = 64 << 10  // of a Text
	maxWaitBytes  = 4 << 10   // of a Wait
	maxTypedBytes = 64 << 10  // of the values of an event

	maxHint = uint32(ValueHint_HINT_COUNTS)

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
	Unread bool   // it could not be read, see [ValueHint_HINT_UNREAD]
}

// Is reports whether a field has values of a type, single or in a list.
func (f *TypeField) Is(t ValueType) bool { return f.Type == uint32(t) }

// Int is the value of a signed number, a duration, a time or an enumeration.
func (v *Value) Int() int64 { return int64(v.Number) }

// IsCounter reports whether the field's values are drawn as a counter over time.
func (f *TypeField) IsCounter() bool {
	return f.Hint == uint32(ValueHint_HINT_COUNTER) || f.Hint == uint32(ValueHint_HINT_PROCESS_COUNTER)
}

// IsShown reports whether tools show the values of the field as they are: not where they only say which others have none, and not counts.
func (f *TypeField) IsShown() bool {
	return !f.saysUnread() && f.Hint != uint32(ValueHint_HINT_COUNTS)
}

// saysUnread reports whether the field says which others have no value.
func (f *TypeField) saysUnread() bool { return f.Hint == uint32(ValueHint_HINT_UNREAD) }

// IsUnknown reports whether there is no value: it could not be read, or stands for "unknown" by its field's hint.
func (v *Value) IsUnknown() bool {
	if v.Unread {
		return true
	}
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
	case max(len(t.Name), len(t.Group), len(t.Track), len(t.Colour), len(t.Table), len(t.Label), len(t.Probe)) > maxTypeText:
		return fmt.Sprintf("event type %d has a text of more than %d bytes", t.Id, maxTypeText)
	case len(t.Definition) > maxProbeText:
		return fmt.Sprintf("event type %d is that of a probe whose definition has more than %d bytes", t.Id, maxProbeText)
	case proto.Size(t) > maxTypeBytes:
		return fmt.Sprintf("the definition of event type %d has more than %d bytes", t.Id, maxTypeBytes)
	case len(t.Fields) > maxTypeFields:
		return fmt.Sprintf("event type %d has %d fields, more than %d", t.Id, len(t.Fields), maxTypeFields)
	case t.Shape > uint32(TypeShape_SHAPE_END):
		return fmt.Sprintf("event type %d has an unknown shape, %d", t.Id, t.Shape)
	case t.Ends != 0 && t.Shape != uint32(TypeShape_SHAPE_END):
		return fmt.Sprintf("event type %d ends another one, and has not the shape of an end", t.Id)
	case t.Entry && t.Shape != uint32(TypeShape_SHAPE_INSTANT):
		return fmt.Sprintf("the events of type %d are entries of spans, and no instants", t.Id)
	}
	names := make(map[string]bool, len(t.Fields))
	for i, f := range t.Fields {
		if problem := f.problem(); problem != "" {
			return fmt.Sprintf("field %q of event type %d %s", f.Name, t.Id, problem)
		}
		if f.saysUnread() && i+1 < len(t.Fields) {
			return fmt.Sprintf("field %q of event type %d says which fields have no value, and is not the last", f.Name, t.Id)
		}
		if f.Hint == uint32(ValueHint_HINT_EVENTS) && (t.Shape != uint32(TypeShape_SHAPE_INSTANT) || t.Entry) {
			return fmt.Sprintf("field %q says for how many events one of type %d stands, which is no instant", f.Name, t.Id)
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

// GroupPMU is the group of the types whose events are samples of performance counters, and FieldPeriod is their field with the number of
// events that a sample stands for.
const (
	GroupPMU    = "pmu"
	FieldPeriod = "period"
)

// Sampled returns the field with the number of events for which one of the type stands; false: its events are no samples of performance
// counters.
func (t *EventType) Sampled() (period int, ok bool) {
	if t.IsLost() || string(t.Group) != GroupPMU || t.Shape != uint32(TypeShape_SHAPE_INSTANT) || len(t.Probe) > 0 {
		return -1, false
	}
	for i, f := range t.Fields {
		if string(f.Name) == FieldPeriod && f.Is(ValueType_VALUE_UINT) && !f.List {
			return i, true
		}
	}
	return -1, false
}

// CountersField returns the field with what the session's counters have counted, see [ReadCounts]; -1: there is none.
func (t *EventType) CountersField() int {
	for i, f := range slices.Backward(t.Fields) {
		if f.Hint == uint32(ValueHint_HINT_COUNTS) {
			return i
		}
	}
	return -1
}

// Counts returns the fields of a type whose events each stand for many that were counted, see [ValueHint_HINT_EVENTS]; false: it is none.
func (t *EventType) Counts() (c CountFields, ok bool) {
	c = CountFields{Events: -1, Sum: -1, Buckets: -1, Interval: -1}
	for i, f := range t.Fields {
		if f.Hint == uint32(ValueHint_HINT_EVENTS) {
			c.Events = i
		}
	}
	for i := c.Events + 1; i < len(t.Fields) && c.Events >= 0; i++ {
		switch f := t.Fields[i]; {
		case f.Hint == uint32(ValueHint_HINT_COUNTER) && c.Sum < 0:
			c.Sum = i
		case f.Hint == uint32(ValueHint_HINT_BUCKETS) && c.Buckets < 0:
			c.Buckets = i
		case f.Is(ValueType_VALUE_DURATION) && !f.List && f.Hint == uint32(ValueHint_HINT_NONE) && c.Interval < 0:
			c.Interval = i
		}
	}
	return c, c.Events >= 0
}

// CountFields are fields of a type whose events stand for many that were counted. Those before Events are the key by which they were.
type CountFields struct {
	Events   int // how many there were
	Sum      int // of their amounts; -1: none
	Buckets  int // how many had an amount below 1, 2, 4, and so on; -1: none
	Interval int // the time in which they were counted, which ends with the event; -1: not known
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
	n += len(t.Label) + len(t.Probe) + len(t.Definition)
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
	case f.Hint == uint32(ValueHint_HINT_BUCKETS) && (!f.List || !f.Is(ValueType_VALUE_UINT)):
		return "has the counts of a histogram, and is no list of unsigned numbers"
	case f.List && f.Hint > uint32(ValueHint_HINT_HEX) && f.Hint <= maxHint && f.Hint != uint32(ValueHint_HINT_BUCKETS):
		return "is a list, which cannot have this hint"
	case (f.IsCounter() || f.Hint == uint32(ValueHint_HINT_COUNTER_AT_START)) && !f.isNumber():
		return "is a counter and no number"
	case f.Hint == uint32(ValueHint_HINT_EVENTS) && !f.Is(ValueType_VALUE_UINT):
		return "is a number of events, and no unsigned number"
	case f.Hint == uint32(ValueHint_HINT_HISTOGRAM) && !f.isNumber():
		return "is for a histogram, and is no number"
	case f.Hint == uint32(ValueHint_HINT_OR_UNKNOWN) && !f.Is(ValueType_VALUE_UINT) && !f.Is(ValueType_VALUE_INT) && !f.Is(ValueType_VALUE_DURATION):
		return "may be unknown, and is neither an integer nor a duration"
	case f.Hint == uint32(ValueHint_HINT_OWN) && (f.List || !f.Is(ValueType_VALUE_BOOL)):
		return "says whether an interrupt is the thread's own, and is no boolean"
	case f.Hint == uint32(ValueHint_HINT_COUNTS) && !f.Is(ValueType_VALUE_BYTES):
		return "has what counters counted, and is no bytes"
	case f.saysUnread() && !f.Is(ValueType_VALUE_UINT):
		return "says which fields have no value, and is no unsigned number"
	case f.Hint == uint32(ValueHint_HINT_BEGAN_BY) && !f.Is(ValueType_VALUE_TASK):
		return "says in which thread a span began, and is no thread"
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
	first := len(into)
	for _, f := range t.Fields {
		var v Value
		if v, i = readField(f, b, i, base); i > len(b) {
			return into, false
		}
		into = append(into, v)
	}
	markUnread(into[first:])
	return into, i == len(b)
}

// markUnread marks the values that the last one says could not be read.
func markUnread(values []Value) {
	last := len(values) - 1
	if last < 0 || !values[last].Field.saysUnread() {
		return
	}
	for i := range values[:last] {
		values[i].Unread = values[last].Number>>i&1 != 0
	}
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

// Numbers yields the numbers of a list of unsigned ones.
func (v *Value) Numbers() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for one := range v.Elements(0) {
			if !yield(one.Number) {
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
