package spell

import (
	"fmt"
	"strconv"

	"wprof/format"
)

// Vocabulary has the names that the text form uses, and the opening from which times count.
type Vocabulary struct {
	Kinds     []format.KindInfo
	KindNames Names // 0 is any
	Causes    Names
	Open      int64
}

// NewVocabulary returns the vocabulary of this version.
func NewVocabulary() Vocabulary {
	v := Vocabulary{Kinds: format.Kinds(), KindNames: Names{0: "any"}, Causes: Names{}}
	for _, k := range v.Kinds {
		v.KindNames[uint64(k.Kind)] = k.Name
	}
	for _, c := range format.Causes() {
		v.Causes[uint64(c.Cause)] = c.Name
	}
	return v
}

// KindInfo is the table's row, or one without fields for a kind unknown to this version.
func (v *Vocabulary) KindInfo(k format.Kind) format.KindInfo {
	for _, info := range v.Kinds {
		if info.Kind == k {
			return info
		}
	}
	return format.KindInfo{Kind: k, Name: "kind" + strconv.Itoa(int(k))}
}

// AppendArg writes the value of a field of an event; bytes are for a field that holds them.
func (v *Vocabulary) AppendArg(b []byte, t format.FieldType, arg uint64, bytes []byte) []byte {
	switch t {
	case format.FieldSint:
		return strconv.AppendInt(b, int64(arg), 10)
	case format.FieldTime:
		return AppendTime(b, int64(arg), v.Open)
	case format.FieldState:
		if arg>>32 != 0 {
			return fmt.Appendf(b, "%#x", arg)
		}
		return append(b, stateText(format.State(arg))...)
	case format.FieldCause:
		return append(b, v.Causes.Text(arg)...)
	case format.FieldKind:
		return append(b, v.KindNames.Text(arg)...)
	case format.FieldBytes:
		return strconv.AppendQuote(b, string(bytes))
	}
	return strconv.AppendUint(b, arg, 10)
}

// stateText writes a state in letters if they describe it fully (S, DK, R+), else as a number.
func stateText(s format.State) string {
	text := s.String()
	if back, err := format.ParseState(text); err != nil || back != s {
		return fmt.Sprintf("%#x", uint64(s))
	}
	return text
}
