package tools

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Result is how a process ended.
type Result struct {
	Stdout, Stderr []byte
	Status         int   // exit status; 128 and the signal if one ended it, 124 if it took too long
	PeakBytes      int64 // of resident memory, as it was seen every few milliseconds
	Took           time.Duration
	CPU            time.Duration // in user mode and in the kernel
}

// Try runs a tool with this standard input, for limit at most.
func Try(t testing.TB, limit time.Duration, stdin []byte, name string, args ...string) Result {
	t.Helper()
	cmd := exec.Command(Path(name), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	late := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	peak := WatchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	r := Result{
		Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Status: 124, PeakBytes: peak(),
		Took: time.Since(begin), CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
	if !late.Stop() {
		return r
	}
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		t.Fatalf("%s: %v", name, err)
	}
	r.Status = Status(cmd.ProcessState)
	return r
}

// Run runs a tool, which must succeed, and returns its standard output.
func Run(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	r := Try(t, 10*time.Minute, nil, name, args...)
	if r.Status != 0 {
		t.Fatalf("%s %s: status %d: %s", name, strings.Join(args, " "), r.Status, r.Stderr)
	}
	return r.Stdout
}

// Convert writes the output of a tool to a file and returns its name.
func Convert(t testing.TB, to, name string, args ...string) string {
	t.Helper()
	Run(t, name, append([]string{"-o", to}, args...)...)
	return to
}
