package label

import (
	"cmp"
	"encoding/hex"
	"strconv"

	"wprof/format"
)

// Definitions looks up ids of the current section; nil: unknown. [format.Reader] is one.
type Definitions interface {
	Text(id uint32) *format.Text
	Task(format.TaskID) *format.Task
}

// AppendValue appends the text of a value of event e, cut to most bytes. That of a stack is its id.
func AppendValue(b []byte, v *format.Value, e *format.Event, defs Definitions, most int) []byte {
	from := len(b)
	if !v.Field.List {
		b = appendOne(b, v, e, defs, most)
		return b[:min(len(b), from+most)]
	}
	separator := ""
	for one := range v.Elements(e.TimeBase()) {
		if len(b)-from >= most {
			break
		}
		b = appendOne(append(b, separator...), &one, e, defs, most)
		separator = ", "
	}
	return b[:min(len(b), from+most)]
}

func appendOne(b []byte, v *format.Value, e *format.Event, defs Definitions, most int) []byte {
	isHex := v.Field.Hint == uint32(format.ValueHint_HINT_HEX)
	switch format.ValueType(v.Field.Type) {
	case format.ValueType_VALUE_BOOL:
		return strconv.AppendBool(b, v.Number != 0)
	case format.ValueType_VALUE_FLOAT:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	case format.ValueType_VALUE_BYTES, format.ValueType_VALUE_STRING:
		text := v.Bytes[:min(len(v.Bytes), most)]
		if isHex {
			return hex.AppendEncode(b, text)
		}
		return append(b, text...)
	case format.ValueType_VALUE_TEXT:
		if v.Number == 0 {
			return b
		}
		text := cmp.Or(defs.Text(v.ID()), format.LostText(v.ID())).Text
		return append(b, text[:min(len(text), most)]...)
	case format.ValueType_VALUE_ENUM:
		if name := v.Field.EnumName(v.Int()); name != nil {
			return append(b, name...)
		}
		return strconv.AppendInt(b, v.Int(), 10)
	case format.ValueType_VALUE_INT:
		if isHex {
			return appendSignedHex(b, v.Int())
		}
		return strconv.AppendInt(b, v.Int(), 10)
	case format.ValueType_VALUE_DURATION:
		return strconv.AppendInt(b, v.Int(), 10)
	case format.ValueType_VALUE_TIME:
		return strconv.AppendInt(b, e.Happened()-v.Int(), 10)
	case format.ValueType_VALUE_TASK:
		if t := defs.Task(format.TaskID(v.ID())); !t.IsLost() {
			return strconv.AppendInt(append(append(b, t.Comm...), ' '), int64(t.Tid), 10)
		}
		return b
	case format.ValueType_VALUE_STACK:
		if v.Number == 0 {
			return b
		}
	}
	if isHex {
		return strconv.AppendUint(append(b, "0x"...), v.Number, 16)
	}
	return strconv.AppendUint(b, v.Number, 10)
}

func appendSignedHex(b []byte, n int64) []byte {
	magnitude := uint64(n)
	if n < 0 {
		b, magnitude = append(b, '-'), -magnitude
	}
	return strconv.AppendUint(append(b, "0x"...), magnitude, 16)
}
