package main

import (
	"fmt"
	"math"
	"slices"
)

// Row is one figure: what was measured, every run of it, and what it should hold.
type Row struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Hold    string    `json:"hold"` // the limit, as it is written; "" for a peer's figure
	Limit   float64   `json:"limit"`
	AtLeast bool      `json:"at_least"`        // the limit is a lower one
	Upper   bool      `json:"upper,omitempty"` // the upper end of the interval is held against it, not the median
	Runs    []float64 `json:"runs"`
	Command string    `json:"command"`
	Note    string    `json:"note,omitempty"`
	Machine string    `json:"machine"`        // that it was measured on
	Last    *float64  `json:"last,omitempty"` // median of the last whole report
}

// Median of the runs; NaN without any.
func (r Row) Median() float64 { return median(r.Runs) }

// Held reports whether the limit is met: "yes", "no", or "" without a limit.
func (r Row) Held() string {
	if r.Hold == "" {
		return ""
	}
	m := r.Median()
	if r.Upper {
		_, m = r.Interval()
	}
	if (r.AtLeast && m >= r.Limit) || (!r.AtLeast && m <= r.Limit) {
		return "yes"
	}
	return "**no**"
}

func median(runs []float64) float64 {
	if len(runs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(runs))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}

// Interval is the 95% interval of the median by order statistics: the k-th smallest and k-th largest run, k chosen by
// the binomial distribution. With fewer than six runs no such interval exists and the extremes are given.
func (r Row) Interval() (lo, hi float64) {
	n := len(r.Runs)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	s := slices.Sorted(slices.Values(r.Runs))
	k, tail, p := 0, 0.0, math.Pow(0.5, float64(n))
	for i := 0; i < n/2; i++ {
		tail += p
		if tail > 0.025 {
			break
		}
		k = i + 1
		p = p * float64(n-i) / float64(i+1)
	}
	if k == 0 {
		return s[0], s[n-1]
	}
	return s[k-1], s[n-k]
}

func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 1000:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}
