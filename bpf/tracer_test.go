//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
)

func TestLoadsEachGroupAlone(t *testing.T) {
	both := Stacks{Kernel: true, User: true}
	for name, c := range map[string]struct {
		options Options
		absent  []uint8
	}{
		"everything":   {Options{}, nil},
		"no sched":     {Options{Off: format.GroupSched}, []uint8{ringdata.KindSwitch}},
		"no wakeup":    {Options{Off: format.GroupWakeup}, []uint8{ringdata.KindWaking, ringdata.KindWakeupNew}},
		"life only":    {Options{Off: format.GroupSched | format.GroupWakeup}, []uint8{ringdata.KindSwitch, ringdata.KindWaking, ringdata.KindWakeupNew}},
		"no task life": {Options{Off: format.GroupTaskLife}, nil},
		"one ring":     {Options{Rings: 1}, nil},
		"no arguments": {Options{NoArgs: true}, []uint8{ringdata.KindArgs}},

		"off-CPU stacks":           {Options{OffCPU: OffCPU{Stacks: both}}, nil},
		"off-CPU, kernel":          {Options{OffCPU: OffCPU{Stacks: Stacks{Kernel: true}}, Off: format.GroupWakeup}, []uint8{ringdata.KindWaking, ringdata.KindWakeupNew}},
		"off-CPU, user":            {Options{OffCPU: OffCPU{Stacks: Stacks{User: true}}}, nil},
		"off-CPU at the departure": {Options{OffCPU: OffCPU{Stacks: both, Place: AtDeparture}}, nil},
		"system calls":             {Options{Sources: sources.Of("syscall")}, nil},
		"hard interrupts":          {Options{Sources: sources.Of("hardirq")}, nil},
		"soft interrupts, one ring, with a filter": {Options{
			Rings: 1, Sources: sources.Of("softirq"), Off: format.GroupSched | format.GroupWakeup, Filter: Filter{NoTIDs: []int32{1}},
		}, []uint8{ringdata.KindSwitch, ringdata.KindWaking, ringdata.KindWakeupNew}},
		"all event types, all stacks": {Options{
			Sources: sources.All(), OffCPU: OffCPU{Stacks: both}, Waker: both, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true},
		}, nil},
		"stacks of wakers": {Options{Waker: both, Off: format.GroupSched}, []uint8{ringdata.KindSwitch}},
		"all stacks":       {Options{OffCPU: OffCPU{Stacks: both}, Waker: both, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true}}, nil},
		"all stacks, by tables": {Options{
			OffCPU: OffCPU{Stacks: both}, Waker: both, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true}, Unwind: Unwinding{Tables: true, Counts: true},
		}, nil},
		"all stacks, with Python's frames": {Options{
			OffCPU: OffCPU{Stacks: both}, Waker: both, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true}, Sources: sources.All(),
			Unwind: Unwinding{Tables: true, Counts: true, Python: Python{On: true, Name: "python*"}},
		}, nil},
		"all stacks, with Ruby's frames": {Options{
			OffCPU: OffCPU{Stacks: both}, Waker: both, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true},
			Unwind: Unwinding{Tables: true, Ruby: Python{On: true}},
		}, nil},
		"off-CPU stacks at the departure, by tables": {Options{OffCPU: OffCPU{Stacks: Stacks{User: true}, Place: AtDeparture}, Unwind: Unwinding{Tables: true}}, nil},
		"all stacks at the departure, one ring, with filters of every kind": {Options{
			Rings: 1, OffCPU: OffCPU{Stacks: both, Place: AtDeparture}, Waker: both, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true},
			Filter: Filter{PIDs: []int32{int32(os.Getpid())}, NoTIDs: []int32{1}, Names: []string{"*"}, NoNames: []string{"x"},
				ThreadNames: []string{"*"}, Idle: true, Kthread: true, Children: true},
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			records := recording(t, mustLoad(t, c.options), func() { run(t, "true") })
			var kinds [256]int
			for _, r := range records {
				kinds[r.kind()]++
				if life := r.kind() >= ringdata.KindFork && r.kind() <= ringdata.KindFree; c.options.Off&format.GroupTaskLife != 0 && life && r.flags()&(ringdata.FlagSubject|ringdata.FlagObject) != 0 {
					t.Errorf("a record of kind %d is wanted although task-life is off", r.kind())
				}
			}
			for _, kind := range []uint8{ringdata.KindSwitch, ringdata.KindWaking, ringdata.KindWakeupNew, ringdata.KindFork, ringdata.KindExec, ringdata.KindRename, ringdata.KindExit, ringdata.KindFree, ringdata.KindArgs} {
				absent := slices.Contains(c.absent, kind)
				if absent != (kinds[kind] == 0) && kind != ringdata.KindFree {
					t.Errorf("%d records of kind %d, want some: %v", kinds[kind], kind, !absent)
				}
			}
		})
	}
}

