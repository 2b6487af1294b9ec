package records

import (
	"maps"
	"testing"

	"wprof/format"
)

// A kind without a row of its own has records with all fields of its events, under the same names.
func TestPlainKindsHaveWhatTheirEventsHave(t *testing.T) {
	const late, hot = 1 << 4, 1 << 5
	of := format.KindInfo{Kind: format.KindLost, Name: "served", Start: "from", Doc: "A request was served.",
		Fields: []format.Field{
			{Name: "from", Type: format.FieldTime, Doc: "when it came"},
			{Name: "bytes", Type: format.FieldUint, Doc: "of the answer"},
			{Name: "status", Type: format.FieldSint, Doc: "its status"},
			{Name: "queued", Type: format.FieldTime, Opt: late, Doc: "when it was queued"},
			{Name: "state", Type: format.FieldState, Doc: "of the server"},
			{Name: "path", Type: format.FieldBytes, Doc: "that was requested"},
		},
		Flags: []format.FlagInfo{{Name: "hot", Bit: hot, Doc: "it was in the cache"}},
	}
	kind := plainKind(&of)
	assignSlots(kind.Fields)
	m := &Maker{first: 1000, opened: 1000, states: states()}
	e := format.Event{Kind: of.Kind, Time: 2500, Args: [format.MaxArgs]uint64{1900, 77, ^uint64(0), 1800, uint64(format.StateStopped)}, Data: []byte("/x")}
	for flags, want := range map[format.Flags]map[string]any{
		0:               {"dur": int64(600), "start_ts": int64(900), "bytes": int64(77), "status": int64(-1), "state": "stopped", "path": "/x"},
		late | hot:      {"dur": int64(600), "start_ts": int64(900), "bytes": int64(77), "status": int64(-1), "queued": int64(800), "state": "stopped", "path": "/x", "hot": "yes"},
		format.FlagOpen: {"dur": int64(600), "start_ts": int64(900), "open": "yes", "bytes": int64(77), "status": int64(-1), "state": "stopped", "path": "/x"},
	} {
		e.Flags = flags
		r := &Record{}
		m.fillPlain(r, &e, &kind)
		if got := valuesOf(&kind, r); !maps.Equal(got, want) {
			t.Errorf("flags %#x: got %v, want %v", flags, got, want)
		}
	}
	e.Args[0] = 900
	r := &Record{}
	m.fillPlain(r, &e, &kind)
	if got := valuesOf(&kind, r); got["start_ts"] != nil || got["dur"] != int64(1600) {
		t.Errorf("one that began before the window: %v", got)
	}
}

func valuesOf(k *KindInfo, r *Record) map[string]any {
	all := map[string]any{}
	for i, f := range k.Fields {
		switch {
		case r.Lacks(i):
		case f.Type == TypeArgs:
		case f.Type == TypeLabel:
			all[f.Name] = r.Labels[f.Slot]
		case f.Type == TypeText:
			all[f.Name] = r.Text
		case f.Type == TypeWord:
			all[f.Name] = f.Words[r.Values[f.Slot]]
		default:
			all[f.Name] = r.Values[f.Slot]
		}
	}
	return all
}

// A kind of events with the name of a row without a source replaces that row: the row's number stays, and no name occurs twice.
func TestPlainKindReplacesTheRowOfItsName(t *testing.T) {
	kinds := kindsOf(append(format.Kinds(), format.KindInfo{Kind: format.MaxKind + 1, Name: "softirq", Start: "entered", Fields: []format.Field{
		{Name: "entered", Type: format.FieldTime}, {Name: "vector", Type: format.FieldUint},
	}}))
	if len(kinds) != len(Kinds()) {
		t.Errorf("%d kinds, want %d as without it", len(kinds), len(Kinds()))
	}
	k := kinds[SoftIRQ-1]
	if k.Name != "softirq" || k.Kind != SoftIRQ || !k.IsAvailable() || k.Fields[len(k.Fields)-1].Name != "vector" {
		t.Errorf("got %+v, want the fields of the events", k)
	}
}
