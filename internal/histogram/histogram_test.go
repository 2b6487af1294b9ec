package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A quantile is in the bucket of the one of the sorted amounts.
func TestQuantilesAreInTheirBucket(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, most := range []int64{1, 2, 3, 100, 1e6, math.MaxInt64} {
		var c Counts
		var all []int64
		for range 1 + random.IntN(1000) {
			amount := random.Int64N(most) - most/10
			all = append(all, amount)
			c.Add(Of(amount), 1)
		}
		slices.Sort(all)
		if c.Total() != uint64(len(all)) {
			t.Errorf("%d amounts are %d", len(all), c.Total())
		}
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			want := Of(all[max(1, int(math.Ceil(q*float64(len(all)))))-1])
			got := c.Quantile(q)
			if low := float64(Low(want)); got < low || got > max(low, 2*low-1) || got == 0 && want > 0 {
				t.Errorf("up to %d: quantile %g is %g, which is not in bucket %d", most, q, got, want)
			}
		}
	}
}

func TestBucketsAreThoseOfTheFormat(t *testing.T) {
	for amount, want := range map[int64]int{math.MinInt64: 0, -1: 0, 0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 7: 3, 8: 4, math.MaxInt64: 63} {
		if got := Of(amount); got != want || want > 0 && (Low(got) > uint64(amount) || 2*Low(got)-1 < uint64(amount)) {
			t.Errorf("%d is in bucket %d, want %d", amount, got, want)
		}
	}
}

func TestCountsDoNotOverflow(t *testing.T) {
	var c Counts
	c.AddAll(slices.Values(slices.Repeat([]uint64{math.MaxUint64}, 100)))
	c.Merge(&c)
	first, last, ok := c.Range()
	if c.Total() != math.MaxUint64 || c.Most() != math.MaxUint64 || first != 0 || last != 63 || !ok {
		t.Errorf("%d from %d to %d", c.Total(), first, last)
	}
	if q := c.Quantile(0.5); math.IsNaN(q) || Of(int64(q)) != 32 && Of(int64(q)) != 31 {
		t.Errorf("the median is %g", q)
	}
	if _, _, ok := new(Counts).Range(); ok || new(Counts).Quantile(0.5) != 0 {
		t.Error("nothing has a range, or a median")
	}
}
