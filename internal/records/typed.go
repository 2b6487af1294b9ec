package records

import (
	"cmp"
	"encoding/hex"
	"math"
	"strconv"

	"wprof/format"
)

// Arg is a value of a typed event.
type Arg struct {
	Name     string // of the field
	Type     format.ValueType
	List     bool
	Hex      bool   // of a number: it is shown in hexadecimal
	Unknown  bool   // it has no value
	Number   uint64 // see [format.Value]; of times and durations ns, of stacks the id, 0 for none, of lists the number of elements
	Text     string // of texts, named enumerations, and bytes as hexadecimal digits; valid UTF-8
	Task     *Task  // nil: none
	Elements []Arg
}

const (
	phaseBegin = iota
	phaseEnd
)

// longText stands for a text beyond [format.MaxEventText].
const longText = "(left out)"

// fillTyped makes the record of a typed event.
func (m *Maker) fillTyped(r *Record, e *format.Event) {
	t := m.r.EventType(e.TypeID())
	r.Has, r.Text, r.Args, r.Type = 1<<TypedName|1<<TypedArgs, "(lost)", r.Args[:0], t
	if e.Task != 0 {
		r.Tasks[0] = m.subject(e)
		r.Has |= 1 << TypedTask
	}
	m.setSpan(r, e, TypedDuration, TypedStart, TypedOpen)
	if t.IsLost() {
		return
	}
	r.Text, r.Labels = m.texts.Clean(t.Name), m.labelsOf(t)
	for slot, field := range typeLabels() {
		if r.Labels[slot] != "" {
			r.Has |= 1 << field
		}
	}
	switch format.TypeShape(t.Shape) {
	case format.TypeShape_SHAPE_BEGIN:
		r.Values[0] = phaseBegin
		r.Has |= 1 << TypedPhase
	case format.TypeShape_SHAPE_END:
		r.Values[0] = phaseEnd
		r.Has |= 1 << TypedPhase
	}
	if m.readValues(t, e) {
		m.fillArgs(r, e)
		m.setTypedCounts(r, TypedCounters, t)
	}
}

// setSpan sets the fields of a span, in the slots 1 to 3, if the event is one.
func (m *Maker) setSpan(r *Record, e *format.Event, duration, from, open int) {
	start, isSpan := e.Start()
	if isSpan {
		r.Values[1] = max(0, e.Happened()-start)
		r.Has |= 1 << duration
	}
	if isSpan && start >= m.opened {
		r.Values[2] = start - m.first
		r.Has |= 1 << from
	}
	setOpen(r, e, open, 3)
}

// readValues reads the values of an event; false: they do not match its type.
func (m *Maker) readValues(t *format.EventType, e *format.Event) (ok bool) {
	m.values, ok = t.AppendValues(m.values[:0], e)
	return ok
}

// fillArgs makes an argument of each value that is shown as one.
func (m *Maker) fillArgs(r *Record, e *format.Event) {
	m.textBytes = 0
	stack := stackField(r.Type)
	for i := range m.values {
		if m.values[i].Field.IsShown() && i != stack {
			r.Args = append(r.Args, m.arg(&m.values[i], e))
		}
	}
}

// typeLabels returns the fields in Labels.
func typeLabels() [maxLabels]int { return [...]int{TypedGroup, TypedEnds, TypedKey} }

// labelsOf returns the labels of a type, whose definition is not lost.
func (m *Maker) labelsOf(t *format.EventType) *Labels {
	if m.labeled == t {
		return m.labels
	}
	if KindOf(t) != Typed {
		m.labeled, m.labels = t, &Labels{m.texts.Clean(t.Probe)}
		return m.labels
	}
	var ends, key []byte
	switch format.TypeShape(t.Shape) {
	case format.TypeShape_SHAPE_END:
		if begin := m.r.EventType(t.Ends); !begin.IsLost() {
			ends = begin.Name
		}
		fallthrough
	case format.TypeShape_SHAPE_BEGIN:
		for _, f := range t.Fields {
			if format.ValueHint(f.Hint) == format.ValueHint_HINT_KEY {
				key = f.Name
			}
		}
	}
	m.labeled, m.labels = t, &Labels{m.texts.Clean(t.Group), m.texts.Clean(ends), m.texts.Clean(key)}
	return m.labels
}

