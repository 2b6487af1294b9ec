//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
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

// interruptFiles count interrupts.
var interruptFiles = [2]string{"/proc/softirqs", "/proc/interrupts"}

// interrupt is one in a capture, by what its line in one of interruptFiles is called.
type interrupt struct {
	key   string
	start int64
}

// interruptCapture is what a capture has of interrupts.
type interruptCapture struct {
	of       [2][]interrupt
	handlers map[string]bool
}

func readInterrupts(t *testing.T, file string) *interruptCapture {
	t.Helper()
	c := &interruptCapture{handlers: map[string]bool{}}
	r := tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind == format.KindTyped {
			c.add(t, r, e)
		}
	})
	if lost := r.End().GetLosses(); len(lost) != 0 {
		t.Fatalf("%v", lost)
	}
	return c
}

func (c *interruptCapture) add(t *testing.T, r *format.Reader, e *format.Event) {
	t.Helper()
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
		c.handlers[string(r.Text(values[0].ID()).GetText())] = true
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
	c.of[i] = append(c.of[i], interrupt{key, start})
}

// compare compares the interrupts between two reads: those that began surely between them, and those that may have.
func (c *interruptCapture) compare(t *testing.T, before, after [2]counts) {
	t.Helper()
	for i, path := range interruptFiles {
		surely, maybe := map[string]uint64{}, map[string]uint64{}
		for _, n := range c.of[i] {
			maybe[n.key] += 0
			if n.start > before[i].from-apart && n.start < after[i].to+apart {
				maybe[n.key]++
			}
			if n.start > before[i].to+apart && n.start < after[i].from-apart {
				surely[n.key]++
			}
		}
		for key := range maybe {
			if n := after[i].of[key] - before[i].of[key]; n < surely[key] || n > maybe[key] {
				t.Errorf("%s: the kernel counts %d of %s, the capture has %d to %d", path, n, key, surely[key], maybe[key])
			}
		}
		t.Logf("%s in %d ms: %v", path, (after[i].from-before[i].to)/1e6, surely)
		if len(surely) == 0 {
			t.Errorf("no interrupt of %s is recorded", path)
		}
	}
}

// TestInterruptsAreThoseThatTheKernelCounts compares the spans of interrupts with /proc/softirqs and /proc/interrupts, exactly.
func TestInterruptsAreThoseThatTheKernelCounts(t *testing.T) {
	tools.NeedPrivilege(t)
	var reads [][2]counts
	file := tools.Record(t, filepath.Join(t.TempDir(), "irq.wprof"), []string{"-f", "irq"}, func() {
		for range 100 {
			var read [2]counts
			for i, path := range interruptFiles {
				read[i] = readCounts(t, path)
			}
			reads = append(reads, read)
			syncFile(t) // something for the disk's interrupts
			time.Sleep(10 * time.Millisecond)
		}
	})
	c := readInterrupts(t, file)
	var when []interval
	for _, r := range reads {
		when = append(when, interval{r[0].from, r[1].to})
	}
	for _, run := range comparable(t, when, hiddenIn(t, file)) {
		c.compare(t, reads[run[0]], reads[run[1]])
	}
	if !slices.ContainsFunc(c.of[1], func(n interrupt) bool { return n.key == "LOC" }) {
		t.Error("no interrupt of a CPU's timer is recorded")
	}
	if c.handlers[""] || len(c.handlers) == 0 {
		t.Errorf("handlers are called %v", c.handlers)
	}
}

// syncFile writes a file to the disk.
func syncFile(t *testing.T) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}
