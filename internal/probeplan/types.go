package probeplan

import (
	"fmt"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/label"
	"wprof/internal/probe"
	"wprof/internal/tracepoint"
)

// types defines the event types of the definition.
func (b *builder) types(l layout) (numbers [2]uint32, err error) {
	id := b.p.id(b.d)
	def := &format.EventType{
		Name: []byte(b.name()), Group: []byte(Group), On: uint32(format.TypeTrack_TRACK_THREAD), Colour: []byte(id), Probe: []byte(id),
		Definition: []byte(b.d.Text), Label: []byte(b.label()),
	}
	if b.isSpan() && !b.counts() {
		def.Shape = uint32(format.TypeShape_SHAPE_SPAN)
	}
	var places []tracepoint.Place
	add := func(f *format.TypeField, p tracepoint.Place) {
		def.Fields, places = append(def.Fields, f), append(places, p)
	}
	if l.stack {
		add(&format.TypeField{Name: []byte("stack"), Type: uint32(format.ValueType_VALUE_STACK)}, tracepoint.Place{Size: 8})
	}
	if l.site >= 0 {
		f := &format.TypeField{Name: []byte("func"), Type: uint32(format.ValueType_VALUE_ENUM)}
		for i, name := range b.functions {
			f.Names = append(f.Names, &format.EnumName{Number: int64(i), Name: []byte(name[:min(len(name), 200)])})
		}
		add(f, tracepoint.Place{Offset: l.site, Size: siteBytes})
	}
	entry := len(def.Fields)
	for i := range b.fields {
		f := &b.fields[i]
		f.bit = len(def.Fields)
		add(f.typed(b.counts()))
		if f.end.role != probe.End {
			entry = len(def.Fields)
		}
	}
	if l.beganBy >= 0 {
		add(&format.TypeField{Name: []byte("began_by"), Type: uint32(format.ValueType_VALUE_TASK), Hint: uint32(format.ValueHint_HINT_BEGAN_BY)},
			tracepoint.Place{Offset: l.beganBy, Size: 4})
	}
	unread := func(t *format.EventType, p []tracepoint.Place) []tracepoint.Place {
		if l.unread < 0 {
			return p
		}
		t.Fields = append(t.Fields, &format.TypeField{Name: []byte("unread"), Type: uint32(format.ValueType_VALUE_UINT), Hint: uint32(format.ValueHint_HINT_UNREAD)})
		return append(p, tracepoint.Place{Offset: l.unread, Size: 4})
	}
	begin := &format.EventType{
		Name: def.Name, Group: def.Group, On: def.On, Colour: def.Colour, Probe: def.Probe, Definition: def.Definition, Label: def.Label,
		Fields: slices.Clone(def.Fields[:entry]), Entry: true,
	}
	beginPlaces := unread(begin, slices.Clone(places[:entry]))
	if b.counts() {
		places = b.addCounts(def, places, l)
	}
	places = unread(def, places)
	if problem := def.Problem(); problem != "" {
		return numbers, b.d.Errorf(0, 0, nil, "%s", problem)
	}
	numbers[0] = b.p.addType(def, places)
	if b.isSpan() && !b.d.Settings.NoEntry && b.d.Settings.Min == 0 && !b.counts() {
		numbers[1] = b.p.addType(begin, beginPlaces)
	}
	return numbers, nil
}

// name is what events are called without a template.
func (b *builder) name() string {
	name := targetName(&b.d.Legs[0])
	if len(b.d.Legs) > 1 {
		name += " ~~ " + targetName(&b.d.Legs[1])
	}
	return name[:min(len(name), maxID)]
}

// targetName is what a leg probes, without how.
func targetName(l *probe.Leg) string {
	if l.Probe != probe.Breakpoint {
		return l.Target.Text
	}
	t := l.Watched()
	switch {
	case t.Name == "":
		return fmt.Sprintf("%#x", t.Address)
	case t.Offset > 0:
		return fmt.Sprintf("%s+%#x", t.Name, t.Offset)
	}
	return t.Name
}

// label is the template of names. Only events of several functions have a field with the function.
func (b *builder) label() string {
	switch name := b.d.Settings.Name; {
	case name == "" && len(b.functions) > 1:
		return "{func}"
	case len(b.functions) > 1:
		return name
	default:
		function := targetName(&b.d.Legs[0])
		if len(b.functions) > 0 {
			function = b.functions[0]
		}
		return withFunction(name, function)
	}
}

// withFunction puts the name of a function into a template, as much of it as a template may have.
func withFunction(template, function string) string {
	for {
		literal := strings.NewReplacer("{", "{{", "}", "}}").Replace(function)
		name := strings.NewReplacer("{{", "{{", "}}", "}}", "{func}", literal).Replace(template)
		if len(name) <= label.MaxTemplate || function == "" {
			return name
		}
		function = function[:len(function)-1]
	}
}

// typed describes a field and where it is.
func (f *field) typed(counts bool) (*format.TypeField, tracepoint.Place) {
	leaf, d := f.leaf(), &f.arg.Display
	t := &format.TypeField{Name: []byte(f.name)}
	if leaf.Kind != probe.LeafNumber {
		t.Type = uint32(format.ValueType_VALUE_STRING)
		if counts {
			return t, tracepoint.Place{Offset: f.place, Size: probe.MaxKeyText}
		}
		return t, tracepoint.Place{Offset: f.place, Size: 4, Kind: tracepoint.DataLoc}
	}
	p := tracepoint.Place{Offset: f.place, Size: leaf.Size, Signed: leaf.Signed}
	set := func(v format.ValueType) { t.Type = uint32(v) }
	switch {
	case leaf.Float:
		set(format.ValueType_VALUE_FLOAT)
	case len(d.Names) > 0:
		set(format.ValueType_VALUE_ENUM)
		for _, n := range d.Names {
			t.Names = append(t.Names, &format.EnumName{Number: n.Number, Name: []byte(n.Name)})
		}
	case len(leaf.Names) > 0 && len(leaf.Names) <= maxNames:
		set(format.ValueType_VALUE_ENUM)
		t.Names = leaf.Names
	case leaf.Bool:
		set(format.ValueType_VALUE_BOOL)
	case leaf.Signed:
		set(format.ValueType_VALUE_INT)
	default:
		set(format.ValueType_VALUE_UINT)
	}
	switch {
	case d.Hist:
		t.Hint = uint32(format.ValueHint_HINT_HISTOGRAM)
	case d.Counter && d.PerThread:
		t.Hint = uint32(format.ValueHint_HINT_COUNTER)
	case d.Counter:
		t.Hint = uint32(format.ValueHint_HINT_PROCESS_COUNTER)
	case (d.Hex || leaf.Hex) && !t.Is(format.ValueType_VALUE_ENUM):
		t.Hint = uint32(format.ValueHint_HINT_HEX)
	}
	return t, p
}

const maxNames = 1024
