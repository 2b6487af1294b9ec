package cli

import (
	"math"
	"testing"
)

func TestNumbersAreGrouped(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1: "-1", -123456: "-123,456", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	if got := Grouped(uint64(math.MaxUint64)); got != "18,446,744,073,709,551,615" {
		t.Errorf("got %s", got)
	}
	if got := Counted(1, "event") + ", " + Counted(2000, "event"); got != "1 event, 2,000 events" {
		t.Errorf("got %s", got)
	}
}
