package check

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/raw"
)

// typed checks a typed event against its type.
func (c *checker) typed(e *raw.Event) {
	t := c.tally.Types.Of(&e.Event)
	if t == nil {
		return // that it is not defined has been found
	}
	values, ok := t.AppendValues(nil, &e.Event)
	if !ok {
		c.found("values", "the values of the typed event at %s do not match its type, %d", c.when(e.Time), t.Id)
	}
	if span := t.Shape == uint32(format.TypeShape_SHAPE_SPAN); span != (e.Flags&format.TypedHasStart != 0) {
		c.found("values", "the typed event at %s: its start must be set if and only if its type, %d, is a span", c.when(e.Time), t.Id)
	}
	words := map[format.ValueType]protoreflect.Name{format.ValueType_VALUE_TASK: "task", format.ValueType_VALUE_STACK: "stack", format.ValueType_VALUE_TEXT: "text"}
	format.EachID(values, e.TimeBase(), func(typ format.ValueType, id uint32) {
		word := words[typ]
		if id != 0 && !c.ids.has(word, id) {
			c.found("ids", "the typed event at %s names %s %d, which is not defined before it", c.when(e.Time), word, id)
		}
	})
}
