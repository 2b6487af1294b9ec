package textform

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
)

// The messages of the stream are written by their descriptors: a scalar field is NAME=VALUE (a true bool
// its bare name), a repeated number a list at commas, and each element of any other repeated field a line of its
// own after the message it belongs to: a detail. What a newer version added to a message is more=HEX.

// valueForm is the form of a field that does not follow from its protobuf type.
type valueForm uint8

const (
	valueTime valueForm = iota + 1
	valueKind
	valueCause
	valueCPU
	valueTaskFlags
	valueBlockType
	valueEnum
	valueHex // numbers and bytes
)

func valueForms() map[protoreflect.FullName]valueForm {
	return map[protoreflect.FullName]valueForm{
		"wprof.Session.id": valueHex, "wprof.Session.close": valueTime,
		"wprof.Session.range_start": valueTime, "wprof.Session.range_end": valueTime, "wprof.Session.requested": valueTime,
		"wprof.Task.flags": valueTaskFlags, "wprof.Module.build_id": valueHex, "wprof.Module.base": valueHex,
		"wprof.Module.kind": valueEnum, "wprof.TypeField.type": valueEnum, "wprof.TypeField.hint": valueEnum,
		"wprof.EventType.shape": valueEnum, "wprof.EventType.on": valueEnum, "wprof.EventType.interrupts": valueEnum, "wprof.Wait.file": valueEnum,
		"wprof.Cache.type": valueEnum,
		"wprof.Wait.args":  valueHex, "wprof.Wait.futex": valueHex,
		"wprof.Frame.offset": valueHex, "wprof.Frame.function_offset": valueHex,
		"wprof.IndexEntry.type": valueBlockType, "wprof.IndexEntry.first": valueTime,
		"wprof.IndexEntry.last": valueTime, "wprof.IndexEntry.earliest": valueTime,
		"wprof.KindCount.kind": valueKind, "wprof.Loss.cpu": valueCPU, "wprof.Loss.kind": valueKind,
		"wprof.Loss.cause": valueCause, "wprof.End.close": valueTime,
	}
}

// vocabulary adds the names in messages to those that the checker uses too.
type vocabulary struct {
	spell.Vocabulary
	taskFlags  spell.Names
	blockTypes spell.Names
	enums      map[protoreflect.FullName]spell.Names // of numbers in messages
	details    []spell.Detail
	values     map[protoreflect.FullName]valueForm
	types      *raw.Types // of the section
}

func newVocabulary(types *raw.Types) *vocabulary {
	return &vocabulary{
		Vocabulary: spell.NewVocabulary(), taskFlags: taskFlagNames(), blockTypes: blockTypeNames(), enums: enumNames(),
		details: spell.Details(), values: valueForms(), types: types,
	}
}

// fieldChoice lists exceptions from the rule that exactly the fields that are set are written: false leaves a field out, true
// writes it even if it is 0.
type fieldChoice map[protoreflect.Name]bool

// appendFields writes the scalar fields of a message.
func (v *vocabulary) appendFields(b []byte, m protoreflect.Message, choice fieldChoice) []byte {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		want, chosen := choice[f.Name()]
		if !isDetail(f) && (want || !chosen && (m.Has(f) || v.namesZero(f))) {
			b = v.appendField(append(b, ' '), f, m.Get(f))
		}
	}
	if more := m.GetUnknown(); len(more) > 0 {
		b = hex.AppendEncode(append(b, " more="...), more)
	}
	return b
}

// namesZero reports whether a field is written even if it is 0, because 0 has a name.
func (v *vocabulary) namesZero(f protoreflect.FieldDescriptor) bool {
	value := v.values[f.FullName()]
	return value == valueCPU || value == valueKind
}

// appendDetails writes the lines of a message's parts, each level further in.
func (v *vocabulary) appendDetails(b []byte, m protoreflect.Message, indent string) []byte {
	for _, d := range v.details {
		if d.Parent != m.Descriptor().Name() {
			continue
		}
		f := m.Descriptor().Fields().ByName(d.Field)
		switch {
		case !m.Has(f):
		case f.Kind() == protoreflect.StringKind:
			b = v.appendStrings(b, d, m.Get(f).List(), indent)
		case f.IsList():
			for i := range m.Get(f).List().Len() {
				b = v.appendDetail(b, d, m.Get(f).List().Get(i).Message(), indent)
			}
		default:
			b = v.appendDetail(b, d, m.Get(f).Message(), indent)
		}
	}
	return b
}

func (v *vocabulary) appendDetail(b []byte, d spell.Detail, m protoreflect.Message, indent string) []byte {
	b = append(append(b, indent...), d.Word...)
	var choice fieldChoice
	if lead := m.Descriptor().Fields().ByName(d.Lead); lead != nil {
		b = v.appendScalar(append(b, ' '), lead, m.Get(lead))
		choice = fieldChoice{d.Lead: false}
	}
	b = append(v.appendFields(b, m, choice), '\n')
	return v.appendDetails(b, m, indent+"  ")
}

func (v *vocabulary) appendStrings(b []byte, d spell.Detail, list protoreflect.List, indent string) []byte {
	const perLine = 8 // lines stay short enough to be read, and to be parsed
	for i := range list.Len() {
		if i%perLine == 0 {
			if i > 0 {
				b = append(b, '\n')
			}
			b = append(append(b, indent...), d.Word...)
		}
		b = strconv.AppendQuote(append(b, ' '), list.Get(i).String())
	}
	return append(b, '\n')
}

// isDetail reports whether a field stands on lines of its own.
func isDetail(f protoreflect.FieldDescriptor) bool {
	return f.Kind() == protoreflect.MessageKind || f.IsList() && f.Kind() == protoreflect.StringKind
}

