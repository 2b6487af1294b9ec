package records

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"wprof/format"
	"wprof/internal/timeline"
)

// A list that names a long text very often does not multiply it without a bound.
func TestTextsOfAnEventAreBounded(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const elements, length = 1000, 60000
	var stream bytes.Buffer
	w := format.NewWriter(&stream, format.WriterOptions{})
	must(w.Begin(&format.Session{Id: 1, Open: 1}))
	must(w.DefineText(&format.Text{Id: 1, Text: bytes.Repeat([]byte("x"), length)}))
	of := &format.EventType{Id: 1, Name: []byte("t"), Fields: []*format.TypeField{{Name: []byte("all"), Type: uint32(format.ValueType_VALUE_TEXT), List: true}}}
	must(w.DefineType(of))
	values := make([]format.Value, 1)
	for range elements {
		values[0].Number++
		values[0].Bytes = format.AppendElement(values[0].Bytes, of.Fields[0], &format.Value{Number: 1}, 0)
	}
	e := &format.Event{Kind: format.KindTyped, Flags: format.FlagSubject, Time: 2}
	e.Typed().SetType(1)
	var err error
	e.Data, err = of.AppendTyped(nil, values, e.Time)
	must(err)
	must(w.Write(e))
	must(w.EndSection(&format.End{Close: 3, Last: true}))

	r, err := format.NewReader(&stream)
	must(err)
	defer r.Close()
	whole, left := 0, 0
	m := NewMaker(r, Options{}, func(r *Record) error {
		for _, one := range r.Args[0].Elements {
			if one.Elements != nil {
				t.Fatal("an element of a list holds those before it")
			}
			switch len(one.Text) {
			case length:
				whole++
			case len(longText):
				left++
			}
		}
		return nil
	})
	must(timeline.Visit(r, m))
	if want := format.MaxEventText / length; whole != want || left != elements-want {
		t.Errorf("%d texts are whole and %d left out, want %d and %d", whole, left, want, elements-want)
	}
}

// A begin and its end have what pairs them, and a span that was cut at the end of a range is open.
func TestTypedEventsHaveTheirGroupPhaseAndKey(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var stream bytes.Buffer
	w := format.NewWriter(&stream, format.WriterOptions{})
	must(w.Begin(&format.Session{Id: 1, Open: 1}))
	key := []*format.TypeField{{Name: []byte("id"), Type: uint32(format.ValueType_VALUE_UINT), Hint: uint32(format.ValueHint_HINT_KEY)}}
	types := []*format.EventType{
		{Id: 1, Name: []byte("request"), Group: []byte("http"), Shape: uint32(format.TypeShape_SHAPE_BEGIN), Fields: key},
		{Id: 2, Name: []byte("response"), Group: []byte("http"), Shape: uint32(format.TypeShape_SHAPE_END), Ends: 1, Fields: key},
		{Id: 3, Name: []byte("work"), Shape: uint32(format.TypeShape_SHAPE_SPAN), Fields: key},
	}
	for i, of := range types {
		must(w.DefineType(of))
		e := &format.Event{Kind: format.KindTyped, Flags: format.FlagSubject, Time: int64(10 + i)}
		e.Typed().SetType(uint64(of.Id))
		if of.Shape == uint32(format.TypeShape_SHAPE_SPAN) {
			e.Typed().SetStart(5)
			e.Flags |= format.FlagOpen
		}
		var err error
		e.Data, err = of.AppendTyped(nil, []format.Value{{Number: 7}}, e.TimeBase())
		must(err)
		must(w.Write(e))
	}
	must(w.EndSection(&format.End{Close: 20, Last: true}))

	r, err := format.NewReader(&stream)
	must(err)
	defer r.Close()
	var got []map[string]any
	kinds := Kinds()
	m := NewMaker(r, Options{}, func(r *Record) error {
		got = append(got, valuesOf(&kinds[r.Kind-1], r))
		return nil
	})
	must(timeline.Visit(r, m))
	want := []map[string]any{
		{"name": "request", "group": "http", "phase": "begin", "key": "id"},
		{"name": "response", "group": "http", "phase": "end", "ends": "request", "key": "id"},
		{"name": "work", "dur": int64(7), "start_ts": int64(4), "open": "yes"},
	}
	if !slices.EqualFunc(got, want, maps.Equal[map[string]any, map[string]any]) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Bytes that differ have different values, and a stack that is none has no id.
func TestBytesAreDigitsAndNoStackIsNull(t *testing.T) {
	bytesField, stackField := &format.TypeField{Type: uint32(format.ValueType_VALUE_BYTES)}, &format.TypeField{Type: uint32(format.ValueType_VALUE_STACK)}
	m := &Maker{}
	args := []Arg{m.single(Arg{Name: "mac", Type: format.ValueType_VALUE_BYTES}, &format.Value{Field: bytesField, Bytes: []byte{0, 0xff}}, nil),
		m.single(Arg{Name: "at", Type: format.ValueType_VALUE_STACK}, &format.Value{Field: stackField}, nil)}
	if got, want := string(AppendArgs(nil, args, nil)), `{"mac":"00ff","at":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNumbersThatAreNotKnownAreNull(t *testing.T) {
	m := &Maker{}
	value := func(kind format.ValueType, hint format.ValueHint, number int64) Arg {
		f := &format.TypeField{Type: uint32(kind), Hint: uint32(hint)}
		return m.single(Arg{Name: "a", Type: kind}, &format.Value{Field: f, Number: uint64(number)}, nil)
	}
	const unknown = format.ValueHint_HINT_OR_UNKNOWN
	for want, a := range map[string]Arg{
		`{"a":0}`:  value(format.ValueType_VALUE_INT, unknown, 0),
		`{"a":-1}`: value(format.ValueType_VALUE_INT, format.ValueHint_HINT_NONE, -1),
		`{"a":1}`:  value(format.ValueType_VALUE_UINT, unknown, 1),
	} {
		if got := string(AppendArgs(nil, []Arg{a}, nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, a := range []Arg{value(format.ValueType_VALUE_INT, unknown, -1), value(format.ValueType_VALUE_UINT, unknown, 0), value(format.ValueType_VALUE_DURATION, unknown, 0)} {
		if got, want := string(AppendArgs(nil, []Arg{a}, nil)), `{"a":null}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
