//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// recordWorkload records the workload as a command. during may do something to the recorder meanwhile.
func recordWorkload(t *testing.T, during func(*run), flags []string, words ...string) (c *recording, printed string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.wprof")
	args := append(append([]string{"-o", file}, flags...), "--", os.Args[0], "workload")
	r := recorder(t, append(args, words...)...).start()
	if during != nil {
		r.opened(file + ".part")
		during(r)
	}
	if status := r.wait(); status != 0 {
		t.Fatalf("status %d: %s", status, r.stderr.String())
	}
	t.Logf("%s", strings.TrimSpace(r.stderr.String()))
	return readFile(t, file), r.stdout.String()
}

// holdUp keeps the recorder from reading the rings for a while, so that they overflow.
func holdUp(r *run) {
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := r.cmd.Process.Signal(sig); err != nil {
			r.t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// between are the events between the two moments at which a thread called itself begin and end.
func (c *recording) between(tid int32) []event {
	from, to := -1, -1
	for i := range c.events {
		e := &c.events[i]
		if e.Kind != format.KindRename || e.tid != tid {
			continue
		}
		switch string(c.tasks[e.Task].Comm) {
		case "begin":
			from = i
		case "end":
			to = i
		}
	}
	if from < 0 || to < from {
		return nil
	}
	return c.events[from : to+1]
}

func TestAMillionEventsASecondAreAllThere(t *testing.T) {
	tools.NeedPrivilege(t)
	c, printed := recordWorkload(t, nil, nil, "yield", "2s")
	if n := c.lost(format.KindSwitch); n > 0 {
		t.Errorf("%d switches were lost", n)
	}
	total := int64(0)
	for tid, want := range counts(t, printed, "%d switched %d times") {
		got := int64(0)
		for _, e := range c.between(tid) {
			if e.Kind == format.KindSwitch && e.tid == tid {
				got++
			}
		}
		// The kernel may switch between a count and its mark.
		if got < want || got > want+4 {
			t.Errorf("thread %d: %d switches in the capture, the kernel counted %d", tid, got, want)
		}
		total += want
	}
	t.Logf("%d switches, %.0f a second", total, float64(total)/c.window().Seconds())
}

func TestRecordedAndLostEventsAddUp(t *testing.T) {
	tools.NeedPrivilege(t)
	c, printed := recordWorkload(t, holdUp, []string{"--ringbuf-size=16kb", "-f", "no-wakeup"}, "yield", "4s")
	happened := int64(0)
	for _, n := range counts(t, printed, "%d switched %d times") {
		happened += n
	}
	handled := int64(0)
	for i := range c.events {
		if e := &c.events[i]; e.Kind == format.KindSwitch && c.tasks[e.Task].GetPid() == c.workloadPID() {
			handled++
		}
	}
	lost := int64(c.lost(format.KindSwitch))
	if lost == 0 {
		t.Fatal("nothing was lost, although the recorder was held up")
	}
	// What was lost includes switches of other threads to the workload's, and both include its beginning and end.
	if handled+lost < happened || float64(handled+lost) > 1.02*float64(happened)+2000 {
		t.Errorf("handled %d + lost %d, and %d happened", handled, lost, happened)
	}
	events := int64(0)
	for i := range c.events {
		if e := &c.events[i]; e.Kind == format.KindLost && format.Kind(e.Args[format.LostWhat]) == format.KindSwitch {
			events += int64(e.Args[format.LostCount])
			if from := int64(e.Args[format.LostFrom]); from > e.Time {
				t.Errorf("a loss from %d stands at %d", from, e.Time)
			}
		}
	}
	if events != lost {
		t.Errorf("events report %d lost switches, the end block %d", events, lost)
	}
}

// After a loss of switches the state of off-CPU threads is unknown; the list at the end has those that hang.
func TestHungThreadIsReportedAtTheEndInSpiteOfALoss(t *testing.T) {
	tools.NeedPrivilege(t)
	hung := hang(t)
	c, _ := recordWorkload(t, holdUp, []string{"--ringbuf-size=16kb", "-a"}, "yield", "3s")
	if c.lost(format.KindSwitch) == 0 {
		t.Fatal("nothing was lost, although the recorder was held up")
	}
	for i := range c.events {
		e := &c.events[i]
		if e.Kind != format.KindStateThread || e.Flags&format.FlagOpen == 0 || c.tasks[e.Task].GetPid() != hung {
			continue
		}
		if e.Flags&format.StateHasStack != 0 {
			return
		}
	}
	t.Error("no thread of a process that sleeps has a state with a stack at the end")
}

// hang starts a process with one thread, which sleeps until the test ends, and returns when it does.
func hang(t *testing.T) (pid int32) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for asleep := false; !asleep; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		asleep = strings.Contains(string(stat), "(sleep) S")
	}
	return int32(cmd.Process.Pid)
}

// workloadPID is the process of the command.
func (c *recording) workloadPID() int32 {
	for i := range c.events {
		if e := &c.events[i]; e.Kind == format.KindExec {
			return c.tasks[e.Task].GetPid()
		}
	}
	return -1
}

