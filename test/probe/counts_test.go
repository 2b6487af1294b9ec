//go:build linux

package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// counted is what a probe has counted of one key, in all intervals.
type counted struct {
	events, sum int64
	buckets     [64]int64
}

// counts adds up what a probe has counted, by an argument; "": by nothing.
func (c *capture) counts(t *testing.T, id, by string) map[string]counted {
	t.Helper()
	all := make(map[string]counted)
	for _, e := range c.of(id) {
		key := ""
		if by != "" {
			key = e.arg(t, by)
		}
		n := all[key]
		n.events += e.number(t, "events")
		if text := e.arg(t, "sum"); text != "" {
			n.sum += e.number(t, "sum")
		}
		if text := e.arg(t, "buckets"); text != "" {
			var buckets [64]int64
			if err := json.Unmarshal([]byte(text), &buckets); err != nil {
				t.Fatal(err)
			}
			for i := range buckets {
				n.buckets[i] += buckets[i]
			}
		}
		all[key] = n
	}
	return all
}

func (c *capture) checkCounts(t *testing.T) {
	wantSum, wantHist := make(map[string]counted), make(map[string]counted)
	for i := range int64(1000) {
		value := i*i - 20
		add := func(all map[string]counted, key string, buckets bool) {
			n := all[key]
			n.events++
			n.sum += value
			if buckets {
				n.buckets[bits.Len64(uint64(max(value, 0)))]++
			}
			all[key] = n
		}
		add(wantSum, fmt.Sprint(i%5), false)
		add(wantHist, []string{"even", "odd"}[i%2], true)
	}
	for _, x := range []struct {
		id, by string
		want   map[string]counted
	}{
		{"count", "", map[string]counted{"": {events: 200}}},
		{"sum", "key", wantSum},
		{"hist", "text", wantHist},
		{"by_comm", "comm", map[string]counted{"alpha-1": {events: 6}, "alpha-2": {events: 6}, "beta": {events: 6}}},
	} {
		if got := c.counts(t, x.id, x.by); fmt.Sprint(got) != fmt.Sprint(x.want) {
			t.Errorf("%s: %v, want %v", x.id, got, x.want)
		}
	}
	var inside, outside int64
	for i := range c.said["inside"] {
		in, _ := strconv.ParseInt(c.said["inside"][i], 10, 64)
		out, _ := strconv.ParseInt(c.said["outside"][i], 10, 64)
		inside, outside = inside+in, outside+out
	}
	if n := c.counts(t, "durations", "")[""]; n.events != 8 || n.sum < inside || n.sum > outside {
		t.Errorf("durations: %+v; the calls took %d ns inside, %d ns outside", n, inside, outside)
	}
	byCaller := make(map[string]int64)
	for _, e := range c.of("by_stack") {
		for _, caller := range []string{"caller_a", "caller_b"} {
			if strings.Contains(strings.Join(c.stacks[e.StackID], " "), caller) {
				byCaller[caller] += e.number(t, "events")
			}
		}
	}
	if byCaller["caller_a"] != 3 || byCaller["caller_b"] != 4 {
		t.Errorf("by stack: %v", byCaller)
	}
}

// Of keys for which the table has no room, the events are a loss of cause table, with their number.
func TestKeysThatDoNotFitAreLost(t *testing.T) {
	tools.NeedPrivilege(t)
	const n = 40_000
	file := filepath.Join(t.TempDir(), "keys.wprof")
	tools.Run(t, "wprof-record", "-o", file, "-U", "u:quick | count, by:arg:0:u32/name(n) |", "--", tools.Path("known"), "quick", strconv.Itoa(n))
	counted, lost := int64(0), int64(0)
	for raw := range bytes.Lines(tools.Run(t, "wprof-json", file)) {
		var line struct {
			T, Cause string
			Count    int64
			Args     struct{ Events int64 }
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			t.Fatal(err)
		}
		counted += line.Args.Events
		if line.T == "lost" && line.Cause == "table" {
			lost += line.Count
		}
	}
	if counted+lost != n || counted < 10_000 || lost < 10_000 {
		t.Errorf("%d calls were counted, and %d lost, of %d", counted, lost, n)
	}
}
