package chrome

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"wprof/internal/timeline/simulate"
)

// The slices of a row do not overlap in a reader that adds in float64 either, whether from the beginning of the trace or from
// that of the row, as speedscope does.
func TestSlicesDoNotOverlapInFloats(t *testing.T) {
	type slice struct{ from, length float64 }
	neighbours := 0
	for seed := range uint64(10) {
		tr, _, _ := written(t, simulate.Stream(t, simulate.Options{Seed: seed, CPUs: 2, Threads: 12}, 3000), Options{})
		rows := make(map[int64][]slice)
		for _, e := range tr.TraceEvents {
			if e.Phase == "X" {
				rows[e.TID] = append(rows[e.TID], slice{micros(e.Time), micros(e.Duration)})
			}
		}
		for tid, row := range rows {
			slices.SortFunc(row, func(a, b slice) int { return cmp.Compare(a.from, b.from) })
			for _, zero := range []float64{0, row[0].from, -1e6 / 3} {
				for i, next := range row[1:] {
					if at := row[i].from - zero; at+row[i].length >= next.from-zero {
						t.Fatalf("row %d from %v: %+v reaches %+v", tid, zero, row[i], next)
					}
				}
			}
			neighbours += len(row) - 1
		}
	}
	if neighbours < 5000 {
		t.Errorf("only %d neighbours", neighbours)
	}
}

func TestLengthsHoldInLongTraces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	read := func(text []byte) float64 { return micros(json.Number(text)) }
	for range 100_000 {
		from, zero, ns := rng.Int64N(1e15), rng.Int64N(1e15), rng.Int64N(1e6)+1
		at, length, end := read(appendMicros(nil, from)), appendLength(nil, ns), read(appendMicros(nil, from+ns))
		if at-read(appendMicros(nil, zero))+read(length) > end-read(appendMicros(nil, zero)) || at+read(length) >= end {
			t.Fatalf("%d ns from %d ns, less %d ns: %s overlaps what comes next", ns, from, zero, length)
		}
		if got := strconv.FormatFloat(read(length), 'f', 3, 64); got != string(appendMicros(nil, ns)) {
			t.Fatalf("%d ns are written %s, which is rounded to %s", ns, length, got)
		}
	}
	if got := string(appendLength(nil, 0)); got != "0.000" {
		t.Errorf("0 ns are written %s", got)
	}
}
