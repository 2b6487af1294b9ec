package info

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wprof/internal/timeline"
	"wprof/test/fromtext"
)

func TestProbesAreListed(t *testing.T) {
	r := fromtext.Reader(t, `
section open=1000 close=+2s
task 2 tid=2 pid=2 comm=app
eventtype 1 name=malloc group=probe probe=m definition="uspan:malloc (arg:0)" entry
eventtype 2 name=malloc group=probe probe=m definition="uspan:malloc (arg:0)" shape=span
eventtype 3 name=main group=probe probe=main definition="u:main ()"
eventtype 4 name=other
+0 cpu0 typed 2 type=1
+1500 cpu0 typed 2 type=2 start=+0
+200000 cpu0 typed 2 type=2 start=+100000
+200001 cpu0 typed 2 type=3
+200002 cpu0 typed 2 type=4
+200003 cpu0 typed 2 type=3 !subject
+200004 cpu0 typed 2 type=2 start=+9 open
end close=+2s
`)
	p := newProbes(r)
	if err := timeline.Visit(r, p); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := p.print(&got, "x.wprof"); err != nil {
		t.Fatal(err)
	}
	const want = `x.wprof: events of 2 probes in 2.000 s

  events  rate     kind      p50      p90      p99  longest  probe
       3   2/s     span  1.50 us  99.8 us  99.8 us   100 us  m
       1   1/s  instant                                      main

m: uspan:malloc (arg:0)
  1 span had not ended
  1.02 us  to 2.05 us  1  50.0%  ########################################
`
	if !strings.HasPrefix(got.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// Percentiles are within 1% of those of the sorted durations.
func TestPercentilesOfLatencies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int64{1, 50, 64, 65, 127, 128, 129, 1000, 1e6, 1e9, 1 << 62} {
		var l latencies
		var all []int64
		for range 2000 {
			ns := random.Int64N(most)
			l.add(ns)
			all = append(all, ns)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.5, 0.9, 0.99} {
			want := all[max(1, int(math.Ceil(q*float64(len(all)))))-1]
			if got := l.quantile(q); max(got-want, want-got) > want/100 {
				t.Errorf("up to %d: quantile %g is %d, want %d", most, q, got, want)
			}
		}
		var counted int
		for _, bucket := range l.buckets {
			for step := range steps {
				if bucket != nil {
					counted += int(bucket[step])
				}
			}
		}
		if counted != len(all) || l.longest != all[len(all)-1] || len(histogramRows(l.counts(), "ns")) == 0 {
			t.Errorf("up to %d: %d durations, longest %d", most, counted, l.longest)
		}
	}
}
