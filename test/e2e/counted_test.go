//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/tools"
)

// countedRow is a line of wprof-json --time ns.
type countedRow struct {
	T, Name, PMU string
	TS, Dur      int64
	Start        *int64 `json:"start_ts"`
	CPU          int
	Task, Waker  struct{ TID int32 }
	Prev, Next   struct{ TID int32 }
	Args         struct{ Reason, Function string }
	PMUs         []*float64
}

// counted is what a capture has of what its counters count: wakings, and time.
type counted struct {
	wakings, switches map[int][]int64         // by CPU
	byThread          map[int32][]int64       // wakings by the thread that runs
	runs              map[int32][]interval    // of each thread on a CPU
	hidden            map[int][]interval      // by CPU, times in which the kernel does not count
	of                map[string]*countedKind // by kind, or by type
}

// countedKind says how many events have the wakings and the time that the capture has.
type countedKind struct{ rows, same, wakings, clock int }

// asleep is the kind of work items whose workers left their CPUs within.
const asleep = "work that sleeps"

// within returns how many of times, which are in order, are between two.
func within(times []int64, from, to int64) int {
	first, _ := slices.BinarySearch(times, from)
	end, _ := slices.BinarySearch(times, to+1)
	return end - first
}

// ranWithin returns for how long a thread was on a CPU between two times, and in how many intervals.
func (w *counted) ranWithin(tid int32, from, to int64) (ns int64, runs int) {
	for _, run := range w.runs[tid] {
		if run.from < to && run.to > from {
			ns, runs = ns+min(run.to, to)-max(run.from, from), runs+1
		}
	}
	return ns, runs
}

// read reads what the counts are compared with.
func (w *counted) read(rows []countedRow) {
	since := map[int]int64{} // by CPU
	for _, r := range rows {
		if r.Name == "ipi" && r.Args.Reason == "irq_work" && r.Start != nil {
			w.hidden[r.CPU] = append(w.hidden[r.CPU], interval{*r.Start, r.TS})
		}
	}
	for _, r := range rows {
		switch r.T {
		case "switch":
			w.switches[r.CPU] = append(w.switches[r.CPU], r.TS)
			w.runs[r.Prev.TID] = append(w.runs[r.Prev.TID], interval{since[r.CPU], r.TS})
			since[r.CPU] = r.TS
		case "waking":
			if !slices.ContainsFunc(w.hidden[r.CPU], func(h interval) bool { return h.from <= r.TS && r.TS <= h.to }) {
				w.wakings[r.CPU] = append(w.wakings[r.CPU], r.TS)
				w.byThread[r.Waker.TID] = append(w.byThread[r.Waker.TID], r.TS)
			}
		}
	}
}

// compare compares the counts of an event with the wakings in its time.
func (w *counted) compare(r *countedRow) {
	key, wakings, ns, from := r.T, w.wakings[r.CPU], int64(0), int64(-1)
	switch {
	case len(r.PMUs) == 0:
		return
	case r.T == "typed" && r.Start != nil:
		key, from, ns = r.Name, *r.Start, r.Dur
		if key == "work" {
			wakings = w.byThread[r.Task.TID]
			runs := 0
			if ns, runs = w.ranWithin(r.Task.TID, from, r.TS); runs > 1 {
				key = asleep
			}
		}
	case r.T == "timer" || r.T == "pmu_event":
		if next, _ := slices.BinarySearch(w.switches[r.CPU], r.TS); next > 0 {
			from = w.switches[r.CPU][next-1]
		}
	}
	if from < 0 || len(r.PMUs) != 2 || r.PMUs[0] == nil || r.PMUs[1] == nil {
		return
	}
	k := w.of[key]
	if k == nil {
		k = &countedKind{}
		w.of[key] = k
	}
	n := within(wakings, from, r.TS)
	k.rows++
	k.wakings += int(*r.PMUs[0])
	if int(*r.PMUs[0]) == n {
		k.same++
	}
	if math.Abs(float64(ns)-*r.PMUs[1]) < slack(key)+0.2*float64(ns) {
		k.clock++
	}
}

// slack is how much a clock may differ from the time of an event, ns: at a switch the counters are read before its time, and at the end of a
// work item before its function is named.
func slack(key string) float64 {
	if key == "work" || key == asleep {
		return 30e3
	}
	return 2e3
}

