package format

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The messages of the stream are written by what their descriptors say: a scalar field is NAME=VALUE (a true bool
// its bare name), a repeated number a list at commas, and each element of any other repeated field a line of its
// own after the message it belongs to: a detail. What a newer version added to a message is more=HEX.

// textDetail is one word that begins a line with a part of a message.
type textDetail struct {
	parent protoreflect.Name // the message that it is part of
	word   string
	field  protoreflect.Name
	lead   protoreflect.Name // the field that stands first, without its name
}

// textDetails are in the order in which dump writes them.
func textDetails() []textDetail {
	return []textDetail{
		{"Session", "command", "command", ""},
		{"Session", "history", "history", ""},
		{"Session", "config", "config", ""},
		{"Session", "metadata", "metadata", ""},
		{"Session", "cpu", "cpus", "id"},
		{"Session", "source", "sources", "id"},
		{"Session", "clock", "clocks", ""},
		{"Definitions", "clock", "clocks", ""},
		{"Definitions", "cmdline", "commands", "id"},
		{"Definitions", "task", "tasks", "id"},
		{"Definitions", "module", "modules", "id"},
		{"Definitions", "frame", "frames", "id"},
		{"Frame", "line", "lines", ""},
		{"Definitions", "stack", "stacks", "id"},
		{"Definitions", "text", "texts", "id"},
		{"Definitions", "eventtype", "event_types", "id"},
		{"EventType", "field", "fields", "name"},
		{"TypeField", "enum", "names", "number"},
		{"Definitions", "probe", "probes", "id"},
		{"Index", "entry", "blocks", "type"},
		{"End", "kind", "kinds", "kind"},
		{"End", "process", "processes", "pid"},
		{"End", "loss", "losses", ""},
		{"End", "clock", "clocks", ""},
		{"End", "cost", "cost", ""},
		{"RecorderCost", "program", "programs", "name"},
	}
}

// textValue says how a field is written when its protobuf type does not say it.
type textValue uint8

const (
	valueTime textValue = iota + 1
	valueKind
	valueCause
	valueCPU
	valueTaskFlags
	valueBlockType
	valueEnum
	valueHex // numbers and bytes
)

func textValues() map[protoreflect.FullName]textValue {
	return map[protoreflect.FullName]textValue{
		"wprof.Session.id": valueHex, "wprof.Session.close": valueTime,
		"wprof.Session.range_start": valueTime, "wprof.Session.range_end": valueTime,
		"wprof.Task.flags": valueTaskFlags, "wprof.Module.build_id": valueHex, "wprof.Module.base": valueHex,
		"wprof.Module.kind": valueEnum, "wprof.TypeField.type": valueEnum, "wprof.TypeField.hint": valueEnum,
		"wprof.EventType.shape": valueEnum, "wprof.EventType.on": valueEnum,
		"wprof.Frame.offset": valueHex, "wprof.Frame.function_offset": valueHex,
		"wprof.IndexEntry.type": valueBlockType, "wprof.IndexEntry.first": valueTime,
		"wprof.IndexEntry.last": valueTime, "wprof.IndexEntry.earliest": valueTime,
		"wprof.KindCount.kind": valueKind, "wprof.Loss.cpu": valueCPU, "wprof.Loss.kind": valueKind,
		"wprof.Loss.cause": valueCause, "wprof.End.close": valueTime,
	}
}

// textVocabulary is what the text form knows by name, with the opening from which times count.
type textVocabulary struct {
	kinds      []KindInfo
	kindNames  textNames
	causes     textNames
	taskFlags  textNames
	blockTypes textNames
	enums      map[protoreflect.FullName]textNames // of numbers in messages
	types      textTypes
	details    []textDetail
	values     map[protoreflect.FullName]textValue
	open       int64
}

func newTextVocabulary() *textVocabulary {
	kinds := Kinds()
	return &textVocabulary{
		kinds: kinds, kindNames: kindNames(kinds), causes: causeNames(), taskFlags: taskFlagNames(),
		blockTypes: blockTypeNames(), enums: enumNames(), details: textDetails(), values: textValues(),
	}
}

// fieldChoice departs from writing exactly the fields that are set: false leaves one out, true writes it when it is 0.
type fieldChoice map[protoreflect.Name]bool

// appendFields writes the scalar fields of a message.
func (v *textVocabulary) appendFields(b []byte, m protoreflect.Message, choice fieldChoice) []byte {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		want, chosen := choice[f.Name()]
		if !isTextDetail(f) && (want || !chosen && (m.Has(f) || v.named(f))) {
			b = v.appendField(append(b, ' '), f, m.Get(f))
		}
	}
	if more := m.GetUnknown(); len(more) > 0 {
		b = hex.AppendEncode(append(b, " more="...), more)
	}
	return b
}

// named tells whether a field's 0 has a name that a reader would miss.
func (v *textVocabulary) named(f protoreflect.FieldDescriptor) bool {
	value := v.values[f.FullName()]
	return value == valueCPU || value == valueKind
}

