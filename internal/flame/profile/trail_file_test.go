package profile

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/spill"
)

// piecesOf are copies of all pieces of a trail.
func piecesOf(t *testing.T, trail Trail) (all []Piece) {
	t.Helper()
	if err := trail.Each(func(p *Piece) error {
		all = append(all, *p)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// randomPiece makes pieces with few values, so that neighbours are often equal.
func randomPiece(r *rand.Rand, from int64) Piece {
	p := Piece{From: from, To: from + r.Int64N(1000), CPU: NoCPU, Class: Class(r.IntN(2)) + ClassOnCPU, Stack: NodeID(r.IntN(2))}
	if r.IntN(8) == 0 {
		p.State, p.CPU, p.Label = format.StateInterruptible, r.Uint32(), LabelID(r.Uint32())
	}
	return p
}

// A trail returns what was added, whatever other threads add in between, from memory and from the file.
func TestTrailReturnsWhatWasAdded(t *testing.T) {
	for _, limit := range []int{100, 5000, 1 << 30} {
		s := newTrails(limit)
		defer s.Close()
		r := rand.New(rand.NewPCG(1, uint64(limit)))
		var want [50][]Piece
		var got [50]*threadTrail
		for i := range got {
			got[i] = s.thread()
		}
		for range 20_000 {
			i := r.IntN(len(got))
			from := r.Int64N(1000)
			if n := len(want[i]); n > 0 {
				from = want[i][n-1].To + r.Int64N(3)/2*r.Int64N(1<<40)
			}
			p := randomPiece(r, from)
			if err := got[i].add(p); err != nil {
				t.Fatal(err)
			}
			want[i] = appendMerged(want[i], p)
			if r.IntN(1000) == 0 {
				if err := got[i].end(); err != nil {
					t.Fatal(err)
				}
				if all := piecesOf(t, got[i]); !reflect.DeepEqual(all, want[i]) {
					t.Fatalf("limit %d: thread %d after its end: got %d pieces, want %d", limit, i, len(all), len(want[i]))
				}
				want[i], got[i] = nil, s.thread()
			}
		}
		for i := range got {
			if all := piecesOf(t, got[i]); !reflect.DeepEqual(all, want[i]) {
				t.Fatalf("limit %d: thread %d: got %d pieces, want %d", limit, i, len(all), len(want[i]))
			}
		}
	}
}

// appendMerged is a plain implementation of what add promises.
func appendMerged(all []Piece, p Piece) []Piece {
	if p.From == p.To {
		return all
	}
	if n := len(all); n > 0 {
		last := all[n-1]
		if last.To == p.From && last.Class == p.Class && last.State == p.State && last.CPU == p.CPU && last.Label == p.Label &&
			last.Stack == p.Stack {
			all[n-1].To = p.To
			return all
		}
	}
	return append(all, p)
}

// Memory does not grow with the number of pieces, and with short-lived threads by a few words each at most.
func TestTrailsOfMillionsOfPiecesStayOutOfMemory(t *testing.T) {
	const threads, rounds = 20_000, 200
	t.Setenv("TMPDIR", t.TempDir())
	s := newTrails(spill.InMemory)
	defer s.Close()
	all := make([]*threadTrail, threads)
	before, peak := heapBytes(), uint64(0)
	for round := range int64(rounds) {
		for i := range all {
			if all[i] == nil {
				all[i] = s.thread()
			}
			p := Piece{From: round * 1e6, To: (round + 1) * 1e6, Class: ClassOnCPU, CPU: uint32(i), Stack: NodeID(round), Label: LabelID(i)}
			if err := all[i].add(p); err != nil {
				t.Fatal(err)
			}
		}
		if round%20 == 0 {
			peak = max(peak, heapBytes())
		}
	}
	if used, limit := int64(peak-before)>>20, int64(spill.InMemory>>20+spill.MaxChunk>>20+threads*200>>20+4); used > limit {
		t.Errorf("%d MiB are in use for %d pieces, want %d at most", used, threads*rounds, limit)
	}
	var visited, ns int64
	for _, trail := range all {
		if err := trail.Each(func(p *Piece) error { visited++; ns += p.To - p.From; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if visited != threads*rounds || ns != threads*rounds*1e6 {
		t.Errorf("read %d pieces of %d ns back, want %d", visited, ns, threads*rounds)
	}
	t.Logf("%d pieces: %d MiB in memory at most", visited, int64(peak-before)>>20)
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// After a write error no incomplete trail is returned.
func TestTrailsReportWriteErrors(t *testing.T) {
	t.Setenv("TMPDIR", "/nonexistent")
	s := newTrails(0)
	defer s.Close()
	thread := s.thread()
	var err error
	for i := int64(0); i < 10 && err == nil; i++ {
		err = thread.add(Piece{From: i, To: i + 1, Stack: NodeID(i)})
	}
	if err == nil || !strings.Contains(err.Error(), "/nonexistent") || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("got %v", err)
	}
	if err := thread.Each(func(*Piece) error { return nil }); err == nil {
		t.Error("a trail that could not be kept is read as if it were whole")
	}
}
