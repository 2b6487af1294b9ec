package format

import (
	"math"
	"slices"
	"testing"
)

func TestCountsAreReadAsTheyWereWritten(t *testing.T) {
	counts := []Count{{}, {Number: 0, Known: true}, {Number: 7, Known: true, Scaled: true}, {Number: math.MaxInt64 >> 1, Known: true}}
	data := AppendCounts(nil, counts)
	if got := ReadCounts(nil, data); !slices.Equal(got, counts) {
		t.Errorf("%v became %v", counts, got)
	}
	if unknown := AppendCounts(nil, make([]Count, 3)); len(unknown) != 0 {
		t.Errorf("counts of which none is known take %d bytes", len(unknown))
	}
	if got := ReadCounts(nil, AppendCounts(nil, []Count{{Number: math.MaxUint64, Known: true}})); got[0].Number != math.MaxInt64>>1 {
		t.Errorf("too large a number became %d", got[0].Number)
	}
	if got := ReadCounts(nil, append(data[:2:2], 0xff)); len(got) != 2 {
		t.Errorf("damaged counts became %v", got)
	}
	if got := ReadCounts(nil, make([]byte, 1000)); len(got) != MaxCounters {
		t.Errorf("there are %d counts", len(got))
	}
}

func TestMetricsAreComputedFromCounts(t *testing.T) {
	c := NewCounters(&Session{Counters: []*Counter{
		{Name: "a"}, {Name: "b", Scale: "0.5"}, {Name: "c", Scale: "x"}, {Name: "b/a", Over: 2, Under: 1}, {Name: "none", Over: 99, Under: 1}, {Name: "itself", Over: 6, Under: 6},
	}})
	for _, one := range []struct {
		counts []Count
		want   []float64
	}{
		{[]Count{{Number: 4, Known: true}, {Number: 6, Known: true}, {Number: 1, Known: true}}, []float64{4, 3, 1, 0.75, math.NaN(), math.NaN()}},
		{[]Count{{Number: 0, Known: true}, {Number: 6, Known: true}}, []float64{0, 3, math.NaN(), math.NaN(), math.NaN(), math.NaN()}},
		{[]Count{{Number: 4}, {Number: 6, Known: true}}, []float64{math.NaN(), 3, math.NaN(), math.NaN(), math.NaN(), math.NaN()}},
		{nil, []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}},
	} {
		got := c.AppendValues(nil, one.counts)
		if !slices.EqualFunc(got, one.want, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
			t.Errorf("%v are %v, want %v", one.counts, got, one.want)
		}
	}
}

func FuzzCounts(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 0x80, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		counts := ReadCounts(nil, data)
		for len(counts) > 0 && !counts[len(counts)-1].Known {
			counts = counts[:len(counts)-1]
		}
		if again := ReadCounts(nil, AppendCounts(nil, counts)); !slices.Equal(again, counts) {
			t.Errorf("%v became %v", counts, again)
		}
	})
}
