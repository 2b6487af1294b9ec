package format

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wprof/test/race"
)

// request is a type with a field of each kind.
func request() *EventType {
	t := &EventType{Id: 7, Name: []byte("request"), Shape: uint32(TypeShape_SHAPE_SPAN), Track: []byte("requests")}
	for typ := ValueType_VALUE_UINT; typ <= ValueType_VALUE_STACK; typ++ {
		name := strings.ToLower(strings.TrimPrefix(typ.String(), "VALUE_"))
		t.Fields = append(t.Fields, &TypeField{Name: []byte(name), Type: uint32(typ)}, &TypeField{Name: []byte(name + "s"), Type: uint32(typ), List: true})
	}
	return t
}

// valuesOf are values of each field; n is put where a number fits.
func valuesOf(t *EventType, n int64, at int64) []Value {
	var values []Value
	for i, f := range t.Fields {
		one := Value{Field: f, Number: uint64(n)}
		switch ValueType(f.Type) {
		case ValueType_VALUE_FLOAT:
			one.Number = math.Float64bits(float64(n) / 3)
		case ValueType_VALUE_TIME, ValueType_VALUE_DURATION:
			one.Number = uint64(n >> 3)
		case ValueType_VALUE_BYTES, ValueType_VALUE_STRING:
			one = Value{Field: f, Bytes: []byte(strings.Repeat("x\xff", i))}
		case ValueType_VALUE_UINT, ValueType_VALUE_BOOL, ValueType_VALUE_TEXT, ValueType_VALUE_TASK, ValueType_VALUE_STACK:
			one.Number = uint64(n) & math.MaxUint32
		}
		if f.List {
			var elements []byte
			for range 3 {
				elements = AppendElement(elements, f, &one, at)
			}
			one = Value{Field: f, Number: 3, Bytes: elements}
		}
		values = append(values, one)
	}
	return values
}

func TestTypedEventsReadAsTheyWereWritten(t *testing.T) {
	def, at := request(), int64(5_000_000)
	if problem := def.Problem(); problem != "" {
		t.Fatal(problem)
	}
	for _, n := range []int64{0, 1, -1, 127, 128, math.MaxInt64, math.MinInt64, at} {
		want := valuesOf(def, n, at)
		data, err := def.AppendTyped(nil, want, at)
		if err != nil {
			t.Fatal(err)
		}
		e := &Event{Kind: KindTyped, Time: at, Data: data}
		got, ok := def.AppendValues(nil, e)
		if !ok || !slices.EqualFunc(got, want, func(a, b Value) bool {
			return a.Field == b.Field && a.Number == b.Number && bytes.Equal(a.Bytes, b.Bytes)
		}) {
			t.Fatalf("%d: %v became %v (%v)", n, want, got, ok)
		}
		for i := range got {
			if elements := slices.Collect(got[i].Elements(at)); got[i].Field.List && len(elements) != 3 {
				t.Errorf("%s has %d elements", got[i].Field.Name, len(elements))
			}
		}
		for cut := range data {
			e.Data = data[:cut]
			if _, ok := def.AppendValues(nil, e); ok {
				t.Fatalf("%d of %d bytes are taken for whole", cut, len(data))
			}
		}
		e.Data = append(slices.Clip(data), 0)
		if _, ok := def.AppendValues(nil, e); ok {
			t.Fatal("bytes behind the values are taken for whole")
		}
	}
}

