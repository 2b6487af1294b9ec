package format

import (
	"math"
	"testing"
	"time"
)

func TestWallTimeIsThatOfTheNearestClockSnapshot(t *testing.T) {
	clocks := []*ClockSnapshot{
		{Monotonic: math.MinInt64, Realtime: 7e9},
		{Monotonic: 10e9},
		{Monotonic: 20e9, Realtime: 1000e9},
		{Monotonic: 40e9, Realtime: 3020e9}, // set in between
	}
	for at, want := range map[int64]int64{10e9: 990e9, 20e9: 1000e9, 29e9: 1009e9, 31e9: 3011e9, 50e9: 3030e9} {
		if got := WallTime(clocks, at); !got.Equal(time.Unix(0, want)) || got.Location() != time.UTC {
			t.Errorf("at %d: got %s, want %s", at, got, time.Unix(0, want).UTC())
		}
	}
	if got := WallTime(clocks[1:2], 10e9); !got.IsZero() {
		t.Errorf("without a time of day: got %s", got)
	}
}