func (m *Maker) arg(v *format.Value, e *format.Event) Arg {
	a := Arg{Name: string(v.Field.Name), Type: format.ValueType(v.Field.Type), List: v.Field.List, Number: v.Number}
	a.Hex = v.Field.Hint == uint32(format.ValueHint_HINT_HEX)
	if v.Field.List {
		a.Unknown = v.IsUnknown()
		for one := range v.Elements(e.TimeBase()) {
			a.Elements = append(a.Elements, m.single(a, &one, e))
		}
		return a
	}
	return m.single(a, v, e)
}

func (m *Maker) single(a Arg, v *format.Value, e *format.Event) Arg {
	a.List, a.Elements, a.Number, a.Unknown = false, nil, v.Number, v.IsUnknown()
	id := v.ID()
	switch a.Type {
	case format.ValueType_VALUE_BYTES:
		a.Text = hex.EncodeToString(v.Bytes)
	case format.ValueType_VALUE_STRING:
		a.Text = m.texts.Clean(v.Bytes)
	case format.ValueType_VALUE_TEXT:
		if id != 0 {
			text := cmp.Or(m.r.Text(id), format.LostText(id)).Text
			if m.textBytes += len(text); m.textBytes > format.MaxEventText {
				text = []byte(longText)
			}
			a.Text = m.texts.view(text)
		}
	case format.ValueType_VALUE_ENUM:
		a.Text = m.texts.Clean(v.Field.EnumName(v.Int()))
	case format.ValueType_VALUE_TIME:
		a.Number = uint64(v.Int() - m.first)
	case format.ValueType_VALUE_STACK:
		a.Number = uint64(m.stacks.ID(format.StackID(id)))
	case format.ValueType_VALUE_TASK:
		if id != 0 {
			a.Task = m.tasks.of(format.TaskID(id), e.CPU)
		}
	}
	return a
}

// Word returns the text of a value that has one; for a number of an enumeration without a name, its digits.
func (a *Arg) Word() string {
	if a.Text == "" && a.Type == format.ValueType_VALUE_ENUM {
		return strconv.FormatInt(int64(a.Number), 10)
	}
	return a.Text
}

// AppendArgs appends values as a JSON object. appendTime appends ns in the output's format of times.
func AppendArgs(b []byte, args []Arg, appendTime func(b []byte, ns int64) []byte) []byte {
	b = append(b, '{')
	for i := range args {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, args[i].Name), ':')
		b = AppendArg(b, &args[i], appendTime)
	}
	return append(b, '}')
}

// AppendFloat appends a number; infinity and NaN, which JSON does not have, are null.
func AppendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// AppendArg appends a value as JSON.
func AppendArg(b []byte, a *Arg, appendTime func(b []byte, ns int64) []byte) []byte {
	if a.Unknown {
		return append(b, "null"...)
	}
	if a.List {
		b = append(b, '[')
		for i := range a.Elements {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendArg(b, &a.Elements[i], appendTime)
		}
		return append(b, ']')
	}
	switch a.Type {
	case format.ValueType_VALUE_UINT, format.ValueType_VALUE_INT:
		if a.Hex {
			return appendHex(b, a)
		}
	case format.ValueType_VALUE_BOOL:
		return strconv.AppendBool(b, a.Number != 0)
	case format.ValueType_VALUE_FLOAT:
		return AppendFloat(b, math.Float64frombits(a.Number))
	case format.ValueType_VALUE_TIME, format.ValueType_VALUE_DURATION:
		return appendTime(b, int64(a.Number))
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING, format.ValueType_VALUE_TEXT:
		return AppendString(b, a.Text)
	case format.ValueType_VALUE_TASK:
		return appendTask(b, a.Task)
	case format.ValueType_VALUE_STACK:
		if a.Number == 0 {
			return append(b, "null"...)
		}
	case format.ValueType_VALUE_ENUM:
		if a.Text != "" {
			return AppendString(b, a.Text)
		}
		return strconv.AppendInt(b, int64(a.Number), 10)
	}
	if a.Type == format.ValueType_VALUE_INT {
		return strconv.AppendInt(b, int64(a.Number), 10)
	}
	return strconv.AppendUint(b, a.Number, 10)
}

// appendHex appends a number as a text: many readers of JSON have no whole numbers beyond 2^53, as addresses of the kernel are.
func appendHex(b []byte, a *Arg) []byte {
	n := a.Number
	b = append(b, '"')
	if a.Type == format.ValueType_VALUE_INT && int64(n) < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendUint(append(b, "0x"...), n, 16)
	return append(b, '"')
}
