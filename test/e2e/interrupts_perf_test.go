//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// ran is a function that ran on a CPU or in a thread.
type ran struct {
	where    string
	function string
}

var perfRan = regexp.MustCompile(`^ *(-?\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +` +
	`(?:workqueue:workqueue_execute_start: work struct \S+: function (\S+)|csd:csd_function_entry: func=(\S+), csd=` +
	`|lock:contention_begin: 0x(\S+) \(flags=)`)

// TestFunctionsThatInterruptsAndWorkersCallAreThoseThatPerfSees compares work items and functions that other CPUs sent, one by one, with
// what perf records by the same clock.
func TestFunctionsThatInterruptsAndWorkersCallAreThoseThatPerfSees(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "perf.data")
	file := tools.Record(t, filepath.Join(dir, "irq.wprof"), []string{"-f", "wq,ipi"}, func() {
		work := "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=" + filepath.Join(dir, "file") + " bs=64k count=10 conv=fsync; done"
		recordByPerf(t, data, "workqueue:workqueue_execute_start,csd:csd_function_entry", work)
	})
	ours := make(map[ran][]int64)
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindTyped {
			return
		}
		of := r.EventType(e.TypeID())
		values, _ := of.AppendValues(nil, e)
		start, _ := e.Start()
		switch string(of.Name) {
		case "work":
			key := ran{fmt.Sprint("thread ", r.Task(e.Task).GetTid()), string(r.Text(values[0].ID()).GetText())}
			ours[key] = append(ours[key], start)
		case "ipi_call":
			key := ran{fmt.Sprint("CPU ", e.CPU), string(r.Text(values[0].ID()).GetText())}
			ours[key] = append(ours[key], start)
		}
	})
	// perf skips an event while it records another one in the same context.
	if agreed, left := compareByPerf(t, ours, data); len(left) > agreed/100 {
		t.Errorf("perf has %d, and lacks %v", agreed, left)
	}
}

// TestContendedLocksAreThoseThatPerfSees does so with waits for kernel locks, of threads that write to one file. perf
// misses those for which it waits itself.
func TestContendedLocksAreThoseThatPerfSees(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "perf.data")
	file := tools.Record(t, filepath.Join(dir, "lock.wprof"), []string{"-f", "lock"}, func() {
		write := "dd if=/dev/zero of=" + filepath.Join(dir, "file") + " bs=1M count=100 conv=notrunc &"
		recordByPerf(t, data, "lock:contention_begin", strings.Repeat(write, 4)+"wait")
	})
	ours := make(map[ran][]int64)
	stacks := 0
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindTyped || string(r.EventType(e.TypeID()).Name) != "lock" {
			return
		}
		values, _ := r.EventType(e.TypeID()).AppendValues(nil, e)
		start, _ := e.Start()
		if values[4].ID() != 0 {
			stacks++
		}
		key := ran{fmt.Sprint("thread ", r.Task(e.Task).GetTid()), strconv.FormatUint(values[1].Number, 16)}
		ours[key] = append(ours[key], start)
	})
	if stacks == 0 {
		t.Error("no lock has a stack")
	}
	checkSourcesInEngine(t, file, map[string]string{"Kernel locks": "lock"})
	compareByPerf(t, ours, data)
}

// recordByPerf records a shell's work with perf. Its begin and end go to data.from and data.to, s since boot: perf begins and ends on one
// event and CPU after the other.
func recordByPerf(t *testing.T, data, events, work string) {
	t.Helper()
	command := []string{"sh", "-c", "cat /proc/uptime > " + data + ".from; " + work + "; cat /proc/uptime > " + data + ".to"}
	perf := exec.Command("perf", append([]string{
		"record", "-q", "-k", "CLOCK_MONOTONIC", "-m", "4096", "-N", "--buildid-mmap", "-a", "-e", events, "-o", data, "--",
	}, command...)...)
	if out, err := perf.CombinedOutput(); err != nil {
		t.Fatalf("perf record: %v: %s", err, out)
	}
}

