//go:build linux

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/engine"
	"wprof/test/tools"
)

// throttled is what a capture has of the threads of a process.
type throttled struct {
	ns, times int64 // throttled
	waited    int64 // runnable for another reason, ns
	kernel    int64 // on a CPU in runs of less than a millisecond, ns
}

func throttledIn(t *testing.T, file string, pid int32) (sum throttled) {
	t.Helper()
	ran := make(map[int32]int64) // by tid, since when
	tools.WalkFile(t, file, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindSwitch {
			return
		}
		v := e.Switch()
		if d := r.Task(e.Task); d.GetPid() == pid && ran[d.GetTid()] != 0 && e.Time-ran[d.GetTid()] < 1e6 {
			sum.kernel += e.Time - ran[d.GetTid()]
		}
		d := r.Task(v.Next())
		if d.GetPid() != pid {
			return
		}
		ran[d.GetTid()] = e.Time
		since, _ := v.Since()
		switch state, known := v.NextState(); {
		case !known || !state.IsRunnable():
		case state&format.StateThrottled != 0:
			sum.ns += e.Time - since
			sum.times++
		default:
			sum.waited += e.Time - since
		}
	})
	return sum
}

// TestThrottledTimeIsThatOfTheCgroup compares the time for which threads were throttled, one on each CPU, with the cgroup's own count.
//
// The kernel's count of a CPU begins when the quota is used up and ends when it is refilled, and a thread's time when it runs again. In between the
// thread waits without being throttled where it has lost its CPU before the quota was used up, or before it has come out of the
// kernel, which the capture has as other waits and as short runs. After it, the thread waits until the CPU is free: the cgroup is
// preferred, so for no more than a tick, 10 ms at CONFIG_HZ=100, each time.
func TestThrottledTimeIsThatOfTheCgroup(t *testing.T) {
	quota := tools.NewQuota(t, 30)
	var pid int
	file := tools.Record(t, filepath.Join(t.TempDir(), "quota.wprof"), nil, func() {
		busy := exec.Command(tools.Path("quota"), quota.Procs(), "1500")
		if out, err := busy.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		pid = busy.Process.Pid
	})
	want, periods := quota.Throttled()
	got := throttledIn(t, file, int32(pid))
	t.Logf("the cgroup was throttled for %d ns in %d periods, its threads for %d ns, %d times; they also waited for %d ns", want, periods, got.ns, got.times, got.waited)
	const tick = 10e6
	if least, most := want-got.waited-got.kernel-1e6, want+got.times*tick; got.ns < least || got.ns > most || periods == 0 || got.times == 0 {
		t.Errorf("the threads were throttled for %d ns, %d times, and waited for %d ns besides; the cgroup was for %d ns in %d periods", got.ns, got.times, got.waited, want, periods)
	}
	checkThrottledOutputs(t, file, pid, got)
}

// checkThrottledOutputs checks that each tool has the same time, under the same word.
func checkThrottledOutputs(t *testing.T, file string, pid int, want throttled) {
	t.Helper()
	near := func(what string, got int64) {
		t.Helper()
		if diff := got - want.ns; diff < -1e6 || diff > 1e6 {
			t.Errorf("%s has %d ns throttled, want %d", what, got, want.ns)
		}
	}
	if out := tools.Run(t, "wprof-info", "--check", file); strings.Contains(string(out), "damage") {
		t.Errorf("wprof-info --check found: %s", out)
	}
	folder := t.TempDir()
	text := tools.Convert(t, filepath.Join(folder, "text"), "wprof-info", "--dump", file)
	again := tools.Convert(t, filepath.Join(folder, "again.wprof"), "wprof-info", "--undump", text)
	kept := tools.Convert(t, filepath.Join(folder, "kept.wprof"), "wprof-filter", "-p", strconv.Itoa(pid), again)
	near("the filtered capture", throttledIn(t, kept, int32(pid)).ns)

	flame := int64(0)
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", "--by=wait", "--unit=ns", "-p", strconv.Itoa(pid), file))) {
		if strings.HasPrefix(line, "throttled;") {
			ns, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 10, 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			flame += ns
		}
	}
	near("wprof-flame", flame)

	lines := int64(0)
	for line := range strings.Lines(string(tools.Run(t, "wprof-json", "-k", "switch", kept))) {
		var l struct {
			NextState string  `json:"next_state"`
			Class     string  `json:"wait_class"`
			Reason    string  `json:"waking_reason"`
			OffCPU    float64 `json:"offcpu_dur"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if l.NextState == "throttled" {
			lines += int64(1e9 * l.OffCPU)
			if l.Class != "throttled" || l.Reason != "throttled" {
				t.Errorf("a switch back to a throttled thread: %s", line)
			}
		}
	}
	near("wprof-json", lines)

	trace := tools.Convert(t, filepath.Join(folder, "trace.pb"), "wprof-perfetto", kept)
	checkTrace(t, trace)
	near("the trace", number(t, engine.Query(t, trace, "select sum(dur) as ns from slice where name = 'throttled'")[0][0], "ns"))
}
