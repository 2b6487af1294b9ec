package format

import "google.golang.org/protobuf/reflect/protoreflect"

// typed checks a typed event against its type.
func (c *checker) typed(e *textEvent) {
	t := c.types.of(&e.Event)
	if t == nil {
		return // that it is not defined has been found
	}
	values, ok := t.AppendValues(nil, &e.Event)
	if !ok {
		c.found("values", "the values of the typed event at %s do not match its type, %d", c.when(e.Time), t.Id)
	}
	if span := t.Shape == uint32(TypeShape_SHAPE_SPAN); span != (e.Flags&TypedHasStart != 0) {
		c.found("values", "the typed event at %s: start is for spans and only for them, and its type, %d, says otherwise", c.when(e.Time), t.Id)
	}
	words := map[ValueType]protoreflect.Name{ValueType_VALUE_TASK: "task", ValueType_VALUE_STACK: "stack", ValueType_VALUE_TEXT: "text"}
	EachID(values, e.TimeBase(), func(typ ValueType, id uint32) {
		word := words[typ]
		if id != 0 && !c.ids.has(word, id) {
			c.found("ids", "the typed event at %s names %s %d, which is not defined before it", c.when(e.Time), word, id)
		}
	})
}