func TestLossIsAnExitStatus(t *testing.T) {
	tools.NeedPrivilege(t)
	workload(t, "yield", "20s")
	file := filepath.Join(t.TempDir(), "x.wprof")
	for _, c := range []struct {
		want int
		args []string
	}{{5, []string{"-d3s"}}, {125, []string{"-a", "--", "sleep", "3"}}} {
		args := append([]string{"-o", file, "--fail-on-loss", "--ringbuf-size=16kb"}, c.args...)
		r := recorder(t, args...).start()
		r.opened(file + ".part")
		holdUp(r)
		if status := r.wait(); status != c.want || !strings.Contains(r.stderr.String(), "--ringbuf-size 64kb helps") {
			t.Errorf("%v: status %d, want %d: %s", c.args, status, c.want, r.stderr.String())
		}
		if readFile(t, file).lost(format.KindSwitch) == 0 {
			t.Errorf("%v: the capture reports no loss", c.args)
		}
	}
}

func TestTimeOnCPUIsWhatTheSchedulerCounted(t *testing.T) {
	tools.NeedPrivilege(t)
	// Where the hypervisor took time from an idle CPU, the scheduler takes it off whoever runs there next
	// (update_rq_clock_task), and no counter shows that. So it tries again.
	for try := 1; ; try++ {
		off, allowed := timeOnCPU(t)
		if off <= allowed {
			return
		}
		t.Logf("try %d: %v off, %v allowed", try, off, allowed)
		if try == 12 {
			t.Fatal("the time on a CPU is not what the scheduler counted")
		}
	}
}

// timeOnCPU is how far a busy thread's time in the capture is off what the scheduler counted, and how far it may be: a
// hundredth and what was taken from the CPUs.
func timeOnCPU(t *testing.T) (off, allowed time.Duration) {
	t.Helper()
	before := takenNow(t)
	c, printed := recordWorkload(t, nil, []string{"-a"}, "spin", "1500ms")
	taken := takenNow(t) - before
	for tid, want := range counts(t, printed, "%d ran %d ns") {
		got := c.onCPU(t, tid)
		return time.Duration(max(got-want, want-got)), time.Duration(want/100 + taken)
	}
	return 0, 0
}

// onCPU is how long a thread ran between its two marks.
func (c *recording) onCPU(t *testing.T, tid int32) (total int64) {
	t.Helper()
	events := c.between(tid)
	if len(events) == 0 {
		t.Fatalf("thread %d has no marks", tid)
	}
	running, since := true, events[0].Time
	for i := range events {
		e := &events[i]
		if e.Kind != format.KindSwitch {
			continue
		}
		switch next := c.tasks[format.TaskID(e.Args[format.SwitchNext])]; {
		case e.tid == tid && running:
			total += e.Time - since
			running = false
		case next.GetTid() == tid:
			running, since = true, e.Time
		}
	}
	if running {
		total += events[len(events)-1].Time - since
	}
	return total
}

// takenNow is the time that the hypervisor and interrupts took from all CPUs since boot, ns: the sixth to eighth number
// of /proc/stat, in ticks of 10 ms. A scheduler built to account for them leaves both out of a thread's time.
func takenNow(t *testing.T) (ns int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text))[6:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ns += ticks * 10e6
	}
	return ns
}

func TestLiveEventsArriveWhileTheRecordingContinues(t *testing.T) {
	tools.NeedPrivilege(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := recorder(t, "--live", "-d0", "-f", "no-sched,no-wakeup")
	r.cmd.Stdout = in
	r.start()
	in.Close()
	events, err := format.NewReader(out)
	if err != nil {
		t.Fatal(err)
	}
	workload(t, "spin", "1s")
	for {
		e, err := events.Next()
		if err != nil {
			t.Fatalf("the stream ends: %v: %s", err, r.stderr.String())
		}
		if e.Kind == format.KindRename && string(events.Task(e.Task).GetComm()) == "begin" {
			break
		}
	}
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		_, err = events.Next()
	}
	if status := r.wait(); status != 0 || events.End() == nil || !events.End().Last {
		t.Errorf("status %d, end %v, %v: %s", status, events.End(), err, r.stderr.String())
	}
}

func TestStatsNameProgramsRingsAndRecorder(t *testing.T) {
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "x")
	r := recorder(t, "--stats", "-d300ms", "-o", file).start()
	if status := r.wait(); status != 0 {
		t.Fatalf("status %d: %s", status, r.stderr.String())
	}
	for _, want := range []string{"sched_switch", "ns/run", "skipped", "ring", "peak memory", "measure"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("the statistics lack %q: %s", want, r.stderr.String())
		}
	}
	if info := string(tools.Run(t, "wprof-info", file)); runtime.GOARCH == "amd64" && !strings.Contains(info, "by tables, the others by frame pointer") {
		t.Errorf("wprof-info does not show how stacks were unwound: %s", info)
	}
}
