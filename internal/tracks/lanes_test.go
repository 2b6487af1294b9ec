package tracks

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Slices of a lane nest or do not overlap, for any input.
func TestSlicesOfALaneNest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var l Lanes
		placed := make([][]interval, MaxLanes)
		now, latest := int64(1000), int64(1000)
		moved := 0
		for range 400 {
			latest += rng.Int64N(20)
			now = latest
			if rng.IntN(10) == 0 {
				now -= rng.Int64N(50) // a late one
			}
			from := now - rng.Int64N(1+rng.Int64N(300))
			n, begin := l.Place(from, now)
			if begin != from {
				moved++
			}
			for _, s := range placed[n] {
				if s.to > begin && s.from <= begin || s.from > begin && s.from < now && s.to > now {
					t.Fatalf("lane %d: %d-%d overlaps %d-%d", n, begin, now, s.from, s.to)
				}
			}
			placed[n] = append(placed[n], interval{begin, now})
		}
		if moved > 200 {
			t.Fatalf("%d of 400 slices were moved", moved)
		}
	}
}

// What nests takes one lane.
func TestNestedSlicesShareALane(t *testing.T) {
	var l Lanes
	var lanes []int
	for _, s := range []interval{{10, 20}, {12, 20}, {5, 30}, {30, 40}, {1, 50}, {50, 60}} {
		n, _ := l.Place(s.from, s.to)
		lanes = append(lanes, n)
	}
	if want := []int{0, 1, 0, 0, 0, 0}; !slices.Equal(lanes, want) {
		t.Errorf("lanes %v, want %v", lanes, want)
	}
}
