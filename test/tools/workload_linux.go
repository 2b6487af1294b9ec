package tools

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Workload is a program that waits for commands on standard input and prints what it did on standard output.
type Workload struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// StartWorkload starts a program that ends with the test at the latest.
func StartWorkload(t testing.TB, cmd *exec.Cmd) *Workload {
	t.Helper()
	w := &Workload{t: t, cmd: cmd}
	var err error
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %v: %v", cmd.Args, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	w.lines = bufio.NewScanner(out)
	return w
}

// PID is the program's process id.
func (w *Workload) PID() int { return w.cmd.Process.Pid }

// PIDText is the same as an argument of a tool.
func (w *Workload) PIDText() string { return strconv.Itoa(w.PID()) }

// Send writes to the standard input of the program.
func (w *Workload) Send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.stdin, text); err != nil {
		w.t.Fatalf("write to %v: %v", w.cmd.Args, err)
	}
}

// Until waits for a line and returns those before it.
func (w *Workload) Until(end string) (before []string) {
	w.t.Helper()
	for w.lines.Scan() {
		if w.lines.Text() == end {
			return before
		}
		before = append(before, w.lines.Text())
	}
	w.t.Fatalf("%v ended after %d lines, without %q", w.cmd.Args, len(before), end)
	return nil
}

// WaitAsleep waits until all of the program's threads are off their CPUs and wait for something (proc_pid_stat(5)).
func (w *Workload) WaitAsleep() {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !w.isAsleep(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%v is not asleep after a minute", w.cmd.Args)
		}
	}
	time.Sleep(50 * time.Millisecond) // the state is set before the thread leaves
}

func (w *Workload) isAsleep() bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", w.PID()))
	for _, stat := range stats {
		if text, err := os.ReadFile(stat); err == nil && !bytes.Contains(text, []byte(") S ")) {
			return false
		}
	}
	return true
}
