//go:build linux

package firefox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"wprof/test/tools"
)

// times is what a thread did in ns, and how often.
type times struct {
	running, blocked, waiting int64
	runs, offs, samples       int
}

// timesOf adds up what lines of wprof-json say about the threads of a process by tid. missing counts their runs of which no line
// says when they began.
func timesOf(t *testing.T, lines []byte, pid int, missing *int) map[int]*times {
	t.Helper()
	type task struct{ TID, PID int }
	type arrival struct {
		at  int64
		tid int
	}
	all, onCPU := make(map[int]*times), make(map[uint32]arrival)
	of := func(tid int) *times {
		if all[tid] == nil {
			all[tid] = new(times)
		}
		return all[tid]
	}
	for in := bufio.NewScanner(bytes.NewReader(lines)); in.Scan(); {
		var l struct {
			T                string
			TS               int64
			CPU              uint32
			Prev, Next, Task task
			OffCPU           *int64 `json:"offcpu_dur"`
			WakingTS         *int64 `json:"waking_ts"`
			Reason           string `json:"waking_reason"`
		}
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		switch l.T {
		case "lost":
			t.Fatal("the recording has lost events")
		case "timer":
			of(l.Task.TID).samples++
		case "switch":
			if came := onCPU[l.CPU]; came.tid == l.Prev.TID {
				of(l.Prev.TID).running += l.TS - came.at
			} else if l.Prev.PID == pid {
				*missing++
			}
			onCPU[l.CPU] = arrival{l.TS, l.Next.TID}
			next := of(l.Next.TID)
			next.runs++
			off := int64(0)
			if l.OffCPU != nil {
				off = *l.OffCPU
				next.offs++
			}
			wait := int64(0)
			switch {
			case l.Reason == "preempted":
				wait = off
			case l.OffCPU == nil && l.WakingTS != nil: // it is new
				wait, off = l.TS-*l.WakingTS, l.TS-*l.WakingTS
			case l.WakingTS != nil:
				wait = min(off, l.TS-*l.WakingTS)
			}
			next.waiting += wait
			next.blocked += off - wait
		}
	}
	return all
}

// For the threads of a program that begins and ends within the recording, the importer computes the same times on and off the CPU,
// to the nanosecond, and has a marker for each of them.
func TestImporterAgreesWithTheLines(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shift.wprof")
	pid, want := recorded(t, file)
	i := open(t, tools.Convert(t, file+".json", "wprof-json", "--firefox", file))
	found := 0
	for _, one := range i.threads() {
		if one.PID != strconv.Itoa(pid) {
			continue
		}
		found++
		tid, err := strconv.Atoi(one.TID)
		if err != nil {
			t.Fatal(err)
		}
		agrees(t, i, &one, want[tid])
	}
	if found != 2 {
		t.Errorf("%d threads of process %d, want 2", found, pid)
	}
}

// recorded records the program, again if a switch is missing that the kernel did not report: see "Known kernel behaviour" in
// docs/kernels.md.
func recorded(t *testing.T, file string) (pid int, want map[int]*times) {
	t.Helper()
	for range 6 {
		tools.Record(t, file, []string{"-Stimer=999hz", "-S+offcpu", "--offcpu-min", "0", "--ringbuf-size", "32mb"}, func() {
			shift := exec.Command(tools.Path("shift"))
			if err := shift.Run(); err != nil {
				t.Fatal(err)
			}
			pid = shift.Process.Pid
		})
		missing := 0
		want = timesOf(t, tools.Run(t, "wprof-json", "--time", "ns", "--no-stacks", file), pid, &missing)
		if missing == 0 {
			return pid, want
		}
		t.Logf("%d runs have no beginning", missing)
	}
	t.Fatal("in each recording a switch is missing")
	return 0, nil
}

func agrees(t *testing.T, i *importer, of *thread, want *times) {
	t.Helper()
	sums := i.milliseconds(of)
	for _, one := range []struct {
		what  string
		gotMs float64
		want  int64
	}{
		{"CPU", of.CPUMs, want.running},
		{"running", sums["User"] + sums["Kernel"] + sums["Running"], want.running},
		{"blocked", sums["Blocked"], want.blocked},
		{"waiting", sums["Waiting for CPU/runnable"] + sums["Waiting for CPU/preempted"], want.waiting},
	} {
		if math.Abs(one.gotMs*1e6-float64(one.want)) > 0.5 {
			t.Errorf("thread %s: %s %v ms, want %d ns", of.TID, one.what, one.gotMs, one.want)
		}
	}
	markers := make(map[string]int)
	withStack := 0
	for _, m := range i.markers(of) {
		markers[m.Name]++
		if m.HasStack {
			withStack++
		}
	}
	if n := markers["Off CPU"] + markers["Preempted"]; markers["Running"] != want.runs || n != want.offs || markers["Exits"] != 1 {
		t.Errorf("thread %s: markers %v, want %d runs and %d times off", of.TID, markers, want.runs, want.offs)
	}
	if want.samples > 10 && sums["User"] == 0 || markers["Off CPU"] < 50 || withStack < markers["Off CPU"]*9/10 {
		t.Errorf("thread %s: %d samples, times %v, markers %v, %d with stacks", of.TID, want.samples, sums, markers, withStack)
	}
}
