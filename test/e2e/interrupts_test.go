//go:build linux

package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/test/tools"
)

// counts are the kernel's counts, read between two times, CLOCK_MONOTONIC ns.
type counts struct {
	from, to int64
	of       map[string]uint64
}

// readCounts adds up the CPUs' numbers in the lines of a file of /proc, by the name in front.
func readCounts(t *testing.T, path string) counts {
	t.Helper()
	c := counts{from: proc.Monotonic(), of: make(map[string]uint64)}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c.to = proc.Monotonic()
	for line := range strings.Lines(string(text)) {
		name, rest, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		for _, word := range strings.Fields(rest) {
			n, err := strconv.ParseUint(word, 10, 64)
			if err != nil {
				break
			}
			c.of[strings.TrimSpace(name)] += n
		}
	}
	return c
}

// TestInterruptsAreThoseThatTheKernelCounts compares the spans of interrupts with /proc/softirqs and /proc/interrupts, exactly: those that
// began surely between two reads, and those that may have.
func TestInterruptsAreThoseThatTheKernelCounts(t *testing.T) {
	tools.NeedPrivilege(t)
	var before, after [2]counts
	files := [2]string{"/proc/softirqs", "/proc/interrupts"}
	file := tools.Record(t, filepath.Join(t.TempDir(), "irq.wprof"), []string{"-f", "irq"}, func() {
		for i, path := range files {
			before[i] = readCounts(t, path)
		}
		for range 20 { // something for the disk's interrupts
			path := filepath.Join(t.TempDir(), "file")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.Write(make([]byte, 1<<20))
			_ = f.Sync()
			_ = f.Close()
			time.Sleep(10 * time.Millisecond)
		}
		for i, path := range files {
			after[i] = readCounts(t, path)
		}
	})
	var surely, maybe [2]map[string]uint64
	for i := range files {
		surely[i], maybe[i] = make(map[string]uint64), make(map[string]uint64)
	}
	handlers := map[string]bool{}
	r := tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindTyped {
			return
		}
		of := r.EventType(e.TypeID())
		values, ok := of.AppendValues(nil, e)
		start, isSpan := e.Start()
		if !ok || !isSpan || start > e.Time || e.Time-start > 1e9 {
			t.Fatalf("%s: %v %v", of.Name, values, e)
		}
		i, key := 0, ""
		switch string(of.Name) {
		case "softirq":
			key = string(values[0].Field.EnumName(values[0].Int()))
			if delay := values[1].Int(); delay < 0 || delay > 60e9 {
				t.Errorf("%s began %d ns after its raise", key, delay)
			}
		case "hardirq":
			i, key = 1, strconv.FormatUint(values[1].Number, 10)
			handlers[string(r.Text(values[0].ID()).GetText())] = true
		case "local_timer":
			i, key = 1, "LOC"
		case "ipi":
			i, key = 1, map[string]string{
				"reschedule": "RES", "call function": "CAL", "call function single": "CAL", "irq_work": "IWI",
			}[string(values[0].Field.EnumName(values[0].Int()))]
			if delay := values[1].Int(); delay < 0 || delay > 1e9 {
				t.Errorf("%s was handled %d ns after it was sent", key, delay)
			}
		default:
			return // the kernel does not count them
		}
		// The kernel counts before or after the program runs, and a hypervisor may take the CPU away in between.
		const apart = int64(5e6)
		if start > before[i].to+apart && start < after[i].from-apart {
			surely[i][key]++
		}
		if start > before[i].from-apart && start < after[i].to+apart {
			maybe[i][key]++
		}
	})
	if lost := r.End().GetLosses(); len(lost) != 0 {
		t.Fatalf("%v", lost)
	}
	for i, path := range files {
		if len(surely[i]) == 0 {
			t.Errorf("no interrupt of %s is recorded", path)
		}
		for _, key := range append(keysOf(maybe[i]), keysOf(surely[i])...) {
			if n := after[i].of[key] - before[i].of[key]; n < surely[i][key] || n > maybe[i][key] {
				t.Errorf("%s: the kernel counts %d of %s, the capture has %d to %d", path, n, key, surely[i][key], maybe[i][key])
			}
		}
		t.Logf("%s: %v", path, surely[i])
	}
	if surely[1]["LOC"] == 0 {
		t.Error("no interrupt of a CPU's timer is recorded")
	}
	if handlers[""] || len(handlers) == 0 {
		t.Errorf("handlers are called %v", handlers)
	}
}

func keysOf(m map[string]uint64) (keys []string) {
	for key := range maps.Keys(m) {
		keys = append(keys, key)
	}
	return keys
}
