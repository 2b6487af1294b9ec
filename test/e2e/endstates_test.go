//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/engine"
	"wprof/test/tools"
)

// TestEndStatesAreThoseOfTheKernel has a process exit for which no parent waits, a thread exit for which none can wait, and a
// thread yield its CPU to another. Perfetto's engine and the JSON lines say in which states they have left their CPUs.
func TestEndStatesAreThoseOfTheKernel(t *testing.T) {
	tools.NeedPrivilege(t)
	zombie := exec.Command("true")
	var thread, yields int
	capture := tools.Record(t, filepath.Join(t.TempDir(), "x.wprof"), []string{"--no-stacks"}, func() {
		if err := zombie.Start(); err != nil {
			t.Fatal(err)
		}
		thread = endThread()
		yields = yieldTo(t)
		// It stays a zombie until the window has closed.
		if err := unix.Waitid(unix.P_PID, zombie.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
	})
	if err := zombie.Wait(); err != nil {
		t.Fatal(err)
	}
	words := prevStates(t, capture)
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "x.pb"), "wprof-perfetto", capture)
	engine.CheckStats(t, trace)
	for _, c := range []struct {
		tid         int
		state, word string
	}{{zombie.Process.Pid, "Z", "exit_zombie"}, {thread, "X", "exit_dead"}} {
		last := one(t, trace, fmt.Sprintf(`select end_state from sched join thread using (utid) where tid = %d order by ts desc limit 1`, c.tid))
		if said := words[c.tid]; last["end_state"] != c.state || said[c.word] != 1 {
			t.Errorf("thread %d has ended as %v in the engine and left its CPU as %v in JSON, want %s and %s once", c.tid, last["end_state"], said, c.state, c.word)
		}
	}
	// R+ in Perfetto is any thread that could run on; JSON has the kernel's words for who called the scheduler itself.
	could := number(t, one(t, trace, fmt.Sprintf(`select count(*) as n from sched join thread using (utid) where tid = %d and end_state = 'R+'`, yields)), "n")
	called := number(t, one(t, trace, fmt.Sprintf(`select count(*) as n from sched join thread using (utid) where tid = %d and end_state = 'R'`, yields)), "n")
	said := words[yields]
	if called != 0 || said["runnable"] < 5 || could != int64(said["runnable"]+said["preempted"]) {
		t.Errorf("a thread that yields has left its CPU %d times in R+ and %d times in R in the engine, and as %v in JSON", could, called, said)
	}
}

// endThread is the id of a thread of this process that has ended. The first thread of a Go program never does.
func endThread() int {
	tid := make(chan int)
	for {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends
			tid <- unix.Gettid()
		}()
		if id := <-tid; id != unix.Getpid() {
			return id
		}
	}
}

// yieldTo runs two threads on one CPU, and has one of them yield repeatedly. It returns its id.
func yieldTo(t *testing.T) (tid int) {
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if allowed.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	until := time.Now().Add(100 * time.Millisecond)
	var both sync.WaitGroup
	run := func(step func()) {
		both.Go(func() {
			runtime.LockOSThread()
			if err := unix.SchedSetaffinity(0, &one); err != nil {
				t.Error(err)
			}
			for time.Now().Before(until) {
				step()
			}
		})
	}
	run(func() {
		tid = unix.Gettid()
		_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	})
	run(func() {})
	both.Wait()
	return tid
}

// prevStates are how often each thread has left its CPU in which state, by the JSON lines.
func prevStates(t *testing.T, capture string) map[int]map[string]int {
	all := map[int]map[string]int{}
	for line := range bytes.Lines(tools.Run(t, "wprof-json", "-k", "switch", "--no-stacks", capture)) {
		var said struct {
			T         string
			Prev      struct{ TID int }
			PrevState string `json:"prev_state"`
		}
		if err := json.Unmarshal(line, &said); err != nil {
			t.Fatal(err)
		}
		if said.T != "switch" {
			continue
		}
		if all[said.Prev.TID] == nil {
			all[said.Prev.TID] = map[string]int{}
		}
		all[said.Prev.TID][said.PrevState]++
	}
	return all
}
