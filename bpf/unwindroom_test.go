//go:build linux && amd64

package bpf

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"wprof/internal/unwind"
)

// Ranges are reused when they are released, merged with their neighbours, and never overlap.
func TestRoomIsReused(t *testing.T) {
	var r room
	const limit = 100
	alloc := func(words uint32) wordRange {
		t.Helper()
		got, ok := r.alloc(words, limit)
		if !ok {
			t.Fatalf("no room for %d words in %+v", words, r)
		}
		return got
	}
	a, b, c := alloc(10), alloc(20), alloc(30)
	if a != (wordRange{0, 12}) || b != (wordRange{12, 32}) || c != (wordRange{32, 64}) {
		t.Fatalf("got %v %v %v", a, b, c)
	}
	if _, ok := r.alloc(40, limit); ok {
		t.Error("40 words fit after 64 of 100")
	}
	r.release(a)
	r.release(b)
	if got := alloc(32); got != (wordRange{0, 32}) {
		t.Errorf("two ranges that were released beside each other: got %v", got)
	}
	r.release(c)
	if got := alloc(68); got != (wordRange{32, 100}) {
		t.Errorf("the last range was released: got %v", got)
	}
	if _, ok := r.alloc(1<<32-1, limit); ok {
		t.Error("4 G words fit")
	}
}

// Where the memory is full, the tables that are not in use leave, those that were not used for the longest time first.
func TestLeastUsedTablesLeave(t *testing.T) {
	tracer := mustLoad(t, Options{Unwind: Unwinding{Tables: true, Memory: 2 * unwindChunkBytes}})
	u := tracer.UnwindTables()
	file := func(n uint64) UnwindFile { return UnwindFile{Inode: n} }
	table := &unwind.Table{Rules: []unwind.Rule{{}}, Pages: []uint32{0, unwindChunkWords / 2}, Rows: make([]uint32, unwindChunkWords/2)}
	add := func(n uint64, isNeeded bool) []UnwindFile {
		t.Helper()
		removed, err := u.Add(file(n), table, Interpreter{}, isNeeded)
		must(t, err)
		return removed
	}
	add(1, false)
	must(t, tracer.SetGeneration(1))
	add(2, true)
	add(3, false)
	if got := add(4, true); !slices.Equal(got, []UnwindFile{file(1)}) && !slices.Equal(got, []UnwindFile{file(1), file(3)}) {
		t.Errorf("removed %v", got)
	}
	must(t, tracer.SetGeneration(2))
	for n := uint64(5); n < 8; n++ {
		add(n, true)
	}
	if _, err := u.Add(file(8), table, Interpreter{}, true); !errors.Is(err, ErrUnwindFull) {
		t.Errorf("all tables are in use: got %v, want %v", err, ErrUnwindFull)
	}
	var left []uint64
	var entry unwindTable
	var key UnwindFile
	spans := map[wordRange]bool{}
	for entries := u.files.Iterate(); entries.Next(&key, &entry); {
		left = append(left, key.Inode)
		spans[wordRange{entry.RulesAt, entry.RowsAt + uint32(len(table.Rows))}] = true
	}
	slices.Sort(left)
	if !slices.Equal(left, []uint64{5, 6, 7}) || u.Bytes() != 2*unwindChunkBytes {
		t.Errorf("the tables of %v are left, in %d bytes", left, u.Bytes())
	}
	end := uint32(0)
	for _, s := range slices.SortedFunc(maps.Keys(spans), func(a, b wordRange) int { return int(a.at) - int(b.at) }) {
		if s.at < end {
			t.Errorf("tables overlap: %v", spans)
		}
		end = s.end
	}
}
