package tools

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Recorder is a wprof-record that runs. Its standard output and error can be read while it does.
type Recorder struct {
	Cmd            *exec.Cmd
	Stdout, Stderr Buffer
	t              testing.TB
}

// Buffer can be read while a process writes to it.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Start starts wprof-record -v with these arguments, in a process group of its own, and returns when its window is open.
func Start(t testing.TB, args ...string) *Recorder {
	t.Helper()
	r := &Recorder{Cmd: exec.Command(Path("wprof-record"), append([]string{"-v"}, args...)...), t: t}
	r.Cmd.Stdout, r.Cmd.Stderr = &r.Stdout, &r.Stderr
	r.Cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.Cmd.Start(); err != nil {
		t.Fatalf("start the recorder: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-r.Cmd.Process.Pid, syscall.SIGKILL) })
	opened := func() bool { return strings.Contains(r.Stderr.String(), "window open") }
	for deadline := time.Now().Add(3 * time.Minute); !opened(); time.Sleep(5 * time.Millisecond) {
		if hasEnded(r.Cmd.Process.Pid) {
			deadline = time.Now()
			time.Sleep(time.Second) // until what it has said is read
		}
		if !opened() && !time.Now().Before(deadline) {
			t.Fatalf("the recorder did not say that its window is open: %s", r.Stderr.String())
		}
	}
	return r
}

// hasEnded reports whether a process that has not been waited for has ended.
func hasEnded(pid int) bool {
	_, alive := peakBytes(pid)
	return !alive
}

// Stop interrupts the recorder as Ctrl-C does and returns its exit status.
func (r *Recorder) Stop() int {
	r.t.Helper()
	if err := r.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		r.t.Fatalf("stop the recorder: %v", err)
	}
	return r.Wait()
}

// Wait waits for the recorder's end, ten minutes at most, and returns its exit status.
func (r *Recorder) Wait() int {
	r.t.Helper()
	late := time.AfterFunc(10*time.Minute, func() { _ = r.Cmd.Process.Kill() })
	_ = r.Cmd.Wait()
	if !late.Stop() {
		r.t.Fatalf("%v did not end by itself: %s", r.Cmd.Args, r.Stderr.String())
	}
	return Status(r.Cmd.ProcessState)
}

// Record records into a file while during runs, and returns the file's name.
func Record(t testing.TB, file string, args []string, during func()) string {
	t.Helper()
	r := Start(t, append([]string{"-d120s", "-o", file}, args...)...)
	during()
	time.Sleep(100 * time.Millisecond)
	if status := r.Stop(); status != 0 {
		t.Fatalf("wprof-record: status %d: %s", status, r.Stderr.String())
	}
	return file
}
