package tracks

import (
	"fmt"
	"strings"
	"testing"

	"wprof/format"
)

// defined are two types, 1 begins what 2 ends, with a key, 3 and 4 without, and 5 begins one of the whole machine.
type defined struct{}

func (defined) EventType(id uint32) *format.EventType {
	key := []*format.TypeField{{Name: []byte("id"), Type: uint32(format.ValueType_VALUE_UINT), Hint: uint32(format.ValueHint_HINT_KEY)}}
	switch id {
	case 1:
		return &format.EventType{Id: 1, Name: []byte("keyed"), Shape: uint32(format.TypeShape_SHAPE_BEGIN), Fields: key}
	case 2:
		return &format.EventType{Id: 2, Name: []byte("end"), Shape: uint32(format.TypeShape_SHAPE_END), Ends: 1, Fields: key}
	case 3:
		return &format.EventType{Id: 3, Name: []byte("nested"), Shape: uint32(format.TypeShape_SHAPE_BEGIN)}
	case 4:
		return &format.EventType{Id: 4, Name: []byte("end"), Shape: uint32(format.TypeShape_SHAPE_END), Ends: 3}
	case 5:
		return &format.EventType{Id: 5, Name: []byte("device"), Shape: uint32(format.TypeShape_SHAPE_BEGIN), On: uint32(format.TypeTrack_TRACK_GLOBAL), Fields: key}
	}
	return nil
}

func (defined) Text(uint32) *format.Text { return nil }
func (defined) Task(id format.TaskID) *format.Task {
	return &format.Task{Id: uint32(id), Tid: int32(id), Pid: 1}
}

func (defined) Command(uint32) *format.Command     { return nil }
func (defined) Wait(format.WaitID) *format.Wait    { return nil }
func (defined) Stack(format.StackID) *format.Stack { return nil }
func (defined) Frame(uint32) *format.Frame         { return nil }
func (defined) Clocks() []*format.ClockSnapshot    { return nil }
func (defined) Module(uint32) *format.Module       { return nil }

func event(at int64, typ uint64, values ...byte) *format.Event {
	e := &format.Event{Kind: format.KindTyped, Flags: format.FlagSubject, Time: at, Task: 5, Data: values}
	e.Typed().SetType(typ)
	return e
}

func shown(items []Item) string {
	var all []string
	for _, i := range items {
		all = append(all, fmt.Sprintf("%s %d-%d", i.Name, i.From, i.To))
	}
	return strings.Join(all, ", ")
}

// At any nesting depth, an end matches the latest open begin.
func TestEndsMatchTheLatestBegin(t *testing.T) {
	d := NewMaker(defined{}).typed
	const depth = maxNested + 36
	for i := range int64(depth) {
		d.of(event(i, 3))
	}
	for i := range int64(depth) {
		want := ""
		if begun := depth - 1 - i; begun < maxNested {
			want = fmt.Sprintf("nested %d-%d", begun, depth+i)
		}
		if got := shown(d.of(event(depth+i, 4))); got != want {
			t.Fatalf("end %d: %q, want %q", i, got, want)
		}
	}
	if got := shown(d.of(event(1000, 4))); got != "" {
		t.Errorf("an end without a begin: %s", got)
	}
}

// A span stays open however many others end in the meantime, and those still open at the end are ordered, the inner first.
func TestOpenSpansOutlastOthers(t *testing.T) {
	d := NewMaker(defined{}).typed
	d.of(event(1, 1, 127))
	for i := range int64(3 * maxBegun) {
		key := []byte{byte(i&63) | 0x80, byte(i>>6&127) | 0x80, byte(i >> 13)}
		d.of(event(10+2*i, 1, key...))
		if got := d.of(event(11+2*i, 2, key...)); len(got) != 1 {
			t.Fatalf("span %d is not drawn", i)
		}
	}
	d.of(event(1_000_000, 1, 126))
	if got := shown(d.close(2_000_000)); got != "keyed 1000000-2000000, keyed 1-2000000" {
		t.Errorf("open at the end: %s", got)
	}
}

// A span keeps the arguments that its ids meant when it began.
func TestSpansCrossSectionsWithTheirArguments(t *testing.T) {
	m := NewMaker(defined{})
	m.Items(event(1, 1, 9))
	m.Items(event(2, 5, 7))
	m.NewSection(&format.Session{})
	if got, _ := m.Items(event(3, 2, 9)); shown(got) != "keyed 1-3" || len(got[0].Args) != 1 || got[0].Args[0].Name != "id" || got[0].Task.Def.Tid != 5 {
		t.Errorf("got %s with %v", shown(got), got)
	}
	if got := m.Close(10); shown(got) != "device 2-10" || len(got[0].Args) != 2 || got[0].Args[0].Name != threadName || got[0].Task.Def.Tid != 5 {
		t.Errorf("still open: %s with %v", shown(got), got)
	}
}
