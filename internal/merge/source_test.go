package merge

import (
	"slices"
	"testing"
)

func TestMarkIsTheClockOfTheLastRoundThatWasDrainedWhole(t *testing.T) {
	s := &source{}
	var got []int64
	for _, r := range []struct {
		time              int64
		producer, drained uint64
	}{
		{10, 100, 100}, {20, 200, 150}, {30, 300, 150}, {40, 400, 200}, {50, 400, 299}, {60, 500, 300}, {70, 500, 500},
	} {
		s.roundEnded(r.time, r.producer, r.drained)
		got = append(got, s.mark)
	}
	if want := []int64{10, 10, 10, 20, 20, 30, 70}; !slices.Equal(got, want) {
		t.Errorf("marks %v, want %v", got, want)
	}
}
