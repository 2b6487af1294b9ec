package profile

import (
	"errors"
	"math/rand/v2"
	"testing"

	"wprof/internal/timeline"
)

// Spans in any order become the times that any of them covers.
func TestSpansThatOverlapCountOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	key := timeline.Key{TID: 1}
	for range 200 {
		in := &Inside{threads: make(map[timeline.Key][]stretch), most: 1000}
		var covered [200]bool
		for range random.IntN(40) {
			from := random.Int64N(190)
			to := from + random.Int64N(10)
			if err := in.add(key, from, to); err != nil {
				t.Fatal(err)
			}
			for at := from; at < to; at++ {
				covered[at] = true
			}
		}
		from := random.Int64N(200)
		to := from + random.Int64N(200-from)
		var want int64
		for at := from; at < to; at++ {
			if covered[at] {
				want++
			}
		}
		if got := in.length(key, from, to); got != want || in.count != len(in.threads[key]) {
			t.Errorf("%d to %d: %d inside, want %d; %d stretches, %d counted", from, to, got, want, len(in.threads[key]), in.count)
		}
		if got := in.length(timeline.Key{TID: 2}, 0, 200); got != 0 {
			t.Errorf("another thread is inside for %d", got)
		}
	}
}

func TestSpansInsideAreBounded(t *testing.T) {
	in := &Inside{threads: make(map[timeline.Key][]stretch), most: 3}
	var err error
	for i := int64(0); i < 5 && err == nil; i++ {
		err = in.add(timeline.Key{TID: int32(i % 2)}, 10*i, 10*i+1)
	}
	if !errors.Is(err, ErrInside) {
		t.Error(err)
	}
	var all *Inside
	if got := all.length(timeline.Key{}, 5, 7); got != 2 {
		t.Errorf("%d without spans", got)
	}
}