// sleepInWork makes work items sleep: those that remove network namespaces.
func sleepInWork(t *testing.T) {
	t.Helper()
	for range 5 {
		c := exec.Command("true")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // one item removes all that there are
	}
}

// wakeByWork makes a work item wake a thread, many times: one passes on what is written to a terminal.
func wakeByWork(t *testing.T) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.IoctlRetInt(int(master.Fd()), unix.TIOCGPTPEER)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	done := make(chan error, 1)
	go func() {
		_, err := unix.Read(fd, make([]byte, 8))
		for range wakingWrites - 1 {
			if err == nil {
				_, err = unix.Read(fd, make([]byte, 8))
			}
		}
		done <- err
	}()
	for range wakingWrites {
		time.Sleep(time.Millisecond)
		if _, err := master.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

const wakingWrites = 100

// TestCountsOfInterruptsWorkAndSamples counts wakings, and compares what each interrupt, work item and sample says with the wakings that the
// capture has in its time; and a clock with how long interrupts and the workers of work items ran.
func TestCountsOfInterruptsWorkAndSamples(t *testing.T) {
	tools.NeedPrivilege(t)
	file := tools.Record(t, filepath.Join(t.TempDir(), "counted.wprof"),
		[]string{"-f", "irq", "-Stimer", "-S+pmu=page-faults@100", "--pmu", "sched:sched_waking/name=wakes/", "--pmu", "cpu-clock"}, func() {
			sleepInWork(t)
			wakeByWork(t)
			syncFile(t)
		})
	if lost := tools.WalkFile(t, file, func(*format.Reader, *format.Event) {}).End().GetLosses(); len(lost) != 0 {
		t.Fatalf("%v", lost)
	}
	w := counted{map[int][]int64{}, map[int][]int64{}, map[int32][]int64{}, map[int32][]interval{}, map[int][]interval{}, map[string]*countedKind{}}
	var rows []countedRow
	terminal, pmuRows := 0, 0
	_, lines, _ := bytes.Cut(tools.Run(t, "wprof-json", "--time", "ns", "--no-stacks", file), []byte("\n"))
	for line := range bytes.Lines(lines) {
		var r countedRow
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		rows = append(rows, r)
		if r.Args.Function == "flush_to_ldisc" && len(r.PMUs) > 0 && r.PMUs[0] != nil {
			terminal += int(*r.PMUs[0])
		}
		if r.T == "pmu_event" && len(r.PMUs) > 0 {
			pmuRows++
		}
	}
	w.read(rows)
	for i := range rows {
		w.compare(&rows[i])
	}
	for _, key := range []string{"timer", "pmu_event", "softirq", "hardirq", "local_timer", "work", asleep} {
		k := w.of[key]
		if k == nil {
			t.Errorf("no %s has counts", key)
			continue
		}
		t.Logf("%s: %d with counts, %d of them as in the capture, %d wakings, %d clocks as the time", key, k.rows, k.same, k.wakings, k.clock)
		// An interrupt may come between the reading of the counters and the time of an event.
		if k.same < k.rows-1-k.rows/20 || key == asleep && 2*k.same <= k.rows {
			t.Errorf("%s: the counts of %d of %d are as in the capture", key, k.same, k.rows)
		}
		if isSpan := key != "timer" && key != "pmu_event"; isSpan && k.clock < k.rows*8/10 {
			t.Errorf("%s: the clock counts the time in %d of %d", key, k.clock, k.rows)
		}
	}
	if k := w.of["local_timer"]; k != nil && k.wakings == 0 {
		t.Error("no timer wakes anything")
	}
	if terminal < wakingWrites*9/10 {
		t.Errorf("%d lines come through a terminal, and its work items wake %d times", wakingWrites, terminal)
	}
	drawn := engine.Query(t, convertForEngine(t, file), `select sum(iif(slice.name = 'flush_to_ldisc', int_value, 0)) as wakes, sum(slice.name = 'page-faults') as samples
		from slice join args using (arg_set_id) where flat_key = 'debug.wakes'`)[0][0]
	if asNumber(t, drawn["wakes"]) != uint64(terminal) || asNumber(t, drawn["samples"]) != uint64(pmuRows) {
		t.Errorf("the engine has %v, the lines have %d wakes and %d samples", drawn, terminal, pmuRows)
	}
}
