package tracks

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// edge is where a slice begins or ends.
type edge struct {
	at    int64
	slice int
	ends  bool
}

// mixedUp returns a slice whose end would end another one; -1: there is none. Viewers sort edges by time alone, and an end ends the
// slice that began last.
func mixedUp(drawn []drawnSlice) int {
	var edges []edge
	for i, s := range drawn {
		edges = append(edges, edge{s.from, i, false}, edge{s.to, i, true})
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	var open []int
	for _, e := range edges {
		if !e.ends {
			open = append(open, e.slice)
			continue
		}
		last := len(open) - 1
		if s := drawn[open[last]]; s.to != e.at {
			return open[last]
		}
		open = open[:last]
	}
	return -1
}

// Slices of a lane nest or do not overlap, for any input.
func TestSlicesOfALaneNest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var l Lanes
		placed := make([][]drawnSlice, MaxLanes)
		latest, later := int64(1000), 0
		for range 400 {
			latest += rng.Int64N(20)
			now := latest
			if rng.IntN(10) == 0 {
				now -= rng.Int64N(50) // a late one
			}
			from := now - rng.Int64N(1+rng.Int64N(300))
			if rng.IntN(2) == 0 {
				from = min(now, from-from%50) // many begin together
			}
			n, begin := l.Place(from, now)
			if begin > from {
				later++
			} else if from-begin > maxEarly {
				t.Fatalf("%d-%d begins at %d", from, now, begin)
			}
			placed[n] = append(placed[n], drawnSlice{from: begin, to: now})
		}
		for n := range placed {
			if i := mixedUp(placed[n]); i >= 0 {
				t.Fatalf("lane %d: %v would end at another's end: %v", n, placed[n][i], placed[n])
			}
		}
		if later > 200 {
			t.Fatalf("%d of 400 slices begin late", later)
		}
	}
}

// Slices that nest share a lane, also those that begin together; the outer one, which ends later, then begins earlier.
func TestNestedSlicesShareALane(t *testing.T) {
	type place struct {
		lane int
		from int64
	}
	var l Lanes
	var got []place
	for _, s := range []drawnSlice{
		{from: 10, to: 20}, {from: 12, to: 20}, {from: 5, to: 30}, {from: 30, to: 40}, {from: 1, to: 50}, {from: 50, to: 60},
		{from: 70, to: 80}, {from: 70, to: 90}, {from: 70, to: 90}, {from: 65, to: 100}, {from: 65, to: 100},
		{from: 100, to: 110}, {from: 100, to: 120},
	} {
		n, from := l.Place(s.from, s.to)
		got = append(got, place{n, from})
	}
	want := []place{{0, 10}, {1, 12}, {0, 5}, {0, 30}, {0, 1}, {0, 50}, {0, 70}, {0, 69}, {0, 68}, {0, 65}, {0, 64}, {0, 100}, {1, 100}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// However many slices begin together, each begins when it did, but for nanoseconds.
func TestManySlicesThatBeginTogether(t *testing.T) {
	var l Lanes
	for to := range int64(MaxLanes * maxEarly) {
		if n, from := l.Place(1000, 1001+to); from > 1000 {
			t.Fatalf("slice %d begins at %d in lane %d", to, from, n)
		}
	}
}

// An outer slice shares the lane of all that it contains, if slices are known to nest.
func TestOuterSliceOfManySharesTheirLane(t *testing.T) {
	const inner = 10 * maxSlices
	for _, nested := range []bool{false, true} {
		l := Lanes{Nested: nested}
		for i := range int64(inner) {
			l.Place(1000+10*i, 1005+10*i)
		}
		if n, from := l.Place(900, 2000+10*inner); (n == 0) != nested || from != 900 {
			t.Errorf("nested %v: lane %d, from %d", nested, n, from)
		}
	}
}