func TestSwitchesAreThoseThatTheKernelCounts(t *testing.T) {
	tracer := mustLoad(t, Options{})
	p := newPair(t)
	var begin, end, before, after int64
	records := recording(t, tracer, func() {
		p.play(6000, func(play func()) {
			before, begin = switches()
			play()
			after, end = switches()
		})
	})
	during := func(r record) bool { return r.kind() == ringdata.KindSwitch && r.ts() > begin && r.ts() < end }
	left := count(records, func(r record) bool { return during(r) && r.tid() == p.first })
	came := count(records, func(r record) bool { return during(r) && r.next() == p.first })
	// How a thread was put on the CPU is seen when it leaves: the first time began before the window, the last one ends after it.
	leaves := leaving(records, p.first, begin)
	came += count(leaves[min(1, len(leaves)):min(left+1, len(leaves))], func(d departure) bool { return d.unknown })
	if want := int(after - before); left != want || came != want || want < 1000 {
		t.Errorf("the thread left %d times and came %d times, the kernel counts %d", left, came, want)
	}
	wakings := func(waker, wakee int) int {
		return count(records, func(r record) bool { return r.kind() == ringdata.KindWaking && r.tid() == waker && r.wakee() == wakee })
	}
	if there, back := wakings(p.first, p.second), wakings(p.second, p.first); there < 500 || back < 500 {
		t.Errorf("%d wakings there and %d back, want 500 each at least of 6000 rounds", there, back)
	}
	slept := count(records, func(r record) bool {
		return during(r) && r.tid() == p.first && r.u32(ringdata.SwitchPrevState)&1 != 0 && r.flags()&ringdata.FlagPreempted == 0
	})
	if slept < 100 {
		t.Errorf("%d of %d times it left asleep, want some", slept, left)
	}
}

func TestLifeOfAProcess(t *testing.T) {
	tracer := mustLoad(t, Options{})
	dir := t.TempDir()
	long := filepath.Join(dir, strings.Repeat("d", 200), "echo-copy-of-mine")
	must(t, os.MkdirAll(filepath.Dir(long), 0o755))
	must(t, copyExecutable("/bin/true", long))
	const forks = 7
	run(t, "true") // the first one starts another process, to learn what the kernel supports
	records := recording(t, tracer, func() {
		for range forks {
			run(t, long)
		}
	})
	self := os.Getpid()
	children := map[int]bool{}
	for _, r := range records {
		if r.kind() == ringdata.KindFork && r.identPPID() == self && r.identTID() == r.identPID() {
			children[r.identTID()] = true
		}
	}
	if len(children) != forks {
		t.Errorf("%d forks, want %d", len(children), forks)
	}
	of := func(kind uint8) func(record) bool {
		return func(r record) bool { return r.kind() == kind && children[r.tid()] }
	}
	for kind, what := range map[uint8]string{ringdata.KindExec: "exec", ringdata.KindExit: "exit"} {
		if n := count(records, of(kind)); n != forks {
			t.Errorf("%d records of %s, want %d", n, what, forks)
		}
	}
	if n := count(records, func(r record) bool { return r.kind() == ringdata.KindWakeupNew && children[r.wakee()] }); n != forks {
		t.Errorf("%d wakeups of new threads, want %d", n, forks)
	}
	for _, r := range records {
		switch {
		case of(ringdata.KindExec)(r):
			if got := r.text(ringdata.ExecFilename, len(r.bytes)-ringdata.ExecFilename); got != long || r.u32(ringdata.ExecFilenameLen) != len(long) || r.flags()&ringdata.FlagCut != 0 {
				t.Errorf("exec of %q (length %d, flags %#x), want %q", got, r.u32(ringdata.ExecFilenameLen), r.flags(), long)
			}
			if r.identComm() != "echo-copy-of-mi" || r.identLeader() != "echo-copy-of-mi" || r.u32(ringdata.ExecOldTID) != r.tid() {
				t.Errorf("exec by %q of %q, formerly thread %d", r.identComm(), r.identLeader(), r.u32(ringdata.ExecOldTID))
			}
		case of(ringdata.KindExit)(r):
			if r.flags()&ringdata.FlagLast == 0 || r.u32(ringdata.ExitCode) != 0 {
				t.Errorf("exit with code %#x and flags %#x, want 0 and the last thread", r.u32(ringdata.ExitCode), r.flags())
			}
		}
	}
}

