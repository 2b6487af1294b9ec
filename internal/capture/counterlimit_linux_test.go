package capture

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

func FuzzParseCondition(f *testing.F) {
	for _, text := range []string{"crash", "slow:req>50ms", "counter:page-faults@a*>1.5k/s", "counter:ipc<0.5", "counter:a>1/100ms"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCondition(text)
		if (c == nil) == (err == nil) {
			t.Fatalf("%q: %+v, %v", text, c, err)
		}
		if err == nil && c.kind == onCounter && (c.name == "" || c.counter.names == "" || !(c.counter.value >= 0)) {
			t.Errorf("%q: %+v", text, c)
		}
	})
}

// testCounters are two events and their ratio.
var testCounters = []*format.Counter{{Name: "faults"}, {Name: "cycles"}, {Name: "ratio", Over: 1, Under: 2}}

func TestConditionsOnCountersThatCannotHoldAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"counter:fault>1/s":    "no counter is called fault; did you mean faults?",
		"counter:other>1/s":    "no counter is called other; --pmu counts faults, cycles, ratio",
		"counter:faults>1":     "faults is a number of events, which needs a time: write counter:faults>1/s or counter:faults>1/100ms",
		"counter:faults<1/s":   "< is for derived metrics",
		"counter:ratio>0.5/s":  "leave out what begins with /",
		"counter:faults>1/s":   "",
		"counter:ratio<0.5":    "",
		"counter:faults@x>1/s": "",
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		err = new(conditions).addCounter(c, testCounters, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// testRun is a time of a thread on CPU 0, and what it counted.
type testRun struct {
	tid      uint32
	from, to time.Duration
	counts   [2]uint64
}

// switchWithCounts is a switch to the idle thread as in a ring.
func switchWithCounts(at time.Duration, prev, next uint32, counts *[2]uint64) []byte {
	b := switchRecord(int64(1e9)+at.Nanoseconds(), prev, next, 1)
	if counts != nil {
		le := binary.LittleEndian
		part := make([]byte, ringdata.CountsPartSize)
		part = le.AppendUint64(le.AppendUint64(part, counts[0]), counts[1])
		b = append(b, part...)
		b = le.AppendUint64(b, ringdata.PartCounts|uint64(len(part)/8)<<16)
	}
	header := uint64(len(b))
	if counts != nil {
		header |= ringdata.HeaderParts
	}
	return append(binary.LittleEndian.AppendUint64(nil, header), b...)
}

// A number is compared over any time of the condition's length, wherever that begins, and what was counted while a thread was long on a CPU
// belongs to all of that time.
func TestCountersAreCompared(t *testing.T) {
	const ms = time.Millisecond
	burst := func(tid uint32, from time.Duration, each uint64, n int) (all []testRun) {
		for i := range n {
			at := from + time.Duration(i)*50*ms
			all = append(all, testRun{tid, at, at + 10*ms, [2]uint64{each, 1000}})
		}
		return all
	}
	for name, c := range map[string]struct {
		condition string
		runs      []testRun
		want      []string
	}{
		"a burst across seconds": {"counter:faults>1000/s", burst(7, 1550*ms, 60, 18), []string{"counter:faults>1000/s: faults 1,020 in 1s"}},
		"a slower one":           {"counter:faults>1000/s", burst(7, 1550*ms, 45, 60), nil},
		"two threads": {"counter:faults>1000/s", append(burst(7, 1550*ms, 30, 18), testRun{8, 2550 * ms, 2551 * ms, [2]uint64{600, 1}}),
			[]string{"counter:faults>1000/s: faults 1,110 in 1s"}},
		"each burst once":          {"counter:faults>1000/s", append(burst(7, 500*ms, 101, 10), burst(7, 5*time.Second, 101, 10)...), []string{"counter:faults>1000/s: faults 1,010 in 1s", "counter:faults>1000/s: faults 1,010 in 1s"}},
		"long on a CPU, few":       {"counter:faults>1000/s", []testRun{{7, ms, 5 * time.Second, [2]uint64{4500, 1}}}, nil},
		"long on a CPU, many":      {"counter:faults>1000/s", []testRun{{7, ms, 5 * time.Second, [2]uint64{5500, 1}}}, []string{"counter:faults>1000/s: faults 1,099 in 1s"}},
		"another name":             {"counter:faults@other>10/s", burst(7, 500*ms, 60, 18), nil},
		"its name":                 {"counter:faults@seven>1000/s", burst(7, 500*ms, 1001, 1), []string{"counter:faults@seven>1000/s: faults 1,001 in 1s"}},
		"a metric below its limit": {"counter:ratio<0.05", burst(7, 500*ms, 20, 2), []string{"counter:ratio<0.05: ratio 0.02 in 100ms", "counter:ratio<0.05: ratio 0.02 in 100ms"}},
		"a metric above it":        {"counter:ratio<0.05", burst(7, 500*ms, 80, 20), nil},
		"a metric of a moment":     {"counter:ratio<0.05", []testRun{{7, 500 * ms, 501 * ms, [2]uint64{1, 1000}}}, nil},
		"nothing":                  {"counter:ratio<0.05", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := compareCounted(t, c.condition, c.runs); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// compareCounted drains what was counted in rounds of 50 ms.
func compareCounted(t *testing.T, text string, runs []testRun) (reasons []string) {
	t.Helper()
	one, err := ParseCondition(text)
	if err != nil {
		t.Fatal(err)
	}
	all := new(conditions)
	if err := all.addCounter(one, testCounters, nil); err != nil {
		t.Fatal(err)
	}
	s := newConditionSink(nowhere{}, all, 1)
	named := make([]byte, ringdata.IdentProcessComm+ringdata.IdentProcessCommSize)
	binary.LittleEndian.PutUint32(named[ringdata.IdentTID:], 7)
	binary.LittleEndian.PutUint32(named[ringdata.IdentPID:], 1<<22+7)
	copy(named[ringdata.IdentComm:], "seven")
	s.threads.identify(1, named)
	watch := newCounterWatch(all)
	for end := 50 * time.Millisecond; end < 10*time.Second; end += 50 * time.Millisecond {
		for len(runs) > 0 && runs[0].to <= end {
			r := runs[0]
			_ = s.Ring(0, 0, switchWithCounts(r.from, 0, r.tid, nil))
			_ = s.Ring(0, 0, switchWithCounts(r.to, r.tid, 0, &r.counts))
			runs = runs[1:]
		}
		_ = s.Round(spool.Round{Time: 1e9 + end.Nanoseconds()})
		b := <-s.counted.ready
		watch.take(b, func(_ *counterCondition, reason string) { reasons = append(reasons, reason) })
		s.counted.free <- b
	}
	return reasons
}
