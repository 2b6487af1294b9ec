package around

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"wprof/internal/spill"
)

func TestQuantilesAreThoseOfTheSortedValues(t *testing.T) {
	for _, limit := range []int{64, spill.InMemory} { // in a file, and in memory
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 1))
			store := spill.NewStore(limit, "durations")
			d := &durations{chain: store.Chain()}
			values := make([]int64, 1+rng.IntN(3000))
			for i := range values {
				values[i] = rng.Int64N(math.MaxInt64) >> rng.IntN(63)
				if err := d.add(values[i]); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(values)
			for _, q := range []Quantile{1, median, 900_000, 990_000, 999_000, 999_999} {
				rank := int(math.Ceil(float64(q) * float64(len(values)) / float64(whole)))
				got, err := d.value(q.Rank(d.count))
				if err != nil || got != values[rank-1] {
					t.Fatalf("seed %d, quantile %d of %d: %d, %v, want %d", seed, q, len(values), got, err, values[rank-1])
				}
			}
			store.Close()
		}
	}
	if v, err := new(durations).value(1); err != nil || v != math.MaxInt64 {
		t.Errorf("of nothing: %d, %v", v, err)
	}
	if r := Quantile(990_000).Rank(math.MaxUint64 / 2); r < math.MaxUint64/2/100*98 || r > math.MaxUint64/2 {
		t.Errorf("of very many: %d", r)
	}
}