func TestFreedThreadsHaveTheirIdentity(t *testing.T) {
	self := me(t)
	var pid atomic.Int64
	freed := func(records []record) (process, thread int) {
		for _, r := range records {
			if !r.is(ringdata.KindFree) {
				continue
			}
			switch of, comm, leader := r.u32(ringdata.FreePID), r.text(ringdata.FreeComm, ringdata.FreeCommSize), r.text(ringdata.FreeProcessComm, ringdata.FreeProcessCommSize); {
			case r.tid() == int(pid.Load()) && of == r.tid() && comm == leader && comm != "":
				process++
			case of == os.Getpid() && comm == "wp-freed" && leader == self.name:
				thread++
			}
		}
		return process, thread
	}
	records := recordingUntil(t, mustLoad(t, Options{}), func() {
		child, err := forkAs(0, waitRaw, 0, 0)
		must(t, err)
		pid.Store(int64(child))
		kill(t, child)
		onThread(func() { setName("wp-freed") })
	}, func(records []record) bool {
		process, thread := freed(records)
		return process > 0 && thread > 0
	})
	if process, thread := freed(records); process != 1 || thread != 1 {
		t.Errorf("%d and %d of a freed process and a freed thread say who they were, want 1 and 1", process, thread)
	}
}

func TestRenamesHaveBothNames(t *testing.T) {
	tracer := mustLoad(t, Options{})
	names := []string{"wp-one", "wp-two", "wp-three-is-long", "w"}
	var tid int
	records := recording(t, tracer, func() {
		tid = onThread(func() {
			for _, name := range names {
				setName(name)
			}
		})
	})
	var got []record
	for _, r := range records {
		if r.kind() == ringdata.KindRename && r.tid() == tid {
			got = append(got, r)
		}
	}
	if len(got) != len(names) {
		t.Fatalf("%d renames, want %d", len(got), len(names))
	}
	old := got[0].text(ringdata.RenameOldComm, ringdata.RenameOldCommSize)
	for i, r := range got {
		want := names[i][:min(len(names[i]), 15)]
		if r.identComm() != want || r.text(ringdata.RenameOldComm, ringdata.RenameOldCommSize) != old || r.identLeader() == want {
			t.Errorf("rename from %q to %q in process %q, want from %q to %q", r.text(ringdata.RenameOldComm, ringdata.RenameOldCommSize), r.identComm(), r.identLeader(), old, want)
		}
		old = want
	}
	exits := count(records, func(r record) bool {
		return r.kind() == ringdata.KindExit && r.tid() == tid && r.flags()&ringdata.FlagLast == 0
	})
	if exits != 1 {
		t.Errorf("%d exits of the thread that are not its process's, want 1", exits)
	}
}

func TestNothingIsWrittenWithTheWindowShut(t *testing.T) {
	tracer := mustLoad(t, Options{})
	run(t, "true")
	if n := len(drain(tracer)); n != 0 {
		t.Errorf("%d records before the window opened", n)
	}
	must(t, tracer.Arm())
	run(t, "true")
	must(t, tracer.Disarm())
	if len(drain(tracer)) == 0 {
		t.Error("no record while the window was open")
	}
	run(t, "true")
	if n := len(drain(tracer)); n != 0 {
		t.Errorf("%d records after the window was shut", n)
	}
}

func copyExecutable(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}

// A record from before a time is before the position that the producer had after that time.
func TestWatermark(t *testing.T) {
	tracer := mustLoad(t, Options{})
	type mark struct {
		at        int64
		positions []uint64
	}
	var marks []mark
	var records []record
	must(t, tracer.Arm())
	stop, done := make(chan struct{}), make(chan struct{})
	var rounds atomic.Int32
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				records = append(records, drain(tracer)...)
				return
			default:
			}
			rounds.Add(1)
			m := mark{at: now()}
			for _, ring := range tracer.Rings() {
				m.positions = append(m.positions, ring.Producer())
			}
			marks = append(marks, m)
			records = append(records, drain(tracer)...)
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 20_000}, nil)
		}
	}()
	for range 10 { // an emulated CPU needs more time for a hundred rounds
		newPair(t).play(30_000, func(play func()) { play() })
		if rounds.Load() > 100 {
			break
		}
	}
	close(stop)
	<-done
	worst, broken := int64(0), 0
	next := make([]int, len(tracer.Rings()))
	for _, r := range records {
		for i := next[r.ring]; i < len(marks) && marks[i].positions[r.ring] <= r.at; i++ {
			next[r.ring] = i
		}
		if i := next[r.ring]; marks[i].positions[r.ring] <= r.at && r.ts() < marks[i].at {
			broken++
			worst = max(worst, marks[i].at-r.ts())
		}
	}
	t.Logf("%d records, %d marks, %d records late by up to %d ns", len(records), len(marks), broken, worst)
	// The slack is for clocks that are being adjusted. With the clock read before the reservation it is 1,500 ns and more.
	if worst > 500 {
		t.Errorf("a record was late by %d ns, want 500 at most", worst)
	}
	if len(records) < 10_000 || len(marks) < 100 {
		t.Errorf("only %d records and %d marks", len(records), len(marks))
	}
}

