//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/spool"
	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "workload" {
		runWorkload(os.Args[2:])
		return
	}
	tools.Main(m)
}

// run is one run of a tool.
type run struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr lockedBuffer
}

// lockedBuffer can be read while the process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func recorder(t *testing.T, args ...string) *run {
	t.Helper()
	r := &run{t: t, cmd: exec.Command(tools.Path("wprof-record"), args...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	// A process group of its own, as a shell would give it: signals to it must not reach the tests.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return r
}

func (r *run) start() *run {
	r.t.Helper()
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) })
	return r
}

// wait returns the exit status; 128 and the signal if one ended it.
func (r *run) wait() int {
	r.t.Helper()
	hangs := time.AfterFunc(5*time.Minute, func() { _ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) })
	err := r.cmd.Wait()
	if !hangs.Stop() {
		r.t.Errorf("%v did not end by itself", r.cmd.Args)
	}
	failed := new(exec.ExitError)
	if err != nil && !errors.As(err, &failed) {
		r.t.Fatal(err)
	}
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// opened waits until the recorder has opened its window, and a little longer.
func (r *run) opened(part string) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		s, err := spool.Open(part)
		if err != nil {
			continue
		}
		hasRound := s.Closed() > 0
		_ = s.Close()
		if hasRound {
			time.Sleep(200 * time.Millisecond)
			return
		}
	}
	r.t.Fatalf("the recorder of %s does not open its window: %s", part, r.stderr.String())
}

// waitForFile waits until a file exists.
func (r *run) waitForFile(path string) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	r.t.Fatalf("no process writes %s: %s", path, r.stderr.String())
}

// recorded runs the recorder to its end, which must be a good one.
func recorded(t *testing.T, args ...string) *recording {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.wprof")
	r := recorder(t, append([]string{"-o", file}, args...)...).start()
	if status := r.wait(); status != 0 {
		t.Fatalf("wprof-record %s: status %d: %s", strings.Join(args, " "), status, r.stderr.String())
	}
	return readFile(t, file)
}

// event is a copy of an event that outlives the reader.
type event struct {
	format.Event
	tid int32 // of its task
}

// recording is a stream that was read to its end.
type recording struct {
	session *format.Session
	end     *format.End
	events  []event
	tasks   map[format.TaskID]*format.Task
}

func (c *recording) window() time.Duration { return time.Duration(c.end.Close - c.session.Open) }

func (c *recording) count(kind format.Kind) (n int) {
	for i := range c.events {
		if c.events[i].Kind == kind {
			n++
		}
	}
	return n
}

// lost is how many events of a kind are missing.
func (c *recording) lost(kind format.Kind) (n uint64) {
	for _, loss := range c.end.Losses {
		if loss.Kind == uint32(kind) {
			n += loss.Count
		}
	}
	return n
}

func readFile(t *testing.T, path string) *recording {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return read(t, f)
}

func read(t *testing.T, from io.Reader) *recording {
	t.Helper()
	r, err := format.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := &recording{tasks: map[format.TaskID]*format.Task{}}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kept := event{Event: *e}
		kept.Data = bytes.Clone(e.Data)
		if task := r.Task(e.Task); task != nil {
			c.tasks[e.Task] = task
			kept.tid = task.Tid
		}
		if e.Kind == format.KindSwitch {
			next := e.Switch().Next()
			c.tasks[next] = r.Task(next)
		}
		c.events = append(c.events, kept)
	}
	if d := r.Damage(); d != nil {
		t.Fatalf("the capture is damaged: %+v", d)
	}
	c.session, c.end = r.Session(), r.End()
	if c.end == nil {
		t.Fatal("the capture has no end")
	}
	return c
}
