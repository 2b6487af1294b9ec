package format

import "testing"

func TestRecordKeyHasAllBytes(t *testing.T) {
	for size := 8; size <= 24; size++ {
		rec := make([]byte, size)
		before, ok := keyOf(rec)
		if !ok {
			t.Fatalf("a record of %d bytes has no key", size)
		}
		for i := range rec {
			rec[i] = 1
			if after, _ := keyOf(rec); after == before {
				t.Errorf("byte %d of %d is not in the key", i, size)
			}
			rec[i] = 0
		}
	}
}

// TestRepeatOfNewerVersion decodes a record of a newer version, which may have unknown states, and then the same record of this one.
func TestRepeatOfNewerVersion(t *testing.T) {
	const unknownState = State(1 << 30)
	block := NewEventBlock()
	e := Event{Time: 1, Kind: KindSwitch, Flags: FlagsVisible, CPU: 1, Task: 2}
	e.Switch().SetNext(3)
	e.Switch().SetPrevState(unknownState)
	if err := block.Add(&e); err != nil {
		t.Fatal(err)
	}
	h, payload := block.Header(), block.AppendPayload(nil)
	d := eventDecoder{layouts: newLayouts()}
	for _, newer := range []bool{true, true, false} {
		d.newer = newer
		if err := d.start(&h, payload); err != nil {
			t.Fatal(err)
		}
		var got Event
		if ok, err := d.next(&got); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if (d.fault == "") != newer {
			t.Errorf("newer version %v: fault %q", newer, d.fault)
		}
	}
}