// appendDetails writes the lines of a message's parts, each level further in.
func (v *textVocabulary) appendDetails(b []byte, m protoreflect.Message, indent string) []byte {
	for _, d := range v.details {
		if d.parent != m.Descriptor().Name() {
			continue
		}
		f := m.Descriptor().Fields().ByName(d.field)
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

func (v *textVocabulary) appendDetail(b []byte, d textDetail, m protoreflect.Message, indent string) []byte {
	b = append(append(b, indent...), d.word...)
	var choice fieldChoice
	if lead := m.Descriptor().Fields().ByName(d.lead); lead != nil {
		b = v.appendScalar(append(b, ' '), lead, m.Get(lead))
		choice = fieldChoice{d.lead: false}
	}
	b = append(v.appendFields(b, m, choice), '\n')
	return v.appendDetails(b, m, indent+"  ")
}

func (v *textVocabulary) appendStrings(b []byte, d textDetail, list protoreflect.List, indent string) []byte {
	const perLine = 8 // lines stay short enough to be read, and to be parsed
	for i := range list.Len() {
		if i%perLine == 0 {
			if i > 0 {
				b = append(b, '\n')
			}
			b = append(append(b, indent...), d.word...)
		}
		b = strconv.AppendQuote(append(b, ' '), list.Get(i).String())
	}
	return append(b, '\n')
}

// isTextDetail tells whether a field stands on lines of its own.
func isTextDetail(f protoreflect.FieldDescriptor) bool {
	return f.Kind() == protoreflect.MessageKind || f.IsList() && f.Kind() == protoreflect.StringKind
}

func (v *textVocabulary) appendField(b []byte, f protoreflect.FieldDescriptor, value protoreflect.Value) []byte {
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

func (v *textVocabulary) appendScalar(b []byte, f protoreflect.FieldDescriptor, value protoreflect.Value) []byte {
	switch v.values[f.FullName()] {
	case valueTime:
		return appendTextTime(b, value.Int(), v.open)
	case valueKind:
		return append(b, v.kindNames.text(value.Uint())...)
	case valueCause:
		return append(b, v.causes.text(value.Uint())...)
	case valueCPU:
		return append(b, textCPU(uint32(value.Uint()))...)
	case valueTaskFlags:
		return append(b, v.taskFlags.bits(value.Uint())...)
	case valueBlockType:
		return append(b, v.blockTypes.text(value.Uint())...)
	case valueEnum:
		return append(b, v.enums[f.FullName()].text(value.Uint())...)
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
	default: // the numbers; FuzzUndump and TestTextFormKnowsEveryField see that no other type comes up
		return fmt.Appendf(b, "%d", value.Interface())
	}
}

// setField takes one word of a line into the message.
func (v *textVocabulary) setField(m protoreflect.Message, w textWord) error {
	if w.key == "more" {
		more, err := parseTextHex(w.value)
		m.SetUnknown(more)
		return err
	}
	f := m.Descriptor().Fields().ByName(protoreflect.Name(w.key))
	if f == nil || isTextDetail(f) {
		return unknownName("field of "+strings.ToLower(string(m.Descriptor().Name())), w.key, scalarNames(m))
	}
	if f.Kind() == protoreflect.BoolKind {
		on, err := parseTextBool(w)
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
		if f := fields.Get(i); !isTextDetail(f) {
			names = append(names, string(f.Name()))
		}
	}
	return append(names, "more")
}

func parseTextBool(w textWord) (bool, error) {
	if !w.valued {
		return true, nil
	}
	if w.value != "true" && w.value != "false" {
		return false, fmt.Errorf("%s=%s: write true or false", w.key, clip(w.value))
	}
	return w.value == "true", nil
}

func (v *textVocabulary) parseScalar(f protoreflect.FieldDescriptor, s string) (protoreflect.Value, error) {
	switch v.values[f.FullName()] {
	case valueTime:
		t, err := parseTextTime(s, v.open)
		return protoreflect.ValueOfInt64(t), err
	case valueKind:
		n, err := v.kindNames.parse("event kind", s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueCause:
		n, err := v.causes.parse("cause of loss", s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueCPU:
		n, err := parseTextCPU(s)
		return protoreflect.ValueOfUint32(n), err
	case valueTaskFlags:
		n, err := v.taskFlags.parseBits("task flag", s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueBlockType:
		n, err := v.blockTypes.parse("block type", s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueEnum:
		n, err := v.enums[f.FullName()].parse(string(f.Name()), s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case valueHex:
		if f.Kind() == protoreflect.BytesKind {
			b, err := parseTextHex(s)
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
		n, err := parseTextInt(s, math.MinInt32, math.MaxInt32)
		return protoreflect.ValueOfInt32(int32(n)), err
	case protoreflect.Int64Kind:
		n, err := parseTextInt(s, math.MinInt64, math.MaxInt64)
		return protoreflect.ValueOfInt64(n), err
	case protoreflect.Uint32Kind:
		n, err := parseTextUint(s, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, err := parseTextUint(s, 64)
		return protoreflect.ValueOfUint64(n), err
	}
	return protoreflect.Value{}, fmt.Errorf("the text form cannot write fields of type %s", f.Kind())
}

func parseTextInt(s string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s is no number from %d to %d", clip(s), low, high)
	}
	return n, nil
}

func parseTextUint(s string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(s, 0, bits)
	if err != nil {
		return 0, fmt.Errorf("%s is no number from 0 to %d", clip(s), uint64(math.MaxUint64)>>(64-bits))
	}
	return n, nil
}