func (v *vocabulary) appendField(b []byte, f protoreflect.FieldDescriptor, value protoreflect.Value) []byte {
	b = append(b, f.Name()...)
	if f.Kind() == protoreflect.BoolKind {
		if !value.Bool() {
			b = append(b, "=false"...)
		}
		return b
	}
	b = append(b, '=')
	if !f.IsList() {
		return v.appendScalar(b, f, value)
	}
	for i := range value.List().Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.appendScalar(b, f, value.List().Get(i))
	}
	return b
}

func (v *vocabulary) appendScalar(b []byte, f protoreflect.FieldDescriptor, value protoreflect.Value) []byte {
	switch v.values[f.FullName()] {
	case valueTime:
		return spell.AppendTime(b, value.Int(), v.Open)
	case valueKind:
		return append(b, v.KindNames.Text(value.Uint())...)
	case valueCause:
		return append(b, v.Causes.Text(value.Uint())...)
	case valueCPU:
		return append(b, format.CPUName(uint32(value.Uint()))...)
	case valueTaskFlags:
		return append(b, v.taskFlags.Bits(value.Uint())...)
	case valueBlockType:
		return append(b, v.blockTypes.Text(value.Uint())...)
	case valueEnum:
		return append(b, v.enums[f.FullName()].Text(value.Uint())...)
	case valueHex:
		if f.Kind() == protoreflect.BytesKind {
			return hex.AppendEncode(b, value.Bytes())
		}
		return fmt.Appendf(b, "%#x", value.Uint())
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		return strconv.AppendQuote(b, value.String())
	case protoreflect.BytesKind:
		return strconv.AppendQuote(b, string(value.Bytes()))
	default: // the numbers; FuzzUndump and TestTextFormHasEveryField show that there is no other type
		return fmt.Appendf(b, "%d", value.Interface())
	}
}

// setField sets the field of the message that a word of a line names.
func (v *vocabulary) setField(m protoreflect.Message, w word) error {
	if w.key == "more" {
		more, err := spell.ParseHex(w.value)
		m.SetUnknown(more)
		return err
	}
	f := m.Descriptor().Fields().ByName(protoreflect.Name(w.key))
	if f == nil || isDetail(f) {
		return spell.Unknown("field of "+strings.ToLower(string(m.Descriptor().Name())), w.key, scalarNames(m))
	}
	if f.Kind() == protoreflect.BoolKind {
		on, err := parseBool(w)
		if err == nil {
			m.Set(f, protoreflect.ValueOfBool(on))
		}
		return err
	}
	if !w.valued {
		return fmt.Errorf("%s has no value; write %s=VALUE", w.key, w.key)
	}
	if !f.IsList() {
		value, err := v.parseScalar(f, w.value)
		if err != nil {
			return fmt.Errorf("%s: %w", w.key, err)
		}
		m.Set(f, value)
		return nil
	}
	list := m.Mutable(f).List()
	for part := range strings.SplitSeq(w.value, ",") {
		value, err := v.parseScalar(f, part)
		if err != nil {
			return fmt.Errorf("%s: %w", w.key, err)
		}
		list.Append(value)
	}
	return nil
}

func scalarNames(m protoreflect.Message) []string {
	var names []string
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); !isDetail(f) {
			names = append(names, string(f.Name()))
		}
	}
	return append(names, "more")
}

func parseBool(w word) (bool, error) {
	if !w.valued {
		return true, nil
	}
	if w.value != "true" && w.value != "false" {
		return false, fmt.Errorf("%s=%s: write true or false", w.key, spell.Clip(w.value))
	}
	return w.value == "true", nil
}

func (v *vocabulary) parseScalar(f protoreflect.FieldDescriptor, s string) (protoreflect.Value, error) {
	switch v.values[f.FullName()] {
	case valueTime:
		t, err := spell.ParseTime(s, v.Open)
		return protoreflect.ValueOfInt64(t), err
	case valueKind:
		n, err := v.KindNames.Parse("event kind", s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueCause:
		n, err := v.Causes.Parse("cause of loss", s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueCPU:
		n, err := spell.ParseCPU(s)
		return protoreflect.ValueOfUint32(n), err
	case valueTaskFlags:
		n, err := v.taskFlags.ParseBits("task flag", s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueBlockType:
		n, err := v.blockTypes.Parse("block type", s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueEnum:
		n, err := v.enums[f.FullName()].Parse(string(f.Name()), s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueHex:
		if f.Kind() == protoreflect.BytesKind {
			b, err := spell.ParseHex(s)
			return protoreflect.ValueOfBytes(b), err
		}
	}
	return parsePlainScalar(f, s)
}

func parsePlainScalar(f protoreflect.FieldDescriptor, s string) (protoreflect.Value, error) {
	switch f.Kind() {
	case protoreflect.StringKind:
		if !utf8.ValidString(s) {
			return protoreflect.Value{}, errors.New("this field holds UTF-8 only")
		}
		return protoreflect.ValueOfString(s), nil
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(s)), nil
	case protoreflect.Int32Kind:
		n, err := parseInt(s, math.MinInt32, math.MaxInt32)
		return protoreflect.ValueOfInt32(int32(n)), err
	case protoreflect.Int64Kind:
		n, err := parseInt(s, math.MinInt64, math.MaxInt64)
		return protoreflect.ValueOfInt64(n), err
	case protoreflect.Uint32Kind:
		n, err := spell.ParseUint(s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, err := spell.ParseUint(s, 64)
		return protoreflect.ValueOfUint64(n), err
	}
	return protoreflect.Value{}, fmt.Errorf("the text form cannot write fields of type %s", f.Kind())
}

func parseInt(s string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s is no number from %d to %d", spell.Clip(s), low, high)
	}
	return n, nil
}
