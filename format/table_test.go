package format

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"wprof/test/race"
)

// typesWithEnums are definitions with names of 300 numbers each.
func typesWithEnums(t testing.TB, ids ...uint32) *definitions {
	t.Helper()
	var names []*EnumName
	for n := range int64(300) {
		names = append(names, &EnumName{Number: n, Name: fmt.Appendf(nil, "number_%d", n)})
	}
	d := new(definitions)
	for _, id := range ids {
		payload, err := appendMember(nil, 8, &EventType{Id: id, Name: []byte("x"), Fields: []*TypeField{{Name: []byte("n"), Type: uint32(ValueType_VALUE_ENUM), Names: names}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.add(payload); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func upTo(n, step uint32) (ids []uint32) {
	for id := step; id <= n*step; id += step {
		ids = append(ids, id)
	}
	return ids
}

// Types that events use in turns are decoded once, also where a filter has left gaps between their ids.
func TestTypesInTurnsAreDecodedOnce(t *testing.T) {
	race.Skip(t)
	for name, ids := range map[string][]uint32{"some": upTo(60, 1), "many": upTo(350, 1), "with gaps": upTo(2, 16), "with wide gaps": upTo(40, 25)} {
		d, first := typesWithEnums(t, ids...), map[uint32]*EventType{}
		for range 3 {
			for _, id := range ids {
				got := d.eventType(id)
				if first[id] == nil {
					first[id] = got
				}
				if got == nil || got.Id != id || got != first[id] {
					t.Fatalf("%s: type %d is decoded again", name, id)
				}
			}
		}
	}
}

// Of more types than memory is for, part stays decoded.
func TestDecodedTypesAreBounded(t *testing.T) {
	race.Skip(t)
	ids := upTo(1000, 1)
	d, before := typesWithEnums(t, ids...), map[uint32]*EventType{}
	kept := 0
	for range 3 {
		for _, id := range ids {
			got := d.eventType(id)
			if got == before[id] {
				kept++
			}
			before[id] = got
		}
	}
	if kept < len(ids)/5 {
		t.Errorf("of 2,000 types that were used again %d were still decoded", kept)
	}
	before = nil
	if held := heapWithout(func() { d.types.decoded = nil }); held > maxDecodedMemory+1<<20 {
		t.Errorf("decoded types hold %d bytes, more than %d", held, maxDecodedMemory)
	}
	runtime.KeepAlive(d)
}

func heapWithout(drop func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	drop()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(before.HeapAlloc) - int64(after.HeapAlloc)
}

// Memory returns about what a type takes.
func TestTypesCountTheirMemory(t *testing.T) {
	empty := new(EventType)
	empty.Id, empty.Name = 1, []byte("x")
	for i := range maxTypeFields {
		f := &TypeField{Name: fmt.Appendf(nil, "f%d", i), Type: uint32(ValueType_VALUE_ENUM)}
		for range 1000 {
			f.Names = append(f.Names, new(EnumName))
		}
		empty.Fields = append(empty.Fields, f)
	}
	payload, err := appendMember(nil, 8, empty)
	if err != nil {
		t.Fatal(err)
	}
	d := new(definitions)
	if err := d.add(payload); err != nil {
		t.Fatal(err)
	}
	memory := int64(d.eventType(1).Memory())
	if held := heapWithout(func() { d.types.decoded = nil }); held > memory || held < memory/2 {
		t.Errorf("a type that takes %d bytes counts as %d", held, memory)
	}
	runtime.KeepAlive(d)
}

func TestTextsOfTheHighestLengthAreRead(t *testing.T) {
	var d definitions
	for id, n := range []int{0, maxTextBytes, maxTextBytes + 1} {
		payload, err := appendMember(nil, 9, &Text{Id: uint32(id), Text: bytes.Repeat([]byte("x"), n)})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.add(payload); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.text(1); got == nil || len(got.Text) != maxTextBytes {
		t.Error("a text of 64 KiB is lost")
	}
	if d.text(2) != nil {
		t.Error("a longer text is used")
	}
}
