//go:build linux

package bpf

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/ringdata"
)

func readTasks(t *testing.T, tracer *Tracer) map[int]record {
	t.Helper()
	var tasks bytes.Buffer
	must(t, tracer.ReadTasks(&tasks))
	byTID := map[int]record{}
	for b := range slices.Chunk(tasks.Bytes(), ringdata.TaskSize) {
		r := record{bytes: b}
		if r.kind() != ringdata.KindTask {
			t.Fatalf("not a task: %v", b)
		}
		byTID[r.tid()] = r
	}
	return byTID
}

func TestTasksListLivingThreads(t *testing.T) {
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup})
	child := exec.Command("sleep", "100")
	must(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	tasks := readTasks(t, tracer)
	r, ok := tasks[child.Process.Pid]
	if !ok {
		t.Fatalf("the child is not among %d tasks", len(tasks))
	}
	for end := now() + 5e9; now() < end && len(r.bytes) > 0 && (r.identComm() != "sleep" || r.u32(ringdata.TaskState)&3 != 1); {
		time.Sleep(10 * time.Millisecond)
		tasks = readTasks(t, tracer)
		r = tasks[child.Process.Pid]
	}
	if r.identComm() != "sleep" || r.identLeader() != "sleep" || r.identPID() != r.tid() || r.identPPID() != os.Getpid() {
		t.Errorf("the child is %q in process %d %q of parent %d", r.identComm(), r.identPID(), r.identLeader(), r.identPPID())
	}
	if state := r.u32(ringdata.TaskState); state&3 != 1 || r.flags()&(ringdata.FlagOnCPU|ringdata.FlagQueued) != 0 {
		t.Errorf("it sleeps: state %#x, flags %#x", state, r.flags())
	}
	const kthread = 0x200000
	if r, ok := tasks[2]; ok && r.identComm() == "kthreadd" && r.identFlags()&kthread == 0 {
		t.Error("kthreadd is no kernel thread")
	}
	if self := tasks[os.Getpid()]; self.identPPID() != os.Getppid() {
		t.Errorf("parent %d, want %d", self.identPPID(), os.Getppid())
	}
}

// The estimates are within 10 ms of when the threads were seen to leave.
func TestTasksHaveTheTimeOfTheirState(t *testing.T) {
	tracer := mustLoad(t, Options{Off: format.GroupWakeup})
	must(t, tracer.Arm())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8)) // spinners are not to wait for each other in Go's scheduler
	var ready, done sync.WaitGroup
	var mu sync.Mutex
	slept := map[int]int64{} // tid: when it left last
	stop := make(chan struct{})
	var wake [2]int
	must(t, unix.Pipe2(wake[:], unix.O_CLOEXEC))
	for i := range 3 {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			spin(time.Duration(i) * 20 * time.Millisecond) // a run before the sleep
			mu.Lock()
			slept[unix.Gettid()] = 0
			mu.Unlock()
			ready.Done()
			_, _ = unix.Read(wake[0], make([]byte, 1))
		}()
	}
	ready.Wait()
	time.Sleep(300 * time.Millisecond)
	// Spinners on one CPU: one of them runs, the others wait.
	const spinners = 3
	spinning := map[int]bool{}
	for range spinners {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread()
			pin(0)
			mu.Lock()
			spinning[unix.Gettid()] = true
			mu.Unlock()
			ready.Done()
			for {
				select {
				case <-stop:
					return
				default:
					spin(time.Millisecond)
				}
			}
		}()
	}
	ready.Wait()
	time.Sleep(200 * time.Millisecond)
	runtime.LockOSThread() // without an unlock: the thread ends with the test
	pin(1)
	onCPU, queued := 0, 0
	worst, wrong := int64(0), 0
	for range 20 {
		tasks := readTasks(t, tracer)
		for _, r := range drain(tracer) {
			if _, ok := slept[r.tid()]; ok && r.kind() == ringdata.KindSwitch {
				slept[r.tid()] = r.ts()
			}
		}
		for tid, at := range slept {
			r := tasks[tid]
			worst = max(worst, r.u64(ringdata.TaskSinceNS)-at, at-r.u64(ringdata.TaskSinceNS))
			if off := r.u64(ringdata.TaskSinceNS) - at; r.flags()&ringdata.FlagSince == 0 || off < -10e6 || off > 10e6 {
				wrong++
				t.Logf("a thread that left %d ms ago: flags %#x, wrong by %d us", (now()-at)/1e6, r.flags(), off/1e3)
			}
		}
		for tid := range spinning {
			r := tasks[tid]
			if r.flags()&ringdata.FlagSince == 0 || r.ts()-r.u64(ringdata.TaskSinceNS) > 1e9 || r.u64(ringdata.TaskSinceNS) > r.ts() {
				t.Errorf("a spinner: flags %#x, since %d us ago", r.flags(), (r.ts()-r.u64(ringdata.TaskSinceNS))/1e3)
			}
			if r.flags()&ringdata.FlagOnCPU != 0 {
				onCPU++
			}
			if r.flags()&ringdata.FlagQueued != 0 {
				queued++
			}
		}
		time.Sleep(7 * time.Millisecond)
	}
	t.Logf("wrong by up to %d us", worst/1000)
	// A hypervisor may stop the CPU between the scheduler's clock and the tracepoint: of one thread, hardly of two.
	if wrong > 20 {
		t.Errorf("%d of 60 estimates are wrong by more than 10 ms or missing", wrong)
	}
	// Others may run on that CPU too, and while a list is made the next spinner may take it over.
	if onCPU < 1 || onCPU > 30 || queued < 20 {
		t.Errorf("of 20 times, %d spinners ran and %d waited; want 20 and 40 on a CPU of their own", onCPU, queued)
	}
	close(stop)
	_ = unix.Close(wake[1])
	done.Wait()
	_ = unix.Close(wake[0])
}

// pin keeps the calling thread on a CPU.
func pin(cpu int) {
	var one unix.CPUSet
	one.Set(cpu)
	_ = unix.SchedSetaffinity(0, &one)
}

func spin(d time.Duration) {
	for end := now() + int64(d); now() < end; {
	}
}
