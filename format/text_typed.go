package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
)

// The text form writes values as .FIELD=VALUE if the type is known and the bytes encode exactly these values; otherwise as
// values="…".

// textTypes are the event types of the section that can be used.
type textTypes struct {
	byID   map[uint32]*EventType
	latest []*EventType // not in byID yet: undump may still be adding fields
	weight int          // bytes of memory of those in byID, at most
}

func (t *textTypes) clear() { *t = textTypes{} }

func (t *textTypes) add(defined *EventType) {
	if len(t.latest) >= maxSectionTypes {
		t.enter()
	}
	t.latest = append(t.latest, defined)
}

// enter takes the latest types, as many as there is room for.
func (t *textTypes) enter() {
	if t.byID == nil {
		t.byID = make(map[uint32]*EventType)
	}
	for _, defined := range t.latest {
		weight := decodedWeight * proto.Size(defined)
		if t.byID[defined.Id] == nil && len(t.byID) < maxSectionTypes && t.weight+weight <= maxSectionDefinitionBytes && defined.Problem() == "" {
			t.byID[defined.Id] = defined
			t.weight += weight
		}
	}
	t.latest = t.latest[:0]
}

// of is the type of a typed event; nil: it is not defined, or cannot be used.
func (t *textTypes) of(e *Event) *EventType {
	if e.Kind != KindTyped || e.Args[TypedType] > math.MaxUint32 {
		return nil
	}
	if len(t.latest) > 0 {
		t.enter()
	}
	return t.byID[e.TypeID()]
}

// appendTyped writes the values of an event; false: they have no such form.
func (v *textVocabulary) appendTyped(b []byte, e *Event) ([]byte, bool) {
	t := v.types.of(e)
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
func hasTextLists(t *EventType) bool {
	return slices.ContainsFunc(t.Fields, func(f *TypeField) bool {
		return f.List && (f.Is(ValueType_VALUE_BYTES) || f.Is(ValueType_VALUE_STRING))
	})
}

func (v *textVocabulary) appendTypedValue(b []byte, value *Value) []byte {
	switch ValueType(value.Field.Type) {
	case ValueType_VALUE_INT, ValueType_VALUE_DURATION, ValueType_VALUE_ENUM:
		return strconv.AppendInt(b, value.Int(), 10)
	case ValueType_VALUE_TIME:
		return appendTextTime(b, value.Int(), v.open)
	case ValueType_VALUE_FLOAT:
		if f := value.Float(); math.Float64bits(f) == value.Number && !math.IsNaN(f) {
			return strconv.AppendFloat(b, f, 'g', -1, 64)
		}
		return fmt.Appendf(b, "%#x", value.Number)
	case ValueType_VALUE_BYTES, ValueType_VALUE_STRING:
		return strconv.AppendQuote(b, string(value.Bytes))
	}
	return strconv.AppendUint(b, value.Number, 10)
}

// setTyped makes the bytes of a typed event of the words .FIELD=VALUE. Fields that are not named are 0.
func (v *textVocabulary) setTyped(e *textEvent, words []textWord) error {
	if len(words) == 0 {
		return nil
	}
	t := v.types.of(&e.Event)
	if t == nil {
		return fmt.Errorf("%s needs the definition of event type %d before the event", clip(words[0].key), e.Args[TypedType])
	}
	b := e.Data[:0:0]
	for _, f := range t.Fields {
		var text string
		if i := slices.IndexFunc(words, func(w textWord) bool { return w.key[1:] == string(f.Name) }); i >= 0 {
			text = words[i].value
			words = slices.Delete(words, i, i+1)
		} else if !f.List && !f.Is(ValueType_VALUE_BYTES) && !f.Is(ValueType_VALUE_STRING) {
			text = "0"
		}
		var err error
		if b, err = v.appendParsed(b, f, text, e.TimeBase()); err != nil {
			return fmt.Errorf(".%s: %w", f.Name, err)
		}
	}
	if len(words) > 0 {
		return fmt.Errorf("event type %d has no field %s", t.Id, clip(words[0].key[1:]))
	}
	e.Data = b
	return nil
}

func (v *textVocabulary) appendParsed(b []byte, f *TypeField, text string, base int64) ([]byte, error) {
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
		b = AppendElement(b, f, &value, base)
	}
	return b, nil
}

func (v *textVocabulary) parseTypedValue(f *TypeField, s string) (Value, error) {
	value := Value{Field: f}
	switch ValueType(f.Type) {
	case ValueType_VALUE_INT, ValueType_VALUE_DURATION, ValueType_VALUE_ENUM:
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return value, fmt.Errorf("%s is not an integer", clip(s))
		}
		value.Number = uint64(n)
		return value, nil
	case ValueType_VALUE_TIME:
		t, err := parseTextTime(s, v.open)
		value.Number = uint64(t)
		return value, err
	case ValueType_VALUE_FLOAT:
		if bits, err := strconv.ParseUint(s, 0, 64); err == nil && strings.HasPrefix(s, "0x") {
			value.Number = bits
			return value, nil
		}
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return value, fmt.Errorf("%s is no number", clip(s))
		}
		value.Number = math.Float64bits(n)
		return value, nil
	case ValueType_VALUE_BYTES, ValueType_VALUE_STRING:
		value.Bytes = []byte(s)
		return value, nil
	}
	n, err := parseTextUint(s, 64)
	value.Number = n
	return value, err
}
