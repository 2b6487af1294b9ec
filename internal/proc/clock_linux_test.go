package proc

import (
	"testing"
	"time"
)

func TestClocksAreReadAtOneMoment(t *testing.T) {
	before, wallBefore := Monotonic(), time.Now().UnixNano()
	clocks, err := ReadClocks()
	if err != nil {
		t.Fatal(err)
	}
	after, wallAfter := Monotonic(), time.Now().UnixNano()
	if clocks.Monotonic < before || clocks.Monotonic > after {
		t.Errorf("monotonic %d is outside of %d..%d", clocks.Monotonic, before, after)
	}
	if clocks.Realtime < wallBefore || clocks.Realtime > wallAfter {
		t.Errorf("realtime %d is outside of %d..%d", clocks.Realtime, wallBefore, wallAfter)
	}
	if clocks.Boottime < clocks.Monotonic {
		t.Errorf("boottime %d is before monotonic %d", clocks.Boottime, clocks.Monotonic)
	}
	again, err := ReadClocks()
	if err != nil {
		t.Fatal(err)
	}
	// Two snapshots must agree on how far the clocks are apart; the wall clock may be slewed a little meanwhile.
	first, second := clocks.Realtime-clocks.Monotonic, again.Realtime-again.Monotonic
	if apart := max(first-second, second-first); apart > 20_000 {
		t.Errorf("two snapshots differ by %d ns", apart)
	}
}
