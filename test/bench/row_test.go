package main

import "testing"

func TestIntervalOfTwentyRunsLeavesFiveOnEachSide(t *testing.T) {
	var r Row
	for i := 1; i <= 20; i++ {
		r.Runs = append(r.Runs, float64(i))
	}
	// Binomial(20, 1/2): P(X <= 5) = 0.0207, so the 6th smallest and the 6th largest bound the median at 95%.
	if lo, hi := r.Interval(); lo != 6 || hi != 15 {
		t.Errorf("interval of 1..20 = %v to %v, want 6 to 15", lo, hi)
	}
	if m := r.Median(); m != 10.5 {
		t.Errorf("median = %v, want 10.5", m)
	}
}

func TestIntervalOfFewRunsIsTheirRange(t *testing.T) {
	r := Row{Runs: []float64{3, 1, 2}}
	if lo, hi := r.Interval(); lo != 1 || hi != 3 {
		t.Errorf("interval = %v to %v, want 1 to 3", lo, hi)
	}
}

func TestUpperEndIsHeldWhereItIsPromised(t *testing.T) {
	r := Row{Hold: "1", Limit: 1, Runs: []float64{0.9, 0.95, 1.1}}
	if got := r.Held(); got != "yes" {
		t.Errorf("a median of 0.95 is held to be %q", got)
	}
	r.Upper = true
	if got := r.Held(); got != "**no**" {
		t.Errorf("an upper end of 1.1 is held to be %q", got)
	}
}
