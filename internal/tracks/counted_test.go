package tracks

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"wprof/format"
)

// Counters have the value of an interval from its beginning on, and fall to 0 where there is none for the next one. Stacks are added up.
func TestCountsAreCountersByKey(t *testing.T) {
	drawn(t, `
		eventtype 1 name="leaf" on=global probe="u:leaf"
		  field "stack" type=stack
		  field "arg0" type=uint hint=track
		  field "comm" type=string
		  field "events" type=uint hint=events
		  field "sum" type=int hint=counter unit="bytes"
		  field "buckets" type=uint list hint=buckets
		  field "interval" type=duration
		  field "unread" type=uint hint=unread
		+100 cpu0 typed 0 type=1 .stack=1 .arg0=5 .comm="one" .events=3 .sum=30 .buckets=0,0,0,0,3 .interval=100 .unread=0
		+101 cpu0 typed 0 type=1 .stack=2 .arg0=5 .comm="one" .events=1 .sum=10 .buckets=0,1 .interval=101 .unread=0
		+201 cpu0 typed 0 type=1 .stack=2 .arg0=5 .comm="one" .events=5 .sum=50 .buckets=0,5 .interval=99 .unread=0
	`, `
		1 counter "u:leaf arg0=5 comm=one events" of global = 4
		1 counter "u:leaf arg0=5 comm=one sum" of global = 40 bytes
		1 counter "u:leaf arg0=5 comm=one avg" of global = 10 bytes
		1 counter "u:leaf arg0=5 comm=one p50" of global = 10 bytes
		1 counter "u:leaf arg0=5 comm=one p99" of global = 15 bytes
		103 counter "u:leaf arg0=5 comm=one events" of global = 5
		202 counter "u:leaf arg0=5 comm=one events" of global = 0
		103 counter "u:leaf arg0=5 comm=one sum" of global = 50 bytes
		202 counter "u:leaf arg0=5 comm=one sum" of global = 0 bytes
		103 counter "u:leaf arg0=5 comm=one avg" of global = 10 bytes
		202 counter "u:leaf arg0=5 comm=one avg" of global = 0 bytes
		103 counter "u:leaf arg0=5 comm=one p50" of global = 1 bytes
		202 counter "u:leaf arg0=5 comm=one p50" of global = 0 bytes
		103 counter "u:leaf arg0=5 comm=one p99" of global = 1 bytes
		202 counter "u:leaf arg0=5 comm=one p99" of global = 0 bytes
	`)
}

func TestCountsOfKeysAreApart(t *testing.T) {
	drawn(t, `
		eventtype 1 name="leaf" on=global probe="u:leaf"
		  field "arg0" type=uint hint=track
		  field "comm" type=string
		  field "events" type=uint hint=events
		  field "interval" type=duration
		  field "unread" type=uint hint=unread
		+100 cpu0 typed 0 type=1 .arg0=5 .comm="one" .events=3 .interval=100 .unread=0
		+100 cpu0 typed 0 type=1 .arg0=5 .comm="a b" .events=4 .interval=100 .unread=0
		+101 cpu0 typed 0 type=1 .arg0=0 .comm="one" .events=5 .interval=100 .unread=1
		+410 cpu0 typed 0 type=1 .arg0=5 .comm="one" .events=6 .interval=100 .unread=0
	`, `
		1 counter "u:leaf arg0=5 comm=one events" of global = 3
		101 counter "u:leaf arg0=5 comm=one events" of global = 0
		1 counter "u:leaf arg0=5 comm=\"a b\" events" of global = 4
		101 counter "u:leaf arg0=5 comm=\"a b\" events" of global = 0
		2 counter "u:leaf arg0=? comm=one events" of global = 5
		102 counter "u:leaf arg0=? comm=one events" of global = 0
		311 counter "u:leaf arg0=5 comm=one events" of global = 6
		411 counter "u:leaf arg0=5 comm=one events" of global = 0
	`)
}

func TestCountsWithoutIntervalKeepTheirValue(t *testing.T) {
	drawn(t, `
		eventtype 1 name="leaf" probe="x"
		  field "events" type=uint hint=events
		+100 cpu0 typed 2 type=1 .events=3
		+200 cpu0 typed 2 type=1 .events=4
		+200 cpu0 typed 3 type=1 .events=5
	`, `
		101 counter "x leaf events" of thread 20 = 3
		201 counter "x leaf events" of thread 20 = 4
		201 counter "x leaf events" of thread 30 = 5
	`)
}

// Names of counters are bounded, and those of different keys differ.
func TestKeysDoNotShareCounters(t *testing.T) {
	long := strings.Repeat("é", 300)
	seen := make(map[string]string)
	for _, key := range [][2]string{
		{"a", "b"}, {"a b=b", ""}, {"a", "\"b\""}, {"?", "b"}, {"", "b"}, {"\x00", "b"}, {"\x01", "b"}, {long + "a", "b"}, {long + "b", "b"}, {long + "a", "c"},
	} {
		m := NewMaker(hostile{typ: &format.EventType{Name: []byte("x"), Fields: []*format.TypeField{
			{Name: []byte("a"), Type: uint32(format.ValueType_VALUE_STRING)}, {Name: []byte("b"), Type: uint32(format.ValueType_VALUE_STRING)},
			{Name: []byte("events"), Type: uint32(format.ValueType_VALUE_UINT), Hint: uint32(format.ValueHint_HINT_EVENTS)},
		}}})
		e := countEvent(t, m, key[0], key[1])
		m.Items(e)
		for _, i := range m.Close(10) {
			if before, found := seen[i.Track]; found || len(i.Track) > maxKeyShown+30 || strings.ContainsRune(i.Track, 0xfffd) {
				t.Errorf("%q has the counter %q, as %q", key, i.Track, before)
			}
			seen[i.Track] = fmt.Sprint(key)
		}
	}
}

func countEvent(t *testing.T, m *Maker, a, b string) *format.Event {
	t.Helper()
	e := &format.Event{Kind: format.KindTyped, Time: 5, Flags: format.FlagSubject}
	v := e.Typed()
	v.SetType(1)
	data, err := m.typed.types.of(1).def.AppendTyped(nil, []format.Value{{Bytes: []byte(a)}, {Bytes: []byte(b)}, {Number: 1}}, 5)
	if err != nil {
		t.Fatal(err)
	}
	v.SetValues(data)
	return e
}

// Of very many keys only some are kept, and each interval is drawn nevertheless.
func TestManyKeysTakeBoundedMemory(t *testing.T) {
	m := NewMaker(hostile{typ: &format.EventType{Name: []byte("x"), Fields: []*format.TypeField{
		{Name: []byte("a"), Type: uint32(format.ValueType_VALUE_STRING)}, {Name: []byte("b"), Type: uint32(format.ValueType_VALUE_STRING)},
		{Name: []byte("events"), Type: uint32(format.ValueType_VALUE_UINT), Hint: uint32(format.ValueHint_HINT_EVENTS)},
	}}})
	const keys = 100_000
	drawn := 0
	for n := range keys {
		items, _ := m.Items(countEvent(t, m, strings.Repeat("k", 300), fmt.Sprint(n)))
		drawn += len(items)
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if memory.HeapAlloc > 64<<20 {
		t.Errorf("%d bytes are in use", memory.HeapAlloc)
	}
	if drawn += len(m.Close(10)); drawn != keys {
		t.Errorf("%d of %d intervals are drawn", drawn, keys)
	}
}