// compareByPerf compares spans with perf's events, and returns the spans that perf does not have. The recorder began before perf, so that the kernel calls its program first: perf's event
// is the next one after the start of a span. A waiter for a mutex has two events of perf, one when it spins and one when it sleeps.
func compareByPerf(t *testing.T, ours map[ran][]int64, data string) (agreed int, left []ran) {
	t.Helper()
	perfs := perfFunctions(t, data)
	first, last := uptime(t, data+".from"), uptime(t, data+".to")
	for key, times := range perfs {
		slices.Sort(ours[key])
		matched := make([]bool, len(ours[key]))
		for _, at := range times {
			i := sort.Search(len(matched), func(i int) bool { return ours[key][i] > at }) - 1
			if i < 0 || !matched[i] && at-ours[key][i] > int64(10*time.Millisecond) {
				t.Errorf("the capture lacks %s in %s at %d", key.function, key.where, at)
				continue
			}
			matched[i] = true
			agreed++
		}
		for i, at := range ours[key] {
			if !matched[i] && at > first+int64(20*time.Millisecond) && at < last-int64(20*time.Millisecond) {
				left = append(left, key)
			}
		}
		delete(ours, key)
	}
	for key, times := range ours {
		for _, at := range times {
			if at > first+int64(20*time.Millisecond) && at < last-int64(20*time.Millisecond) {
				left = append(left, key)
			}
		}
	}
	if agreed < 20 {
		t.Errorf("only %d are in both", agreed)
	}
	return agreed, left
}

func perfFunctions(t *testing.T, data string) (all map[ran][]int64) {
	t.Helper()
	out, err := exec.Command("perf", "script", "-i", data, "--ns", "-F", "tid,cpu,time,event,trace").Output()
	if err != nil {
		t.Fatalf("perf script: %v", err)
	}
	all = make(map[ran][]int64)
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		m := perfRan.FindStringSubmatch(lines.Text())
		if m == nil {
			t.Fatalf("perf script printed %q", lines.Text())
		}
		seconds, _ := strconv.ParseInt(m[3], 10, 64)
		rest, _ := strconv.ParseInt(m[4], 10, 64)
		at := seconds*int64(time.Second) + rest
		if m[1] == "-1" {
			continue // the thread has exited
		}
		key := ran{"thread " + m[1], m[5]}
		if m[6] != "" {
			cpu, _ := strconv.Atoi(m[2])
			key = ran{fmt.Sprint("CPU ", cpu), m[6]}
		}
		if m[7] != "" {
			key.function = m[7]
		}
		all[key] = append(all[key], at)
	}
	return all
}

// uptime is a time of /proc/uptime in a file, ns.
func uptime(t *testing.T, file string) int64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	word, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(word, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(seconds * 1e9)
}

// TestWaitsForLocksAreWithinTheirCalls records a thread that has waited for the same lock before the window opens. Each call waits for it
// at most once.
func TestWaitsForLocksAreWithinTheirCalls(t *testing.T) {
	tools.NeedPrivilege(t)
	program := exec.Command(compileC(t, "mappers"))
	var out bytes.Buffer
	program.Stdout = &out
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	file := filepath.Join(t.TempDir(), "lock.wprof")
	tools.Run(t, "wprof-record", "-f", "lock", "--no-stacks", "-d700ms", "-o", file)
	if err := program.Wait(); err != nil {
		t.Fatal(err)
	}
	var tid int
	var longest int64
	if _, err := fmt.Sscan(out.String(), &tid, &longest); err != nil {
		t.Fatalf("mappers wrote %q: %v", &out, err)
	}
	waits := 0
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindTyped || string(r.EventType(e.TypeID()).Name) != "lock" || r.Task(e.Task).GetTid() != int32(tid) {
			return
		}
		waits++
		if start, _ := e.Start(); e.Happened()-start > longest {
			t.Errorf("a wait for a lock of %d ns, in a call of %d ns at most", e.Happened()-start, longest)
		}
	})
	if waits == 0 {
		t.Error("the thread has no wait for a lock")
	}
}
