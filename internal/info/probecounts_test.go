package info

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"wprof/internal/histogram"
	"wprof/internal/timeline"
	"wprof/test/fromtext"
)

func listProbes(t *testing.T, stream string) string {
	t.Helper()
	p := newProbes(fromtext.Reader(t, stream))
	if err := timeline.Visit(p.r, p); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := p.print(&got, "x.wprof"); err != nil {
		t.Fatal(err)
	}
	return got.String()
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCountedProbesAreListedByKey(t *testing.T) {
	wantText(t, listProbes(t, `
section open=1000 close=+4s
frame 1
  line function="main"
frame 2
  line function="inlined"
  line function="leaf"
frame 3
  line function="outer"
stack 1 frames=3,1,2
stack 2 frames=2
eventtype 1 name=leaf group=probe on=global probe="u:leaf" definition="u:leaf | hist:dur, by:stack,comm |"
  field "stack" type=stack
  field "comm" type=string
  field "events" type=uint hint=events
  field "sum" type=int hint=counter unit="ns"
  field "buckets" type=uint list hint=buckets unit="ns"
  field "interval" type=duration
  field "unread" type=uint hint=unread
+1s cpu0 typed 0 type=1 .stack=1 .comm="one" .events=3 .sum=4000 .buckets=0,0,0,0,0,0,0,0,0,0,0,3 .interval=1000000000 .unread=0
+1s cpu0 typed 0 type=1 .stack=2 .comm="one" .events=1 .sum=2 .buckets=0,0,1 .interval=1000000000 .unread=0
+4s cpu0 typed 0 type=1 .stack=1 .comm="one" .events=10 .sum=400 .buckets=0,0,0,0,0,0,10 .interval=2000000000 .unread=0
+4s cpu0 typed 0 type=1 .stack=0 .comm="" .events=1 .sum=1 .buckets=0,1 .interval=1000000000 .unread=2
end close=+4s
`), `x.wprof: events of 1 probe in 4.000 s

  events  rate     kind    p50      p90      p99  longest  probe
      15   4/s  counted  51 ns  1.71 us  2.05 us           u:leaf

u:leaf: u:leaf | hist:dur, by:stack,comm |

  events  rate      sum  average    p50      p90      p99  key
      13   3/s  4.40 us   338 ns  54 ns  1.71 us  2.05 us  comm=one at inlined < leaf < main
       1   0/s     1 ns     1 ns   1 ns     1 ns     1 ns  comm=? at no stack
       1   0/s     2 ns     2 ns   3 ns     3 ns     3 ns  comm=one at inlined < leaf

  comm=one at inlined < leaf < main
    32 ns    to 64 ns  10  76.9%  ########################################
    64 ns   to 128 ns   0   0.0%
   128 ns   to 256 ns   0   0.0%
   256 ns   to 512 ns   0   0.0%
   512 ns  to 1.02 us   0   0.0%
  1.02 us  to 2.05 us   3  23.1%  ############

  comm=? at no stack
  1 ns  to 2 ns  1  100.0%  ########################################

  comm=one at inlined < leaf
  2 ns  to 4 ns  1  100.0%  ########################################

  1.02 us to 2.05 us |*   |
   512 ns to 1.02 us |    |
    256 ns to 512 ns |    |
    128 ns to 256 ns |    |
     64 ns to 128 ns |    |
      32 ns to 64 ns |  @@|
      16 ns to 32 ns |    |
       8 ns to 16 ns |    |
        4 ns to 8 ns |    |
        2 ns to 4 ns |.   |
        1 ns to 2 ns |   .|
                     |0 s
  a column is 1.00 s; '.' is up to 1 event, '@' about 5
`)
}

// Of many keys, those with most events are listed, and the histogram is of all.
func TestManyKeysAreSummedUp(t *testing.T) {
	var events strings.Builder
	for n := range maxKeys + 5 {
		fmt.Fprintf(&events, "+%d cpu0 typed 0 type=1 .key=%d .events=%d .buckets=0,1\n", n+1, n, 1+n%100)
	}
	got := listProbes(t, `
section open=1000 close=+2s
eventtype 1 name=f on=global probe="k:f" definition="k:f | hist:a, by:b |"
  field "key" type=uint hint=track
  field "events" type=uint hint=events
  field "buckets" type=uint list hint=buckets
`+events.String()+"end close=+2s\n")
	for _, want := range []string{
		"  all keys\n  1  to 2  16,389  100.0%  ####", "  and 16,364 more\n", "\n     100  50/s    1    1    1  key=1099\n",
		"  and 435 events of keys beyond the first 16,384\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "key=98\n") {
		t.Error("a key with few events is listed")
	}
}

func TestCountsWithoutKeys(t *testing.T) {
	wantText(t, listProbes(t, `
section open=1000 close=+2s
eventtype 1 name=f on=global probe="k:f" definition="k:f | sum:a |"
  field "events" type=uint hint=events
  field "sum" type=int hint=counter
+1s cpu0 typed 0 type=1 .events=3 .sum=-100
+2s cpu0 typed 0 type=1 .events=3 .sum=-1000
end close=+2s
`), `x.wprof: events of 1 probe in 2.000 s

  events  rate     kind  p50  p90  p99  longest  probe
       6   3/s  counted                          k:f

k:f: k:f | sum:a |

  events  rate     sum  average  key
       6   3/s  -1,100     -183  all events
`)
}

func TestFieldsHaveHistograms(t *testing.T) {
	wantText(t, listProbes(t, `
section open=1000 close=+2s
task 2 tid=2 pid=2 comm=app
eventtype 1 name=f probe="u:f" definition="u:f (arg:0/hist, arg:1/hist) |"
  field "size" type=uint hint=histogram unit="bytes"
  field "ratio" type=float hint=histogram
  field "unread" type=uint hint=unread
+1 cpu0 typed 2 type=1 .size=100 .ratio=-1 .unread=0
+2 cpu0 typed 2 type=1 .size=5000 .ratio=2.5 .unread=0
+3 cpu0 typed 2 type=1 .size=0 .ratio=NaN .unread=1
end close=+2s
`), `x.wprof: events of 1 probe in 2.000 s

  events  rate     kind  p50  p90  p99  longest  probe
       3   2/s  instant                          u:f

u:f: u:f (arg:0/hist, arg:1/hist) |

  size: p50 127 B, p90 8.2 kB, p99 8.2 kB
    64 B   to 128 B  1  50.0%  ########################################
   128 B   to 256 B  0   0.0%
   256 B   to 512 B  0   0.0%
   512 B  to 1.0 kB  0   0.0%
  1.0 kB  to 2.0 kB  0   0.0%
  2.0 kB  to 4.1 kB  0   0.0%
  4.1 kB  to 8.2 kB  1  50.0%  ########################################

  ratio: p50 0, p90 3, p99 3
     below 1  2  66.7%  ########################################
  1     to 2  0   0.0%
  2     to 4  1  33.3%  ####################
`)
}

// Columns are merged without losing events, however long the time is.
func TestHeatmapsHaveFewColumns(t *testing.T) {
	h := heatmap{from: 1000, length: 100}
	var c histogram.Counts
	c.Add(3, 6)
	want := 0.0
	for _, span := range [][2]int64{{0, 1000}, {1000, 1100}, {1050, 1350}, {5000, 5000}, {1000, 7000}, {7000, 7001}, {9000, 1 << 40}, {math.MaxInt64 / 4, math.MaxInt64 / 2}} {
		h.add(span[0], span[1], &c)
		h.addOne(span[1], 4)
		want += 7
		got := 0.0
		for _, of := range h.columns {
			got += of[3]
		}
		if math.Abs(got-want) > 1e-3 || len(h.columns) > maxColumns {
			t.Fatalf("after %d: %d columns have %g, want %g", span, len(h.columns), got, want)
		}
	}
	if shade(0.01, 10) != ' ' || shade(0.5, 10) != '.' || shade(10, 10) != '@' || shade(1, 1) != '.' || shade(3, 10) == shade(1, 10) {
		t.Error("shades are wrong")
	}
	for _, line := range h.lines("ns") {
		if len(line) > pageWidth {
			t.Errorf("%q is too long", line)
		}
	}
}

// Whatever the times are, all that was added is in the map, and it has few columns.
func FuzzHeatmap(f *testing.F) {
	f.Add(int64(1000), int64(5), int64(100), int64(2000), int64(1), int64(1<<60))
	f.Fuzz(func(t *testing.T, opened, from, to, from2, to2, amount int64) {
		const latest = 1 << 62
		h := heatmap{from: min(max(opened, 0), latest), length: shortestColumn}
		var c histogram.Counts
		c.Add(histogram.Of(amount), 3)
		h.add(min(max(from, 0), latest), min(max(to, 0), latest), &c)
		h.add(min(max(from2, 0), latest), min(max(to2, 0), latest), &c)
		h.addOne(min(max(to2, 0), latest), amount)
		got := 0.0
		for _, of := range h.columns {
			got += of[histogram.Of(amount)]
		}
		if math.Abs(got-7) > 1e-3 || len(h.columns) > maxColumns || len(h.lines("")) == 0 {
			t.Errorf("%d columns have %g", len(h.columns), got)
		}
	})
}
