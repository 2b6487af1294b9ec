//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/test/tools"
)

// cpuToTake is a CPU that can go offline, and the file that says so.
func cpuToTake(t *testing.T) (cpu int, file string) {
	t.Helper()
	tools.NeedPrivilege(t)
	if os.Getenv("WPROF_TEST_CPU_OFFLINE") == "" {
		t.Skip("taking a CPU away disturbs all that runs here; WPROF_TEST_CPU_OFFLINE=1 allows it (docs/kernels.md)")
	}
	files, err := filepath.Glob("/sys/devices/system/cpu/cpu[1-9]*/online")
	if err != nil || len(files) == 0 {
		t.Skip("no CPU can go offline here (docs/kernels.md)")
	}
	file = files[len(files)-1]
	if _, err := fmt.Sscanf(filepath.Base(filepath.Dir(file)), "cpu%d", &cpu); err != nil {
		t.Fatal(err)
	}
	return cpu, file
}

// setOnline returns the time of CLOCK_MONOTONIC, ns, at which it was done.
func setOnline(t *testing.T, file, value string) int64 {
	t.Helper()
	if err := os.WriteFile(file, []byte(value), 0); err != nil && value == "0" {
		t.Skipf("this CPU does not go offline (docs/kernels.md): %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return proc.Monotonic()
}

// spinOn runs the workload, under a name, on one CPU.
func spinOn(t *testing.T, cpu int, program string) {
	t.Helper()
	if out, err := exec.Command("taskset", "-c", fmt.Sprint(cpu), program, "spin").CombinedOutput(); err != nil {
		t.Errorf("%s on CPU %d: %v: %s", program, cpu, err, out)
	}
}

// spinners are copies of the workload that differ in their names.
func spinners(t *testing.T, names ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	content, err := os.ReadFile(tools.Path("workload"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o700); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// named is how many samples a program has on a CPU of whose user part it is known which file some frame is in. Where the
// clock is read by a system call, most of them are in the C library, which hides the caller.
func named(t *testing.T, capture string, cpu int, comm string) (n int) {
	t.Helper()
	eachSampleOf(t, capture, func(r *format.Reader, e *format.Event) {
		task := r.Task(e.Task)
		if int(e.CPU) != cpu || task == nil || string(task.Comm) != comm {
			return
		}
		stack := r.Stack(e.Sample().Stack())
		if stack == nil || stack.IsLost() {
			return
		}
		for _, id := range stack.Frames[:len(stack.Frames)-int(stack.KernelFrames)] {
			if m := r.Module(r.Frame(id).Module); m != nil && filepath.IsAbs(string(m.Path)) {
				n++
				return
			}
		}
	})
	return n
}

// leastSamples is a small part of those that a program has that spins for 1.5 s.
func leastSamples(t *testing.T) int {
	if tools.Emulated(t) {
		return 4
	}
	return 20
}

func TestCPUThatGoesOfflineAndComesBackIsRecorded(t *testing.T) {
	cpu, file := cpuToTake(t)
	t.Cleanup(func() { setOnline(t, file, "1") })
	programs := spinners(t, "before", "after")
	capture := filepath.Join(t.TempDir(), "cpu.wprof")
	flags := []string{"-d120s", "-o", capture, "--pmu", "page-faults", "-S+pmu=page-faults/name=each/@1"}
	_, err := os.Stat("/sys/bus/event_source/devices/kprobe")
	hasKprobes := err == nil
	if hasKprobes { // else code of the kernel has no breakpoints
		flags = append(flags, "-U", "watch:kernel:do_exit:x (arg:rdi) | id:exit |")
	}
	r := tools.Start(t, flags...)
	spinOn(t, cpu, programs[0])
	gone := setOnline(t, file, "0")
	time.Sleep(time.Second)
	back := proc.Monotonic()
	setOnline(t, file, "1")
	time.Sleep(time.Second)
	spinOn(t, cpu, programs[1])
	if status := r.Stop(); status != 0 || strings.Contains(r.Stderr.String(), "missing") {
		t.Fatalf("status %d: %s", status, r.Stderr.String())
	}
	checkAbsent(t, capture, cpu, gone, back)
	for _, comm := range []string{"before", "after"} {
		if n := named(t, capture, cpu, comm); n < leastSamples(t) {
			t.Errorf("%d samples on CPU %d are in known files, of a program that spun there for 1.5 s %s it was offline", n, cpu, comm)
		}
		did := readDone(t, capture, cpu, comm)
		if did.faults < 20 || did.faults > 10_000 || did.sampled < 20 || did.sampled > did.faults+20 || did.sampled < did.faults-20 {
			t.Errorf("%s had %v page faults on CPU %d by a counter, and %v by samples", comm, did.faults, cpu, did.sampled)
		}
		if hasKprobes && did.exits != 1 {
			t.Errorf("%s ended %d times on CPU %d", comm, did.exits, cpu)
		}
	}
}

// done is what a program did on a CPU: its page faults by a counter and by samples, and how often it ended, by a breakpoint of the kernel.
type done struct {
	faults, sampled float64
	exits           int
}

func readDone(t *testing.T, capture string, cpu int, comm string) (did done) {
	t.Helper()
	_, lines, _ := bytes.Cut(tools.Run(t, "wprof-json", "-k", "switch,pmu_event,utrace_instant", capture), []byte("\n"))
	for line := range bytes.Lines(lines) {
		var one struct {
			T          string
			CPU        int
			Prev, Task struct{ Comm string }
			PMUs       []*float64
			Period     float64 `json:"sample_period"`
		}
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case one.CPU != cpu:
		case one.T == "switch" && one.Prev.Comm == comm && len(one.PMUs) > 0 && one.PMUs[0] != nil:
			did.faults += *one.PMUs[0]
		case one.T == "pmu_event" && one.Task.Comm == comm:
			did.sampled += one.Period
		case one.T == "utrace_instant" && one.Task.Comm == comm:
			did.exits++
		}
	}
	return did
}

// A CPU that was offline when the recording began shares the ring of another.
func TestCPUThatComesOnlineIsRecorded(t *testing.T) {
	cpu, file := cpuToTake(t)
	t.Cleanup(func() { setOnline(t, file, "1") })
	programs := spinners(t, "late")
	setOnline(t, file, "0")
	capture := filepath.Join(t.TempDir(), "cpu.wprof")
	r := tools.Start(t, "-d120s", "-o", capture)
	time.Sleep(200 * time.Millisecond)
	setOnline(t, file, "1")
	time.Sleep(time.Second)
	spinOn(t, cpu, programs[0])
	if status := r.Stop(); status != 0 {
		t.Fatalf("status %d: %s", status, r.Stderr.String())
	}
	if n := named(t, capture, cpu, "late"); n < leastSamples(t) {
		t.Errorf("%d samples on CPU %d are in known files, of a program that spun there for 1.5 s", n, cpu)
	}
	checkAbsent(t, capture, cpu, 0, 0)
}

// checkAbsent checks that a capture is whole, that the CPU switched threads, and that it did not while it was offline.
func checkAbsent(t *testing.T, capture string, cpu int, from, to int64) {
	t.Helper()
	tools.Run(t, "wprof-info", "--check", capture)
	f, err := os.Open(capture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	switches, absent := 0, 0
	tools.Walk(t, f, func(r *format.Reader, e *format.Event) {
		if int(e.CPU) != cpu || e.Kind != format.KindSwitch && e.Kind != format.KindSample {
			return
		}
		switches++
		if e.Time > from && e.Time < to {
			absent++
		}
	})
	if switches < 20 || absent > 0 {
		t.Errorf("%d switches and samples on CPU %d, %d of them while it was offline", switches, cpu, absent)
	}
}
