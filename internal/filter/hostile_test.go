package filter

import (
	"bytes"
	"testing"

	"wprof/format"
	"wprof/format/check"
)

// hostile is a stream whose few events refer to very many tasks, texts, stacks and types that it does not define.
func hostile(t *testing.T) []byte {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var stream bytes.Buffer
	w := format.NewWriter(&stream, format.WriterOptions{Level: 1})
	must(w.Begin(&format.Session{Id: 1, Open: 1}))
	def := &format.EventType{Id: 1, Name: []byte("lists")}
	for _, typ := range []format.ValueType{format.ValueType_VALUE_TASK, format.ValueType_VALUE_STACK, format.ValueType_VALUE_TEXT} {
		def.Fields = append(def.Fields, &format.TypeField{Name: []byte(typ.String()), Type: uint32(typ), List: true})
	}
	must(w.DefineType(def))
	must(w.DefineType(&format.EventType{Id: 2, Name: []byte("loop"), Shape: uint32(format.TypeShape_SHAPE_END), Ends: 3}))
	must(w.DefineType(&format.EventType{Id: 3, Name: []byte("pool"), Shape: uint32(format.TypeShape_SHAPE_END), Ends: 2}))
	must(w.DefineType(&format.EventType{Id: 4, Name: []byte("self"), Shape: uint32(format.TypeShape_SHAPE_END), Ends: 4}))
	must(w.DefineType(&format.EventType{Id: 5, Name: []byte("lost"), Shape: uint32(format.TypeShape_SHAPE_END), Ends: 99}))
	e := &format.Event{Kind: format.KindTyped, Flags: format.FlagSubject, Time: 1}
	for id := range uint64(5) {
		e.Typed().SetType(id + 1)
		if e.Data = nil; id == 0 {
			e.Data = []byte{0, 0, 0}
		}
		must(w.Write(e))
	}
	id := uint64(1 << 20) // long ids: they take more room where they are defined than in lists
	for range 70 {
		values := make([]format.Value, len(def.Fields))
		for i := range values {
			for range 7000 {
				id++
				values[i].Number++
				values[i].Bytes = format.AppendElement(values[i].Bytes, def.Fields[i], &format.Value{Number: id}, 0)
			}
		}
		var err error
		e.Time++
		e.Typed().SetType(1)
		e.Data, err = def.AppendTyped(nil, values, e.Time)
		must(err)
		must(w.Write(e))
	}
	must(w.EndSection(&format.End{Close: e.Time, Last: true}))
	return stream.Bytes()
}

// Placeholders for lost definitions stay within what readers accept.
func TestLostDefinitionsAreBounded(t *testing.T) {
	var out bytes.Buffer
	f, err := New(bytes.NewReader(hostile(t)), &out, false, Options{Level: 1})
	if err != nil {
		t.Fatal(err)
	}
	result, err := f.Run()
	if err != nil || result.Damage == nil || result.Kept < 40 || result.Kept > 100 {
		t.Errorf("kept %d events, damage %v, %v: want those for whose definitions there is room", result.Kept, result.Damage, err)
	}
	if _, err := check.Stream(&out, func(f check.Finding) { t.Errorf("%d: %s", f.Offset, f.Text) }); err != nil {
		t.Error(err)
	}
}
