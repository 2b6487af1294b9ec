package tracks

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"wprof/format"
)

// hostile defines every id as the same type, but for that of the begin that it ends.
type hostile struct {
	defined
	typ   *format.EventType
	begin *format.EventType // nil: none
}

func (h hostile) EventType(id uint32) *format.EventType {
	if h.begin != nil && id == h.typ.Ends {
		return h.begin
	}
	return h.typ
}

// FuzzTyped draws events of any type that a reader accepts with any values. What is drawn is bounded, ends after it begins, has
// arguments with different names, and nothing stays open after the end.
func FuzzTyped(f *testing.F) {
	for shape := range uint32(4) {
		def := &format.EventType{Id: 1, Name: []byte("x"), Shape: shape, On: shape}
		if shape == uint32(format.TypeShape_SHAPE_END) {
			def.Ends = 1
		}
		for typ := format.ValueType_VALUE_UINT; typ <= format.ValueType_VALUE_STACK; typ++ {
			name := []byte{'a' + byte(typ)}
			def.Fields = append(def.Fields, &format.TypeField{Name: name, Type: uint32(typ), List: typ%2 == 0, Hint: uint32(typ) % 5 * uint32(typ%2)})
		}
		b, err := proto.Marshal(def)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, make([]byte, 24), int64(100), int64(50))
	}
	f.Fuzz(func(t *testing.T, definition, values []byte, at, start int64) {
		def := new(format.EventType)
		if proto.Unmarshal(definition, def) != nil || def.Problem() != "" || at < 0 || at > format.MaxTime || start < 0 || start > at {
			return
		}
		h := hostile{typ: def}
		id := uint64(1)
		if def.Shape == uint32(format.TypeShape_SHAPE_END) {
			h.begin = proto.Clone(def).(*format.EventType)
			h.begin.Shape, h.begin.Ends = uint32(format.TypeShape_SHAPE_BEGIN), 0
			id = uint64(def.Ends) + 1
		}
		m := NewMaker(h)
		d := &m.typed
		if h.begin != nil {
			d.of(event(at, id-1, values...))
			values = slices.Clone(values)
			slices.Reverse(values)
		}
		e := event(at, id, values...)
		if def.Shape == uint32(format.TypeShape_SHAPE_SPAN) {
			e.Typed().SetStart(start)
		}
		items := append([]Item(nil), d.of(e)...)
		items = append(items, d.of(e)...)
		for _, i := range append(items, d.close(at)...) {
			if i.From > i.To {
				t.Errorf("%q lasts from %d to %d", i.Name, i.From, i.To)
			}
			names := map[string]bool{stackName: i.Stack != nil}
			for _, a := range i.Args {
				if names[a.Name] {
					t.Errorf("%q has two arguments %q", i.Name, a.Name)
				}
				if names[a.Name] = true; len(a.Text) > maxText {
					t.Errorf("%q has an argument of %d bytes", i.Name, len(a.Text))
				}
			}
		}
		if left := d.close(at); len(left) > 0 {
			t.Errorf("%d spans are still open", len(left))
		}
	})
}
