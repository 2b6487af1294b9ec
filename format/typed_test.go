package format

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
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
		"which cannot be":  {Fields: []*TypeField{{Name: []byte("a"), Type: 1, List: true, Hint: uint32(ValueHint_HINT_NAME)}}},
		"no number":        {Fields: []*TypeField{{Name: []byte("a"), Type: uint32(ValueType_VALUE_STRING), Hint: uint32(ValueHint_HINT_COUNTER)}}},
	} {
		if def.Name = []byte("x"); want == "has no name" {
			def.Name = nil
		}
		if got := def.Problem(); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

const typedText = `
section id=0x1 open=1000
  text 4 text="interned"
  task 2 tid=20 pid=20 comm="server"
  eventtype 7 name="request" shape=span on=thread track="requests"
    field "size" type=uint unit="bytes"
    field "status" type=enum
      enum 0 name="fine"
      enum -1 name="failed"
    field "path" type=string hint=name
    field "ratio" type=float
    field "peers" type=task list
    field "text" type=text
  eventtype 8 name="tick"
  +0.000000010 cpu1 typed 2 type=7 start=+0.000000002 .size=4096 .status=-1 .path="/a b" .ratio=0.25 .peers=2,2 .text=4
  +0.000000011 cpu1 typed 0 type=8
  +0.000000012 cpu1 typed 2 type=7 start=+0.000000012 .size=0 .status=0 .path="" .ratio=0 .peers= .text=0
end
`

func TestTypedEventsAsText(t *testing.T) {
	var stream, text bytes.Buffer
	if err := Undump(&stream, strings.NewReader(typedText)); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(bytes.NewReader(stream.Bytes()), func(f Finding) { t.Error(f.Text) }); err != nil {
		t.Fatal(err)
	}
	if err := Dump(&text, bytes.NewReader(stream.Bytes())); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(typedText) {
		if line = strings.TrimSpace(line); strings.Contains(line, "typed") && !strings.Contains(text.String(), line) {
			t.Errorf("%s is missing in\n%s", line, text.String())
		}
	}
	r, err := NewReader(bytes.NewReader(stream.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	def := r.EventType(e.TypeID())
	values, ok := def.AppendValues(nil, e)
	if start, isSpan := e.Start(); !ok || len(values) != 6 || !isSpan || start != 1002 || string(values[2].Bytes) != "/a b" || string(values[1].Field.EnumName(values[1].Int())) != "failed" {
		t.Errorf("got %v of %v", values, def)
	}
	if e, err = r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, isSpan := e.Start(); isSpan {
		t.Error("an instant has a start")
	}
}

func TestCheckFindsWrongTypedEvents(t *testing.T) {
	for want, events := range map[string]string{
		"is of event type 9":                    "+1 cpu0 typed 0 type=9",
		"do not match its type":                 `+1 cpu0 typed 0 type=7 start=+0 values="\x01"`,
		"names task 3":                          "+1 cpu0 typed 2 type=7 start=+0 .peers=2,3",
		"names text 5":                          "+1 cpu0 typed 2 type=7 start=+0 .text=5",
		"start is for spans":                    "+1 cpu0 typed 2 type=8 start=+0",
		"names eventtype 3, which":              "eventtype 10 ends=3",
		"eventtype 8 is defined twice":          "eventtype 8",
		"event type 11 has an unknown shape, 9": "eventtype 11 name=\"x\" shape=9",
	} {
		text := strings.Replace(typedText, "  +0.000000010 cpu1", events+"\n  +0.000000010 cpu1", 1)
		var stream bytes.Buffer
		if err := Undump(&stream, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		var found []string
		if _, err := Check(bytes.NewReader(stream.Bytes()), func(f Finding) { found = append(found, f.Text) }); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(found, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: found %q, want %q", events, all, want)
		}
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
