package proc

import "testing"

func TestUsageGrowsWithWork(t *testing.T) {
	before, err := ReadUsage()
	if err != nil {
		t.Fatal(err)
	}
	deadline := Monotonic() + 30e6
	for Monotonic() < deadline {
	}
	after, err := ReadUsage()
	if err != nil {
		t.Fatal(err)
	}
	if cost := after.CPU() - before.CPU(); cost <= 0 {
		t.Errorf("30 ms of work cost %v", cost)
	}
	if after.PeakRSS < 1<<20 {
		t.Errorf("peak memory is %d bytes, less than any Go program needs", after.PeakRSS)
	}
}
