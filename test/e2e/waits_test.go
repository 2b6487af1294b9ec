//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/waits"
	"wprof/test/tools"
)

// waiter is a thread of testdata/waiters.c, as it describes itself.
type waiter struct {
	tid                 int32
	class, call, object string
}

// startWaiters starts testdata/waiters.c; it is killed when the test ends.
func startWaiters(t *testing.T, args ...string) (pid int, all []waiter) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "waiters")
	compile(t, "-O1", "-pthread", "-o", program, "testdata/waiters.c")
	cmd := exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
		var w waiter
		if n, err := fmt.Sscanf(lines.Text(), "thread %d %s %s %s", &w.tid, &w.class, &w.call, &w.object); n != 4 {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		all = append(all, w)
	}
	return cmd.Process.Pid, all
}

// found is what a capture says of a thread's waits.
type found struct {
	ns      map[string]int64 // by class
	longest int64
	wait    *format.Wait // of the longest one that is not for a lock of the kernel, such as the address space's, beside threads that start
}

// waitsIn reads the waits of a capture, by tid: those that ended, and those that lasted to its end.
func waitsIn(t *testing.T, capture string) (ended, open map[int32]*found) {
	t.Helper()
	f, err := os.Open(capture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := format.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	ended, open = map[int32]*found{}, map[int32]*found{}
	classes := waits.NewClassifier(r)
	for {
		e, err := r.Next()
		if err == io.EOF {
			return ended, open
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Kind == format.KindSwitch && e.Flags&format.SwitchHasWait != 0:
			v := e.Switch()
			since, _ := v.Since()
			if since < r.FirstOpen() {
				continue // nobody has seen who had the lock then
			}
			state, _ := v.NextState()
			note(ended, r, classes, v.Next(), e.Stack(), e.Wait(), state, e.Time-since)
		case e.Kind == format.KindStateThread && e.Flags&format.FlagOpen != 0:
			v := e.StateThread()
			since, _ := v.Since()
			note(open, r, classes, e.Task, e.Stack(), e.Wait(), v.State(), e.Time-since)
		}
	}
}

func note(all map[int32]*found, r *format.Reader, classes *waits.Classifier, task format.TaskID, stack format.StackID, wait format.WaitID, state format.State, ns int64) {
	tid := r.Task(task).GetTid()
	f := all[tid]
	if f == nil {
		f = &found{ns: map[string]int64{}}
		all[tid] = f
	}
	class := classes.Blocked(stack, wait, state, false).Class
	f.ns[class.String()] += ns
	if class != waits.KernelLock && ns > f.longest {
		f.longest, f.wait = ns, r.Wait(wait)
	}
}

// check compares what a capture says of a thread with what the thread says.
func (w *waiter) check(t *testing.T, f *found) {
	t.Helper()
	if f == nil {
		t.Errorf("%+v: the capture has no wait of it", *w)
		return
	}
	class, all := strings.ReplaceAll(w.class, "_", " "), int64(0)
	for name, ns := range f.ns {
		if name != waits.KernelLock.String() {
			all += ns
		}
	}
	if share := float64(f.ns[class]) / float64(max(all, 1)); share < 0.8 {
		t.Errorf("%+v: %.0f%% of its blocked time is %s: %v", *w, 100*share, class, f.ns)
	}
	switch call := string(f.wait.GetCall()); {
	case w.call == "select" && call == "pselect6", w.call == "accept" && call == "accept4", w.call == "poll" && call == "ppoll":
	case call != w.call:
		t.Errorf("%+v: in %s", *w, call)
	}
	switch address, err := strconv.ParseUint(strings.TrimPrefix(w.object, "0x"), 16, 64); {
	case w.object == "-":
	case strings.HasPrefix(w.object, "0x") && err == nil:
		if f.wait.Futex != address {
			t.Errorf("%+v: the futex at %#x", *w, f.wait.Futex)
		}
	case strings.HasPrefix(w.object, "127."):
		if string(f.wait.Remote) != w.object {
			t.Errorf("%+v: the socket is connected to %s", *w, f.wait.Remote)
		}
	case f.wait.FileName() != w.object && string(f.wait.Path) != w.object:
		t.Errorf("%+v: descriptor %d is %s %s", *w, f.wait.Fd, f.wait.FileName(), f.wait.Path)
	}
}

// Each kind of wait has its class and what was waited for, with stacks and without.
func TestWaitsAreClassified(t *testing.T) {
	pid, all := startWaiters(t)
	for _, flags := range [][]string{nil, {"--no-stacks"}} {
		capture := filepath.Join(t.TempDir(), "waits.wprof")
		tools.Run(t, "wprof-record", append([]string{"-d1500ms", "-p", strconv.Itoa(pid), "-o", capture}, flags...)...)
		ended, _ := waitsIn(t, capture)
		for _, w := range all {
			if len(flags) > 0 && w.call == "futex" && w.object == "-" {
				continue // a read-write lock and a condition differ only in the function that waits
			}
			w.check(t, ended[w.tid])
		}
		owner := int32(0)
		for _, w := range all {
			if f := ended[w.tid]; w.class == "lock" && strings.HasPrefix(w.object, "0x") && f != nil {
				owner = f.wait.GetOwner()
			}
			if w.class == "lock" && strings.HasPrefix(w.object, "0x") && owner != int32(pid) {
				t.Errorf("%+v: the owner is %d, not the main thread, which is %d", w, owner, pid)
			}
		}
	}
}

// What threads wait for that are blocked for all of a recording is known as well, and who owns their locks.
func TestOpenWaitsAreClassified(t *testing.T) {
	pid, all := startWaiters(t, "stay")
	time.Sleep(100 * time.Millisecond)
	for _, flags := range [][]string{nil, {"--no-stacks"}} {
		capture := filepath.Join(t.TempDir(), "waits.wprof")
		tools.Run(t, "wprof-record", append([]string{"-d300ms", "-p", strconv.Itoa(pid), "-o", capture}, flags...)...)
		_, open := waitsIn(t, capture)
		for _, w := range all {
			if len(flags) > 0 && w.call == "futex" && w.object == "-" {
				continue
			}
			w.check(t, open[w.tid])
			if f := open[w.tid]; w.class == "lock" && strings.HasPrefix(w.object, "0x") && f != nil && f.wait.GetOwner() != int32(pid) {
				t.Errorf("%+v: the owner is %d, not the main thread, which is %d", w, f.wait.GetOwner(), pid)
			}
		}
	}
}
