package tracks

import (
	"math"
	"slices"
	"testing"

	"wprof/format"
)

// Counters are arguments beside the fields of an event, under names of their own; what is not known is none.
func TestCountsAreArguments(t *testing.T) {
	m := NewMaker(hostile{typ: &format.EventType{Name: []byte("x"), Fields: []*format.TypeField{
		{Name: []byte("cs"), Type: uint32(format.ValueType_VALUE_UINT)},
		{Name: []byte("counts"), Type: uint32(format.ValueType_VALUE_BYTES), Hint: uint32(format.ValueHint_HINT_COUNTS)},
	}}})
	shown := func(counts ...format.Count) (args []Arg) {
		data := format.AppendCounts(nil, counts)
		items, _ := m.Items(event(1, 1, append([]byte{9, byte(len(data))}, data...)...))
		return slices.Clone(items[0].Args)
	}
	if got := shown(format.Count{Number: 1, Known: true}); len(got) != 1 {
		t.Errorf("without counters there are %v", got)
	}
	m.NewSection(&format.Session{Counters: []*format.Counter{
		{Name: "cs", Event: "cs"}, {Name: "stack", Event: "x", Scale: "0.5", Unit: "J"}, {Name: "lost", Event: "y"}, {Name: "ratio", Over: 2, Under: 1}, {Name: "cs", Over: 1, Under: 3},
	}})
	float := func(f float64) uint64 { return math.Float64bits(f) }
	want := []Arg{
		{Name: "cs", Type: ArgUint, Number: 9}, {Name: "cs_", Type: ArgUint, Number: 4}, {Name: "stack_", Type: ArgFloat, Number: float(6), Unit: "J"},
		{Name: "ratio", Type: ArgFloat, Number: float(1.5)},
	}
	if got := shown(format.Count{Number: 4, Known: true}, format.Count{Number: 12, Known: true}, format.Count{}); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := shown(format.Count{}, format.Count{}); len(got) != 1 {
		t.Errorf("counts that are not known are %v", got)
	}
}
