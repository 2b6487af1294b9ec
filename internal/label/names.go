package label

import (
	"strconv"

	"wprof/format"
	"wprof/internal/byid"
)

// Names makes the names of events of a section.
type Names struct {
	defs      Definitions
	templates byid.Table[*Template] // by type
	parts     int                   // of all templates
	text      []byte                // of a value
}

// maxParts bounds the parts of all templates that are kept. One that is needed again is parsed again.
const maxParts = 1 << 16

// NewNames returns names by the definitions of the current section.
func NewNames(defs Definitions) *Names { return &Names{defs: defs} }

// NewSection must be called at each section, because then ids change their meaning.
func (n *Names) NewSection() {
	n.templates.Clear()
	n.parts = 0
}

// Append appends the name of an event of type t with these values: by the type's label, if that is one, else the type's name.
func (n *Names) Append(dst []byte, t *format.EventType, e *format.Event, values []format.Value) []byte {
	if len(t.Label) == 0 {
		return append(dst, t.Name...)
	}
	from := len(dst)
	dst = n.template(t).Append(dst, func(name string) ([]byte, bool) {
		n.text = n.appendField(n.text[:0], name, e, values)
		return n.text, true
	})
	if len(dst) == from {
		return append(dst, t.Name...)
	}
	return dst
}

// template returns the template of a type; an empty one if the type's label is none.
func (n *Names) template(t *format.EventType) *Template {
	if known := n.templates.Get(t.Id); known != nil {
		return known
	}
	parsed, err := Parse(t.Label)
	if err != nil {
		parsed = Template{}
	}
	if n.parts += len(parsed.parts); n.parts > maxParts {
		n.NewSection()
		n.parts = len(parsed.parts)
	}
	n.templates.Put(t.Id, &parsed)
	return &parsed
}

func (n *Names) appendField(b []byte, name string, e *format.Event, values []format.Value) []byte {
	for i := range values {
		v := &values[i]
		if string(v.Field.Name) != name || !v.Field.IsShown() {
			continue
		}
		if v.IsUnknown() || v.Field.Is(format.ValueType_VALUE_STACK) {
			return b
		}
		return AppendValue(b, v, e, n.defs, maxValue)
	}
	task := n.defs.Task(e.Task)
	if e.Flags&format.FlagSubject == 0 || task.IsLost() {
		return b
	}
	switch name {
	case "comm":
		return append(b, task.Comm...)
	case "tid":
		return strconv.AppendInt(b, int64(task.Tid), 10)
	case "pid":
		return strconv.AppendInt(b, int64(task.Pid), 10)
	}
	return b
}
