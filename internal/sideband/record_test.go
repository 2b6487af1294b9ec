package sideband

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// sorted sorts records by time.
func sorted(all []Record) []Record {
	slices.SortStableFunc(all, func(a, b Record) int {
		switch {
		case a.Time < b.Time:
			return -1
		case a.Time > b.Time:
			return 1
		}
		return 0
	})
	return all
}

func some(rng *rand.Rand) Record {
	number := func() uint64 {
		if rng.IntN(3) == 0 {
			return 0
		}
		return rng.Uint64() >> rng.IntN(64)
	}
	text := func(most int) []byte {
		b := make([]byte, rng.IntN(most))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	return Record{
		Kind: Kind(1 + rng.IntN(int(lastKind))), Cut: rng.IntN(2) == 0, Time: int64(number() >> 1),
		PID: uint32(number()), Parent: uint32(number()), CPU: uint32(number()), Count: number(),
		Start: number(), Length: number(), Offset: number(), Device: number(), Inode: number(), Generation: number(),
		BuildID: text(20), Path: text(100), Data: text(100),
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b []byte
	var want []Record
	for range 1000 {
		r := some(rng)
		want, b = append(want, r), Append(b, &r)
	}
	for i := range want {
		var got Record
		n, err := Next(b, &got)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("%+v became %+v", want[i], got)
		}
		b = b[n:]
	}
	if len(b) > 0 {
		t.Errorf("%d bytes are left", len(b))
	}
}

func TestLongestRecordFits(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 1<<20)
	r := Record{Time: 1<<63 - 1, PID: 1<<32 - 1, Parent: 1<<32 - 1, CPU: 1<<32 - 1, Count: 1<<64 - 1, BuildID: long, Path: long, Data: long}
	r.Start, r.Length, r.Offset, r.Device, r.Inode, r.Generation = r.Count, r.Count, r.Count, r.Count, r.Count, r.Count
	b := Append(nil, &r)
	if len(b) > MaxRecord {
		t.Fatalf("a record has %d bytes", len(b))
	}
	var got Record
	if n, err := Next(b, &got); err != nil || n != len(b) || len(got.Path) != maxPath {
		t.Errorf("%d, %v", n, err)
	}
}

func FuzzNext(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		r := some(rng)
		f.Add(Append(nil, &r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tables := NewTables()
		for len(b) > 0 {
			var r Record
			n, err := Next(b, &r)
			if err != nil {
				return
			}
			if n <= 0 || n > len(b) {
				t.Fatalf("a record of %d bytes out of %d", n, len(b))
			}
			tables.Apply(&r)
			tables.Resolve(r.PID, r.Start)
			b = b[n:]
		}
	})
}