func TestHostileEventTypesAreNotUsed(t *testing.T) {
	field := func(name string, typ ValueType) *TypeField { return &TypeField{Name: []byte(name), Type: uint32(typ)} }
	for want, def := range map[string]*EventType{
		"two fields":       {Fields: []*TypeField{field("a", 1), field("a", 2)}},
		"unknown type":     {Fields: []*TypeField{field("a", 99)}},
		"has a name of 0":  {Fields: []*TypeField{field("", 1)}},
		"other characters": {Fields: []*TypeField{field("a b", 1)}},
		"more than 64":     {Fields: slices.Repeat([]*TypeField{field("a", 1)}, 65)},
		"unknown shape":    {Shape: 9},
		"more than 1024":   {Fields: []*TypeField{{Name: []byte("a"), Type: 1, Names: slices.Repeat([]*EnumName{{}}, 1025)}}},
		"has no name":      {},
		"more than 256":    {Track: bytes.Repeat([]byte("x"), 257)},
		"not the shape":    {Ends: 1},
		"no number":        {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_STRING), Hint: uint32(ValueHint_HINT_COUNTER)}}},
		"may be unknown":   {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_STRING), Hint: uint32(ValueHint_HINT_OR_UNKNOWN)}}},
		"no unsigned":      {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_INT), Hint: uint32(ValueHint_HINT_UNREAD)}}},
		"this hint":        {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_UINT), Hint: uint32(ValueHint_HINT_UNREAD), List: true}}},
		"not the last":     {Fields: []*TypeField{{Name: []byte("a"), Type: 1, Hint: uint32(ValueHint_HINT_UNREAD)}, field("b", 1)}},
		"no thread":        {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_UINT), Hint: uint32(ValueHint_HINT_BEGAN_BY)}}},
		"no instants":      {Shape: uint32(TypeShape_SHAPE_SPAN), Entry: true},
		"a text of":        {Label: bytes.Repeat([]byte("x"), 257)},
		"a text of more":   {Probe: bytes.Repeat([]byte("x"), 257)},
		"whose definition": {Definition: bytes.Repeat([]byte("x"), 4097)},
		"no list of":       {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_UINT), Hint: uint32(ValueHint_HINT_BUCKETS)}}},
		"of a histogram":   {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_INT), Hint: uint32(ValueHint_HINT_BUCKETS), List: true}}},
		"is a number of":   {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_INT), Hint: uint32(ValueHint_HINT_EVENTS)}}},
		"for a histogram":  {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_STRING), Hint: uint32(ValueHint_HINT_HISTOGRAM)}}},
		"is no instant": {Shape: uint32(TypeShape_SHAPE_SPAN), Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_UINT),
			Hint: uint32(ValueHint_HINT_EVENTS)}}},
		"no boolean": {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_UINT), Hint: uint32(ValueHint_HINT_OWN)}}},
	} {
		if def.Name = []byte("x"); want == "has no name" {
			def.Name = nil
		}
		if got := def.Problem(); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

// The last field says which of the others could not be read, also lists.
func TestUnreadValuesAreUnknown(t *testing.T) {
	def := &EventType{Name: []byte("x"), Fields: []*TypeField{
		{Name: []byte("a"), Type: uint32(ValueType_VALUE_UINT)}, {Name: []byte("b"), Type: uint32(ValueType_VALUE_STRING), List: true},
		{Name: []byte("c"), Type: uint32(ValueType_VALUE_FLOAT)}, {Name: []byte("unread"), Type: uint32(ValueType_VALUE_UINT), Hint: uint32(ValueHint_HINT_UNREAD)},
	}}
	if problem := def.Problem(); problem != "" {
		t.Fatal(problem)
	}
	for mask := range uint64(16) {
		data, err := def.AppendTyped(nil, []Value{{}, {}, {}, {Number: mask}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		values, ok := def.AppendValues(make([]Value, 2), &Event{Data: data})
		if !ok || len(values) != 6 {
			t.Fatal(values, ok)
		}
		for i, v := range values[2:5] {
			if got, want := v.IsUnknown(), mask>>i&1 != 0; got != want {
				t.Errorf("mask %b: value %d is unknown: %t", mask, i, got)
			}
		}
		if values[5].Field.IsShown() || values[5].IsUnknown() {
			t.Error("the mask is shown, or unknown")
		}
	}
}

func TestFieldsOfCounts(t *testing.T) {
	f := func(name string, typ ValueType, hint ValueHint) *TypeField {
		return &TypeField{Name: []byte(name), Type: uint32(typ), Hint: uint32(hint), List: hint == ValueHint_HINT_BUCKETS}
	}
	key, events := f("key", ValueType_VALUE_DURATION, ValueHint_HINT_NONE), f("events", ValueType_VALUE_UINT, ValueHint_HINT_EVENTS)
	sum, buckets := f("sum", ValueType_VALUE_INT, ValueHint_HINT_COUNTER), f("buckets", ValueType_VALUE_UINT, ValueHint_HINT_BUCKETS)
	interval, more := f("interval", ValueType_VALUE_DURATION, ValueHint_HINT_NONE), f("more", ValueType_VALUE_DURATION, ValueHint_HINT_NONE)
	for _, c := range []struct {
		fields []*TypeField
		want   CountFields
	}{
		{nil, CountFields{-1, -1, -1, -1}},
		{[]*TypeField{key, sum, buckets}, CountFields{-1, -1, -1, -1}},
		{[]*TypeField{events}, CountFields{0, -1, -1, -1}},
		{[]*TypeField{key, events, sum, buckets, interval, more}, CountFields{1, 2, 3, 4}},
		{[]*TypeField{sum, buckets, events, interval}, CountFields{2, -1, -1, 3}},
	} {
		def := &EventType{Name: []byte("x"), Fields: c.fields}
		got, ok := def.Counts()
		if problem := def.Problem(); got != c.want || ok != (c.want.Events >= 0) || problem != "" {
			t.Errorf("%v: %+v, %t, problem %q; want %+v", c.fields, got, ok, problem, c.want)
		}
	}
}

// A hint that only a newer version knows counts as none, also that of a list.
func TestUnknownHintsAreNone(t *testing.T) {
	for _, isList := range []bool{false, true} {
		def := &EventType{Name: []byte("x"), Fields: []*TypeField{{Name: []byte("a"), Type: 1, List: isList, Hint: maxHint + 1}}}
		if got := def.Problem(); got != "" {
			t.Error(got)
		}
	}
}

// A million types are refused by the Writer, and by a reader where another writer made them.
func TestSectionsHaveABoundOfTypes(t *testing.T) {
	race.Skip(t)
	w := NewWriter(io.Discard, WriterOptions{})
	if err := w.Begin(&Session{Id: 1}); err != nil {
		t.Fatal(err)
	}
	var payload []byte
	var d definitions
	for id := uint32(1); id <= MaxSectionTypes+1; id++ {
		def := &EventType{Id: id, Name: []byte("x")}
		if err := w.DefineType(def); (id > MaxSectionTypes) != errors.Is(err, ErrFull) {
			t.Fatalf("type %d: %v", id, err)
		}
		var err error
		if payload, err = appendMember(payload, 8, def); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.add(payload); err == nil || d.eventType(MaxSectionTypes) == nil || d.eventType(MaxSectionTypes+1) != nil {
		t.Errorf("%v, and %d types are used", err, d.types.count)
	}
}

func FuzzValues(f *testing.F) {
	def := request()
	whole, err := def.AppendTyped(nil, valuesOf(def, 3, 100), 100)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, int64(100))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		e := &Event{Kind: KindTyped, Time: at, Data: data}
		values, ok := def.AppendValues(nil, e)
		EachID(values, at, func(ValueType, uint32) {})
		for i := range values {
			for range values[i].Elements(at) {
			}
		}
		if !ok {
			return
		}
		again, err := def.AppendTyped(nil, values, at)
		if err != nil || len(again) > len(data) {
			t.Fatalf("%x became %x, %v", data, again, err)
		}
	})
}

// BenchmarkTyped reads events of three whole numbers.
func BenchmarkTyped(b *testing.B) {
	const events = 200_000
	var stream bytes.Buffer
	w := NewWriter(&stream, WriterOptions{Level: 1})
	def := &EventType{Id: 1, Name: []byte("sent"), Fields: []*TypeField{
		{Name: []byte("bytes"), Type: uint32(ValueType_VALUE_UINT)}, {Name: []byte("port"), Type: uint32(ValueType_VALUE_UINT)}, {Name: []byte("rc"), Type: uint32(ValueType_VALUE_INT)},
	}}
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(w.Begin(&Session{Id: 1, Open: 1}))
	must(w.DefineType(def))
	must(w.DefineTask(&Task{Id: 1, Tid: 1, Pid: 1}))
	e := &Event{Kind: KindTyped, Flags: FlagSubject, Task: 1}
	e.Typed().SetType(1)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range int64(events) {
		e.Time += 700 + rng.Int64N(300)
		values := []Value{{Number: rng.Uint64N(1500)}, {Number: 8000 + rng.Uint64N(4)}, {Number: uint64(i % 2)}}
		var err error
		e.Data, err = def.AppendTyped(e.Data[:0], values, e.Time)
		must(err)
		must(w.Write(e))
	}
	must(w.EndSection(&End{Last: true}))
	b.ReportAllocs()
	var values []Value
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(stream.Bytes()))
		must(err)
		n := 0
		for {
			e, err := r.Next()
			if err == io.EOF {
				break
			}
			must(err)
			var ok bool
			if values, ok = r.EventType(e.TypeID()).AppendValues(values[:0], e); ok && len(values) == 3 {
				n++
			}
		}
		r.Close()
		if n != events {
			b.Fatalf("%d events", n)
		}
	}
	b.ReportMetric(float64(stream.Len())/events, "bytes/event")
	b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func TestNamesOfLostTypesAreCut(t *testing.T) {
	var e Event
	e.Lost().SetType(make([]byte, MaxDataBytes))
	if n := len(e.Lost().TypeName()); n != maxTypeText {
		t.Errorf("%d bytes of a lost type's name are kept, want %d", n, maxTypeText)
	}
	e.Lost().ClearType()
	if of := e.Lost().TypeName(); len(of) != 0 {
		t.Errorf("a loss without a type has the name %q", of)
	}
}
