package sources

import "wprof/format"

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

// numbered names consecutive numbers.
func numbered(first int64, names ...string) (all []*format.EnumName) {
	for i, name := range names {
		all = append(all, &format.EnumName{Number: first + int64(i), Name: []byte(name)})
	}
	return all
}
