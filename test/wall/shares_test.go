//go:build linux

package wall

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// measured is what a thread of the program known prints about itself, ns.
type measured struct {
	name            string
	tid             int
	begin, end, cpu int64
	off             [4]int64 // in the calls
}

// calls are the functions of known in which its threads are off the CPU, in the order of off.
func calls() [4]string { return [4]string{";in_nanosleep;", ";in_futex;", ";in_read;", ";in_fsync;"} }

func (m *measured) lived() int64 { return m.end - m.begin }

// startKnown starts the program, whose threads are at rest then.
func startKnown(t *testing.T, seconds float64) *tools.Workload {
	t.Helper()
	w := tools.StartWorkload(t, exec.Command(tools.Path("known"), fmt.Sprint(seconds), t.TempDir()))
	w.Until("ready")
	w.WaitAsleep()
	return w
}

// work lets the program do its work and returns what its threads print.
func work(t *testing.T, w *tools.Workload) (all []measured) {
	t.Helper()
	w.Send("go\n")
	for _, line := range w.Until("done") {
		var m measured
		if _, err := fmt.Sscan(line, &m.name, &m.tid, &m.begin, &m.end, &m.cpu, &m.off[0], &m.off[1], &m.off[2], &m.off[3]); err != nil {
			t.Fatalf("the program says %q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

// stolen is what the hypervisor took from all CPUs since boot, ns: the eighth number of /proc/stat, in ticks of 10 ms. A
// scheduler built to account for it leaves it out of a thread's CPU time, and off the CPU a thread was not.
func stolen(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	ticks, err := strconv.ParseInt(strings.Fields(string(text))[8], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return ticks * 10e6
}

// window is when the window of a capture opened, CLOCK_MONOTONIC ns.
func window(t *testing.T, capture string) int64 {
	t.Helper()
	return tools.WalkFile(t, capture, func(*format.Reader, *format.Event) {}).FirstOpen()
}

// folded are the stacks of a thread in a part of time, with their ns.
func folded(t *testing.T, capture string, open int64, m *measured) map[string]int64 {
	t.Helper()
	out := tools.Run(t, "wprof-flame", "--by=none", "--unit=ns", "--tid", strconv.Itoa(m.tid),
		"--start", fmt.Sprintf("%dns", m.begin-open), "--end", fmt.Sprintf("%dns", m.end-open), capture)
	stacks := make(map[string]int64)
	for line := range strings.Lines(string(out)) {
		at := strings.LastIndexByte(line, ' ')
		ns, err := strconv.ParseInt(strings.TrimSpace(line[at+1:]), 10, 64)
		if err != nil {
			t.Fatalf("folded line %q: %v", line, err)
		}
		stacks[line[:at]] += ns
	}
	return stacks
}

// shown is what folded stacks show of a thread, as the thread measured it, and how much they do not know.
func shown(stacks map[string]int64) (m measured, missing int64) {
	for stack, ns := range stacks {
		m.end += ns
		switch {
		case strings.HasSuffix(stack, "_[c]"):
			m.cpu += ns
		case !strings.HasSuffix(stack, "_[o]"), strings.HasPrefix(stack, "[no stack]"):
			missing += ns
		}
		for i, call := range calls() {
			if strings.HasSuffix(stack, "_[o]") && strings.Contains(stack, call) {
				m.off[i] += ns
			}
		}
	}
	return m, missing
}

func TestSharesAreWhatTheProgramMeasured(t *testing.T) {
	tools.NeedPrivilege(t)
	w := startKnown(t, 4)
	file := filepath.Join(t.TempDir(), "known.wprof")
	var all []measured
	before := stolen(t)
	tools.Record(t, file, []string{"-p", w.PIDText(), "-Stimer=49hz", "-S+offcpu", "--offcpu-min=0"}, func() { all = work(t, w) })
	taken := stolen(t) - before
	open := window(t, file)
	for i := range all {
		m := &all[i]
		got, missing := shown(folded(t, file, open, m))
		if got.end != m.lived() {
			t.Errorf("%s: the stacks add up to %d ns, and it lived for %d ns", m.name, got.end, m.lived())
		}
		if missing > m.lived()/8 {
			t.Errorf("%s: %v of %v are not known", m.name, time.Duration(missing), time.Duration(m.lived()))
		}
		compare(t, m, "on the CPU", got.cpu, m.cpu, taken+missing)
		for i, call := range calls() {
			compare(t, m, "in "+strings.Trim(call, ";"), got.off[i], m.off[i], taken+missing)
		}
	}
	mustHaveWorked(t, all)
}

// compare compares a share of a thread's time with what it measured: two percentage points apart at most, besides what the
// hypervisor took and switches that the kernel does not report: see docs/kernels.md on threads of process 1.
func compare(t *testing.T, m *measured, what string, got, want, excused int64) {
	t.Helper()
	apart := float64(max(got-want, want-got)-excused) / float64(m.lived())
	text := fmt.Sprintf("%s: %s for %.2f%%, it measured %.2f%%", m.name, what, 100*float64(got)/float64(m.lived()), 100*float64(want)/float64(m.lived()))
	if apart > 0.02 {
		t.Errorf("%s (%v excused)", text, time.Duration(excused))
	} else if max(got, want) > 0 {
		t.Log(text)
	}
}

// mustHaveWorked fails without time of every kind: shares of nothing always agree.
func mustHaveWorked(t *testing.T, all []measured) {
	t.Helper()
	for i, name := range []string{"nap50", "waiter", "reader", "syncer"} {
		for _, m := range all {
			if m.name == name && m.off[i] < 1e6 {
				t.Errorf("%s measured but %v of what it is for", name, time.Duration(m.off[i]))
			}
		}
	}
}
