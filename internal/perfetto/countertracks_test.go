package perfetto

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/engine"
)

// countedText has two counters and their ratio, of a process with two threads, of which one is long on a CPU, and of one that hardly runs.
const countedText = `
section host=test boot_id=b kernel_release=6.18.0 machine=x86_64 open=10000000000 close=+95000000
  cpu 0
  cpu 1
  clock monotonic=10000000000 boottime=15000000000 realtime=1700000000000000000
  counter name="faults" event="faults"
  counter name="cycles" event="cycles"
  counter name="ratio" over=1 under=2
task 1 tid=0 pid=0 comm=swapper flags=2
task 10 tid=301 pid=301 comm=one process_comm=one ppid=1 start=11
task 11 tid=302 pid=301 comm=two process_comm=one ppid=1 start=12
task 12 tid=400 pid=400 comm=short process_comm=short ppid=1 start=13
+0 cpu0 state_cpu 10 prio=120
+0 cpu1 state_cpu 1 prio=120
+5000000 cpu0 switch 10 prev_state=S next=1 counts="e\xc9\x01"
+20000000 cpu0 switch 1 next=10
+62000000 cpu1 switch 1 next=11
+64000000 cpu1 switch 11 prev_state=S next=12 counts="\x0f\x1d"
+65000000 cpu0 switch 10 prev_state=S next=1 counts="[\x85\x07"
+66000000 cpu1 switch 12 prev_state=S next=1 counts="\x03\x05"
+90000000 cpu0 switch 1 next=10
+94000000 cpu0 switch 10 prev_state=S next=1 counts="\x0b\x00"
end close=+95000000
`

const ratesSQL = `select coalesce(p.pid, -1) as pid, t.name as name, (c.ts - 15000000000) / 1000000 as at, c.value as value from counter c join track t on t.id = c.track_id
	left join process_counter_track pt on pt.id = t.id left join process p using (upid) where t.name != 'timer' order by 1, 2, c.ts`

func TestCountersAreDrawnAsRates(t *testing.T) {
	trace := writtenWith(t, countedText, DefaultOptions())
	engine.CheckStats(t, trace)
	values := make(map[string]string)
	for _, row := range engine.Query(t, trace, ratesSQL)[0] {
		key := fmt.Sprintf("%v %v", row["pid"], row["name"])
		values[key] += fmt.Sprintf(" %vms:%.4g", row["at"], row["value"])
	}
	want := map[string]string{
		"-1 faults/s CPU 0": " 0ms:5000 10ms:0 20ms:1000 60ms:500 70ms:0 90ms:1000 95ms:0",
		"-1 cycles/s CPU 0": " 0ms:1e+04 10ms:0 20ms:1e+04 60ms:5000 70ms:0",
		"-1 ratio CPU 0":    " 0ms:0.5 10ms:0 20ms:0.1 70ms:0",
		"-1 faults/s CPU 1": " 60ms:800 70ms:0",
		"-1 cycles/s CPU 1": " 60ms:1600 70ms:0",
		"-1 ratio CPU 1":    " 60ms:0.5 70ms:0",
		"301 faults/s":      " 0ms:5000 10ms:0 20ms:1000 60ms:1200 70ms:0 90ms:1000 95ms:0",
		"301 cycles/s":      " 0ms:1e+04 10ms:0 20ms:1e+04 60ms:6400 70ms:0",
		"301 ratio":         " 0ms:0.5 10ms:0 20ms:0.1 60ms:0.1875 70ms:0",
	}
	for key, text := range want {
		if values[key] != text {
			t.Errorf("%s:%s, want%s", key, values[key], text)
		}
		delete(values, key)
	}
	if len(values) > 0 {
		t.Errorf("there are also %v", values)
	}
	options := DefaultOptions()
	options.Counters = false
	if rows := engine.Query(t, writtenWith(t, countedText, options), ratesSQL)[0]; len(rows) > 0 {
		t.Errorf("without counters: %v", rows)
	}
}

