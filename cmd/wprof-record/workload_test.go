//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// workload starts this test program again to do something; it is ended with the test.
func workload(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"workload"}, words...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func runWorkload(words []string) {
	duration, err := time.ParseDuration(words[1])
	if err != nil {
		panic(err)
	}
	deadline := time.Now().Add(duration)
	switch words[0] {
	case "nap":
		for time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
	case "spin":
		runtime.LockOSThread()
		spin(deadline)
	case "yield":
		yieldOnEveryCPU(deadline)
	}
}

// spin computes between two moments at which it says how long it has run, and how long it has waited, by the
// kernel's count of this very thread.
func spin(deadline time.Time) {
	setName("begin")
	before := schedstat()
	for time.Now().Before(deadline) {
	}
	after := schedstat()
	setName("end")
	fmt.Printf("%d ran %d ns\n", unix.Gettid(), after-before)
}

// schedstat is the time that this thread has been on a CPU, ns.
func schedstat() (ran int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", unix.Gettid()))
	if err != nil {
		panic(err)
	}
	if _, err := fmt.Sscan(string(text), &ran); err != nil {
		panic(err)
	}
	return ran
}

func setName(name string) {
	if err := os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()), []byte(name), 0); err != nil {
		panic(err)
	}
}

// yieldOnEveryCPU lets two threads on each CPU hand it to each other as fast as they can, and prints for each thread
// how often the kernel has switched away from it.
func yieldOnEveryCPU(deadline time.Time) {
	// Each thread keeps its P while it yields.
	runtime.GOMAXPROCS(2*runtime.NumCPU() + 2)
	var group sync.WaitGroup
	var print sync.Mutex
	for cpu := range runtime.NumCPU() {
		for range 2 {
			group.Go(func() {
				runtime.LockOSThread()
				switches := yield(cpu, deadline)
				print.Lock()
				defer print.Unlock()
				fmt.Printf("%d switched %d times\n", unix.Gettid(), switches)
			})
		}
	}
	group.Wait()
}

func yield(cpu int, deadline time.Time) int64 {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		panic(err)
	}
	// Other load on the machine would take turns, of milliseconds each.
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	setName("begin")
	before := switches()
	for time.Now().Before(deadline) {
		for range 500 {
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
	after := switches()
	setName("end")
	return after - before
}

// switches is how often the kernel has switched away from this thread.
func switches() int64 {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &ru); err != nil {
		panic(err)
	}
	return ru.Nvcsw + ru.Nivcsw
}

// counts reads what a workload has printed: a number for each thread.
func counts(t *testing.T, output, form string) map[int32]int64 {
	t.Helper()
	all := map[int32]int64{}
	for line := range strings.Lines(output) {
		var tid int32
		var n int64
		if _, err := fmt.Sscanf(line, form, &tid, &n); err == nil {
			all[tid] = n
		}
	}
	if len(all) == 0 {
		t.Fatalf("the workload printed %q", output)
	}
	return all
}
