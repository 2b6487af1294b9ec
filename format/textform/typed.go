package textform

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"wprof/format"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
)

// The text form writes values as .FIELD=VALUE if the type is known and the bytes encode exactly these values; otherwise as
// values="…".

// appendTyped writes the values of an event; false: they have no such form.
func (v *vocabulary) appendTyped(b []byte, e *format.Event) ([]byte, bool) {
	t := v.types.Of(e)
	if t == nil || hasTextLists(t) {
		return b, false
	}
	values, ok := t.AppendValues(nil, e)
	if !ok {
		return b, false
	}
	if same, err := t.AppendTyped(nil, values, e.TimeBase()); err != nil || !slices.Equal(same, e.Data) {
		return b, false
	}
	for i := range values {
		b = append(append(append(b, " ."...), values[i].Field.Name...), '=')
		first := true
		for one := range values[i].Elements(e.TimeBase()) {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = v.appendTypedValue(b, &one)
		}
	}
	return b, true
}

// hasTextLists reports whether a type has a list whose elements may hold the comma that separates them.
func hasTextLists(t *format.EventType) bool {
	return slices.ContainsFunc(t.Fields, func(f *format.TypeField) bool {
		return f.List && (f.Is(format.ValueType_VALUE_BYTES) || f.Is(format.ValueType_VALUE_STRING))
	})
}

func (v *vocabulary) appendTypedValue(b []byte, value *format.Value) []byte {
	switch format.ValueType(value.Field.Type) {
	case format.ValueType_VALUE_INT, format.ValueType_VALUE_DURATION, format.ValueType_VALUE_ENUM:
		return strconv.AppendInt(b, value.Int(), 10)
	case format.ValueType_VALUE_TIME:
		return spell.AppendTime(b, value.Int(), v.Open)
	case format.ValueType_VALUE_FLOAT:
		if f := value.Float(); math.Float64bits(f) == value.Number && !math.IsNaN(f) {
			return strconv.AppendFloat(b, f, 'g', -1, 64)
		}
		return fmt.Appendf(b, "%#x", value.Number)
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING:
		return strconv.AppendQuote(b, string(value.Bytes))
	}
	return strconv.AppendUint(b, value.Number, 10)
}

// setTyped makes the bytes of a typed event of the words .FIELD=VALUE. Fields that are not named are 0.
func (v *vocabulary) setTyped(e *raw.Event, words []word) error {
	t := v.types.Of(&e.Event)
	if t == nil && len(words) == 0 {
		return nil
	}
	if t == nil {
		return fmt.Errorf("%s needs the definition of event type %d before the event", spell.Clip(words[0].key), e.Args[format.TypedType])
	}
	b := e.Data[:0:0]
	for _, f := range t.Fields {
		var text string
		if i := slices.IndexFunc(words, func(w word) bool { return w.key[1:] == string(f.Name) }); i >= 0 {
			text = words[i].value
			words = slices.Delete(words, i, i+1)
		} else if !f.List && !f.Is(format.ValueType_VALUE_BYTES) && !f.Is(format.ValueType_VALUE_STRING) {
			text = "0"
		}
		var err error
		if b, err = v.appendParsed(b, f, text, e.TimeBase()); err != nil {
			return fmt.Errorf(".%s: %w", f.Name, err)
		}
	}
	if len(words) > 0 {
		return fmt.Errorf("event type %d has no field %s", t.Id, spell.Clip(words[0].key[1:]))
	}
	e.Data = b
	return nil
}

func (v *vocabulary) appendParsed(b []byte, f *format.TypeField, text string, base int64) ([]byte, error) {
	parts := []string{text}
	if f.List {
		parts = nil
		if text != "" {
			parts = strings.Split(text, ",")
		}
		b = binary.AppendUvarint(b, uint64(len(parts)))
	}
	for _, part := range parts {
		value, err := v.parseTypedValue(f, part)
		if err != nil {
			return nil, err
		}
		b = format.AppendElement(b, f, &value, base)
	}
	return b, nil
}

func (v *vocabulary) parseTypedValue(f *format.TypeField, s string) (format.Value, error) {
	value := format.Value{Field: f}
	switch format.ValueType(f.Type) {
	case format.ValueType_VALUE_INT, format.ValueType_VALUE_DURATION, format.ValueType_VALUE_ENUM:
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return value, fmt.Errorf("%s is not an integer", spell.Clip(s))
		}
		value.Number = uint64(n)
		return value, nil
	case format.ValueType_VALUE_TIME:
		t, err := spell.ParseTime(s, v.Open)
		value.Number = uint64(t)
		return value, err
	case format.ValueType_VALUE_FLOAT:
		if bits, err := strconv.ParseUint(s, 0, 64); err == nil && strings.HasPrefix(s, "0x") {
			value.Number = bits
			return value, nil
		}
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return value, fmt.Errorf("%s is no number", spell.Clip(s))
		}
		value.Number = math.Float64bits(n)
		return value, nil
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING:
		value.Bytes = []byte(s)
		return value, nil
	}
	n, err := spell.ParseUint(s, 64)
	value.Number = n
	return value, err
}