// Processes that have the same id one after the other have tracks of their own, though both end in one trace.
func TestCountersOfProcessesWithTheSameID(t *testing.T) {
	const text = `
section host=test boot_id=b kernel_release=6.18.0 machine=x86_64 open=10000000000 close=+95000000
  cpu 0
  clock monotonic=10000000000 boottime=15000000000 realtime=1700000000000000000
  counter name="faults" event="faults"
task 1 tid=0 pid=0 comm=swapper flags=2
task 9 tid=300 pid=300 comm=parent process_comm=parent ppid=1 start=10
task 10 tid=301 pid=301 comm=one process_comm=one ppid=300 start=11
task 20 tid=301 pid=301 comm=two process_comm=two ppid=300 start=10050000000
+0 cpu0 state_cpu 10 prio=120
+15000000 cpu0 exit 10 code=0 last
+15000000 cpu0 switch 10 prev_state=X next=9 counts="\x0f"
+16000000 cpu0 free 10
+50000000 cpu0 fork 9 child=20
+51000000 cpu0 wakeup_new 9 wakee=20
+52000000 cpu0 switch 9 prev_state=S next=20
+72000000 cpu0 switch 20 prev_state=S next=1 counts="\x15"
end close=+95000000
`
	trace := writtenWith(t, text, DefaultOptions())
	engine.CheckStats(t, trace)
	const sql = `select p.name as process, (c.ts - 15000000000) / 1000000 as at, c.value as value from counter c join process_counter_track pt on pt.id = c.track_id
		join process p using (upid) where p.pid = 301 order by p.upid, c.ts`
	got := make(map[string]string)
	for _, row := range engine.Query(t, trace, sql)[0] {
		got[fmt.Sprint(row["process"])] += fmt.Sprintf(" %vms:%.4g", row["at"], row["value"])
	}
	if len(got) != 2 || strings.Contains(got["one"], " 5") || strings.Contains(got["two"], " 0ms") {
		t.Errorf("the rates are %v", got)
	}
}

// A time on a CPU without an event that is very long takes no time to draw.
func TestCountersAreDrawnOverLongTimes(t *testing.T) {
	text := strings.ReplaceAll(countedText, "+94000000 cpu0", "+39999999999999000 cpu0")
	text = strings.ReplaceAll(text, "close=+95000000", "close=+40000000000000000")
	if rows := engine.Query(t, writtenWith(t, text, DefaultOptions()), ratesSQL)[0]; len(rows) == 0 {
		t.Error("no values")
	}
}

// TestRowsOfCountersLoseNothing compares what is drawn of overlapping times on CPUs with what belongs to each interval, where it is drawn in time,
// and with the sum where intervals had to be merged.
func TestRowsOfCountersLoseNothing(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var row counterRow
		var got, want [120]float64
		draw := func(end int64) {
			row.draw(end, func(number int64, counts *counterValues) {
				for n := number; n < int64(len(got)); n++ {
					got[n] = counts[1]
				}
			})
		}
		isMerged := seed%3 == 0
		var to int64
		longest := int64(1)
		for range 200 {
			to += rng.Int64N(5e6)
			length := rng.Int64N(3e6)
			if rng.IntN(5) == 0 {
				length = min(rng.Int64N(200e6), to)
			}
			longest = max(longest, length)
			from, count := max(to-length, 0), rng.Uint64N(1000)
			row.add(from, to, []format.Count{{}, {Number: count, Known: true}})
			for n := from / rateNs; n <= to/rateNs; n++ {
				share := 1.0
				if to > from {
					share = float64(min(to, (n+1)*rateNs)-max(from, n*rateNs)) / float64(to-from)
				}
				want[n] += share * float64(count)
			}
			if isMerged {
				row.merge(3)
			} else {
				draw(max(to-200e6, 0) / rateNs)
			}
		}
		draw(int64(len(got)))
		sum := 0.0
		for n := range got {
			sum += got[n] - want[n]
			if !isMerged && math.Abs(got[n]-want[n]) > 1e-6 {
				t.Fatalf("seed %d: interval %d has %v, want %v", seed, n, got[n], want[n])
			}
		}
		if math.Abs(sum) > 1e-3 || len(row.waiting) > 0 {
			t.Fatalf("seed %d: the sum differs by %v, %d wait", seed, sum, len(row.waiting))
		}
	}
}
