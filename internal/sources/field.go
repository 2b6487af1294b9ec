package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// Field is a field whose value is a word of the record.
func Field(name string, kind format.ValueType) *format.TypeField {
	f := &format.TypeField{Name: []byte(name), Type: uint32(kind)}
	if kind == format.ValueType_VALUE_DURATION {
		f.Unit = []byte("ns")
	}
	return f
}

// enum is a field of a number with names.
func enum(name string, names ...*format.EnumName) *format.TypeField {
	f := Field(name, format.ValueType_VALUE_ENUM)
	f.Names = names
	return f
}

// name makes a field the name of the span or instant.
func name(f *format.TypeField) *format.TypeField {
	f.Hint = uint32(format.ValueHint_HINT_NAME)
	return f
}

// hex shows a number in hexadecimal.
func hex(f *format.TypeField) *format.TypeField {
	f.Hint = uint32(format.ValueHint_HINT_HEX)
	return f
}

// orUnknown lets a number be unknown: -1 if it is signed, else 0.
func orUnknown(f *format.TypeField) *format.TypeField {
	f.Hint = uint32(format.ValueHint_HINT_OR_UNKNOWN)
	return f
}

// numbered names consecutive numbers.
func numbered(first int64, names ...string) (all []*format.EnumName) {
	for i, name := range names {
		all = append(all, &format.EnumName{Number: first + int64(i), Name: []byte(name)})
	}
	return all
}

// counter draws a number over time.
func counter(f *format.TypeField) *format.TypeField {
	f.Hint = uint32(format.ValueHint_HINT_COUNTER)
	return f
}

// counterAtStart is what the counter in the next field was when a span began.
func counterAtStart(f *format.TypeField) *format.TypeField {
	f.Hint = uint32(format.ValueHint_HINT_COUNTER_AT_START)
	return f
}

// track draws the values of each of its texts on a track of their own.
func track(f *format.TypeField) *format.TypeField {
	f.Hint = uint32(format.ValueHint_HINT_TRACK)
	return f
}

func unit(f *format.TypeField, unit string) *format.TypeField {
	f.Unit = []byte(unit)
	return f
}

// span is a type of spans; instants are the same without a duration.
func span(name, group, track string, on format.TypeTrack, fields ...*format.TypeField) *format.EventType {
	def := instant(name, group, track, on, fields...)
	def.Shape = uint32(format.TypeShape_SHAPE_SPAN)
	return def
}

func threadSpan(name, group, track string, fields ...*format.TypeField) *format.EventType {
	return span(name, group, track, format.TypeTrack_TRACK_THREAD, fields...)
}

func globalSpan(name, group, track string, fields ...*format.TypeField) *format.EventType {
	return span(name, group, track, format.TypeTrack_TRACK_GLOBAL, fields...)
}

func instant(name, group, track string, on format.TypeTrack, fields ...*format.TypeField) *format.EventType {
	return &format.EventType{
		Name: []byte(name), Group: []byte(group), Shape: uint32(format.TypeShape_SHAPE_INSTANT), On: uint32(on),
		Track: []byte(track), Colour: []byte(name), Fields: fields,
	}
}

// Counts is the field with what the session's counters have counted.
func Counts() *format.TypeField {
	f := Field("counts", format.ValueType_VALUE_BYTES)
	f.Hint = uint32(format.ValueHint_HINT_COUNTS)
	return f
}

// Words is how many words of a record a field takes at least: counts may be missing.
func Words(f *format.TypeField) int {
	if f.Hint == uint32(format.ValueHint_HINT_COUNTS) {
		return 0
	}
	switch format.ValueType(f.Type) {
	case format.ValueType_VALUE_STACK:
		return ringdata.StacksSize / 8
	case format.ValueType_VALUE_STRING:
		return ringdata.EndpointSize / 8
	}
	return 1
}
