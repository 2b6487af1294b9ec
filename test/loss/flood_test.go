//go:build linux

package loss

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// flood records a program that calls getppid, and returns how often each CPU did.
func flood(t *testing.T, calls, pauseUs int, args ...string) (c *capture, made map[uint32]uint64, report string) {
	t.Helper()
	w := workloadOf(t, "flood", calls, pauseUs)
	path := filepath.Join(t.TempDir(), "flood.wprof")
	r := tools.Start(t, append([]string{"-d0", "-p", w.PIDText(), "--no-stacks", "-f", "syscall=getppid", "--fail-on-loss", "-o", path}, args...)...)
	w.Send("\n")
	made = map[uint32]uint64{}
	for _, line := range w.Until("done") {
		var tid, cpu, n int
		if _, err := fmt.Sscan(line, &tid, &cpu, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		made[uint32(cpu)] += uint64(n)
	}
	w.WaitAsleep()
	status := r.Stop()
	report = strings.TrimSpace(r.Stderr.String())
	t.Log(report)
	c = read(t, path)
	isLossy := false
	for _, l := range c.losses {
		isLossy = isLossy || l.cause.IsFault()
	}
	if want := map[bool]int{true: 5}[isLossy]; status != want {
		t.Errorf("status %d, want %d: %s", status, want, report)
	}
	return c, made, report
}

// accountFor checks that recorded and missing calls are together those that were made, by CPU, and that nothing else is missing.
func accountFor(t *testing.T, c *capture, made map[uint32]uint64) (recorded, missing uint64) {
	t.Helper()
	sums := c.sums()
	for cpu, n := range made {
		at := where{cpu, format.KindTyped}
		if c.handled[at]+sums[at] != n {
			t.Errorf("CPU %d: %d recorded and %d missing, %d were made", cpu, c.handled[at], sums[at], n)
		}
		if sums[at] != c.inEnds[at] {
			t.Errorf("CPU %d: the events report %d missing, the end %d", cpu, sums[at], c.inEnds[at])
		}
		recorded, missing = recorded+c.handled[at], missing+sums[at]
	}
	for _, l := range c.losses {
		if l.kind != format.KindTyped || l.of != "syscall" {
			t.Errorf("missing: %+v", l)
		}
	}
	return recorded, missing
}

func TestFloodTakesNoRoomFromSwitches(t *testing.T) {
	tools.NeedPrivilege(t)
	c, made, _ := flood(t, 1_000_000, 50, "--ringbuf-size", "32kb")
	if _, lost := accountFor(t, c, made); lost == 0 {
		t.Error("no call was lost: the test does not test")
	}
	if switches, _ := c.total(format.KindSwitch); switches < 2*1000 {
		t.Errorf("%d switches, although each thread sleeps 1,000 times", switches)
	}
}

// TestFloodTakesNoRoomFromDefinitions starts programs while system calls fill the rings. What is lost belongs to system calls,
// as the files of their descriptors do, and each program has its name.
func TestFloodTakesNoRoomFromDefinitions(t *testing.T) {
	tools.NeedPrivilege(t)
	const tries = 5 // on a busy machine the reader may stand still for longer than the room for the scheduler lasts
	for range tries {
		path, missing := floodedPrograms(t)
		calls, isFull := uint64(0), false
		losses := read(t, path).losses
		for _, l := range losses {
			isFull = isFull || l.kind != format.KindTyped && l.cause == format.CauseRing
			if l.kind == format.KindTyped && l.cause != format.CauseDefinition {
				calls += l.count
			}
		}
		if isFull {
			continue
		}
		for _, l := range losses {
			if l.kind != format.KindTyped {
				t.Errorf("missing: %+v", l)
			}
		}
		if len(missing) > 0 {
			t.Errorf("%d programs have no end, or another name: %v", len(missing), missing)
		}
		if calls == 0 {
			t.Error("no call was lost: the test does not test")
		}
		return
	}
	t.Errorf("events of the scheduler were lost %d times: the reader stood still", tries)
}

// floodedPrograms records programs that are started beside a flood, and returns those whose exit is not in the capture under their names.
func floodedPrograms(t *testing.T) (path string, missing map[int32]bool) {
	t.Helper()
	w := workloadOf(t, "flood", 1_000_000, 0)
	path, missing = filepath.Join(t.TempDir(), "flood.wprof"), map[int32]bool{}
	r := tools.Start(t, "-d0", "--no-stacks", "-f", "syscall", "--ringbuf-size", "128kb", "-o", path)
	w.Send("\n")
	for range 40 {
		program := exec.Command("cat", "/proc/self/status")
		if err := program.Run(); err != nil {
			t.Fatal(err)
		}
		missing[int32(program.Process.Pid)] = true
	}
	w.Until("done")
	r.Stop()
	t.Log(strings.TrimSpace(r.Stderr.String()))
	tools.WalkFile(t, path, func(r *format.Reader, e *format.Event) {
		if task := r.Task(e.Task); e.Kind == format.KindExit && string(task.GetComm()) == "cat" {
			delete(missing, task.GetTid())
		}
	})
	return path, missing
}

func TestLimitLeavesOutExactlyWhatIsBeyondIt(t *testing.T) {
	tools.NeedPrivilege(t)
	const rate = 5000
	began := time.Now()
	c, made, report := flood(t, 300_000, 1000, "--limit", "syscall="+fmt.Sprint(rate))
	took := time.Since(began)
	recorded, left := accountFor(t, c, made)
	for _, l := range c.losses {
		if l.cause != format.CauseLimit || l.from > l.at {
			t.Errorf("%+v", l)
		}
	}
	// A tenth of a second more on each CPU: the first window.
	if most := uint64(float64(rate) * (took.Seconds() + 0.1) * float64(len(made))); recorded == 0 || recorded > most || left == 0 {
		t.Errorf("%d recorded and %d left out, at most %d pass the limit in %v", recorded, left, most, took)
	}
	if !strings.Contains(report, "nothing lost; --limit left out") {
		t.Error(report)
	}
	toolsReportLimit(t, c.path, left)
}

// toolsReportLimit checks what the tools report of what a limit left out, none of which is a loss.
func toolsReportLimit(t *testing.T, path string, left uint64) {
	t.Helper()
	for _, args := range [][]string{{"wprof-info"}, {"wprof-info", "--check"}, {"wprof-json"}, {"wprof-perfetto"}, {"wprof-filter"}, {"wprof-flame", "--folded"}} {
		tools.Run(t, args[0], append(args[1:], "--fail-on-loss", path)...)
	}
	var info struct {
		Recordings []struct {
			Lost   uint64
			Losses []struct {
				Type, Cause string
				Count       uint64
			}
		}
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", path), &info); err != nil {
		t.Fatal(err)
	}
	var inInfo uint64
	for _, l := range info.Recordings[0].Losses {
		if l.Type != "syscall" || l.Cause != "limit" {
			t.Errorf("wprof-info --json: %+v", l)
		}
		inInfo += l.Count
	}
	if inInfo != left || info.Recordings[0].Lost != 0 {
		t.Errorf("wprof-info --json has %d left out and %d lost, want %d and 0", inInfo, info.Recordings[0].Lost, left)
	}
	var inLines uint64
	for _, line := range strings.Split(strings.TrimSpace(string(tools.Run(t, "wprof-json", "-k", "lost", path))), "\n")[1:] {
		var l struct {
			T, Cause, What, Type string
			Count                uint64
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.T == "lost" && (l.Cause != "limit" || l.What != "typed" || l.Type != "syscall") {
			t.Errorf("wprof-json: %s", line)
		}
		inLines += l.Count
	}
	if inLines != left {
		t.Errorf("wprof-json has %d left out, want %d", inLines, left)
	}
}