// The thread takes over the leader's id; its own goes with the old leader.
func TestExecByAThreadThatIsNotTheLeader(t *testing.T) {
	if os.Getenv("WPROF_TEST_EXEC") != "" {
		runtime.LockOSThread() // the main goroutine keeps the main thread
		t.Fatal(unix.Exec("/bin/true", []string{"true"}, nil))
	}
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup})
	skipped := func() (n int) { // Linux 7.2 skips some runs (docs/kernels.md)
		for _, program := range []string{"sched_process_exec", "sched_process_exit", "sched_process_free"} {
			n += skippedRuns(t, tracer, program)
		}
		return n
	}
	for range 5 {
		before := skipped()
		child, records := execByAnotherThread(t, tracer)
		if skipped() == before {
			checkExecByAnotherThread(t, child, records)
			return
		}
	}
	t.Error("the kernel has skipped programs each time")
}

// execByAnotherThread returns when the old leader has been freed, after a grace period of RCU, which may take long.
func execByAnotherThread(t *testing.T, tracer *Tracer) (child int, records []record) {
	t.Helper()
	c := exec.Command("/proc/self/exe", "-test.run", t.Name())
	c.Env = append(os.Environ(), "WPROF_TEST_EXEC=1")
	var pid atomic.Int64
	records = recordingUntil(t, tracer, func() {
		must(t, c.Start())
		pid.Store(int64(c.Process.Pid))
		must(t, c.Wait())
	}, func(records []record) bool {
		process := int(pid.Load())
		old := oldTID(records, process)
		return old != 0 && (old == process || freed(records, old) > 0)
	})
	return c.Process.Pid, records
}

// oldTID is the id of the thread that has made a process run /bin/true; 0: none has.
func oldTID(records []record, process int) int {
	for _, r := range records {
		if r.kind() == ringdata.KindExec && r.tid() == process && r.text(ringdata.ExecFilename, 64) == "/bin/true" {
			return r.u32(ringdata.ExecOldTID)
		}
	}
	return 0
}

func freed(records []record, tid int) int {
	return count(records, func(r record) bool { return r.kind() == ringdata.KindFree && r.tid() == tid })
}

func checkExecByAnotherThread(t *testing.T, child int, records []record) {
	t.Helper()
	old := oldTID(records, child)
	if old == 0 || old == child {
		t.Fatalf("process %d: exec by thread %d, want another than the leader", child, old)
	}
	exited := func(tid int) int {
		return count(records, func(r record) bool { return r.kind() == ringdata.KindExit && r.tid() == tid })
	}
	if exited(child) != 2 || exited(old) != 0 || freed(records, old) != 1 {
		t.Errorf("the process's first thread exits %d times, the thread that called exec %d times and is freed %d times; want 2, 0 and 1",
			exited(child), exited(old), freed(records, old))
	}
}

// skippedRuns is how many events the kernel did not run a program for, because it was running on that CPU already.
func skippedRuns(t *testing.T, tracer *Tracer, name string) int {
	t.Helper()
	programs, err := tracer.Programs()
	must(t, err)
	for _, p := range programs {
		if p.Name == name {
			return int(p.RecursionMisses)
		}
	}
	t.Fatalf("there is no program %s", name)
	return 0
}

// Linux 6.1 refuses to probe a program of a tracepoint only when it loads the program that probes it.
func TestLoadErrorsNameTheVersionThatIsNeeded(t *testing.T) {
	for want, err := range map[string]error{
		"Linux 6.8 or later is needed": fmt.Errorf("load program: %w: Cannot recursively attach (1 line(s) omitted)", unix.EINVAL),
		"Linux 6.1 or later is needed": fmt.Errorf("load program: %w: unknown func (3 line(s) omitted)", unix.EINVAL),
	} {
		if got := explainLoadError(err, ""); !strings.HasSuffix(got.Error(), want) || !errors.Is(got, unix.EINVAL) {
			t.Errorf("%v: %q, want %q in it", err, got, want)
		}
	}
}
