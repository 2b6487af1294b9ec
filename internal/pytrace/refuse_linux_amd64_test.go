package pytrace

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// fallAsleep is more than the main thread of state.py needs for its last code beside a thread that has the global lock.
const fallAsleep = 500 * time.Millisecond

// tryAttach returns why a process cannot be traced; "": it can.
func tryAttach(pid int) string {
	p, err := Attach(pid, Options{})
	if err != nil {
		return err.Error()
	}
	defer p.Close(time.Now().Add(time.Second))
	if err := p.Started(time.Now().Add(StartWithin)); err != nil {
		return err.Error()
	}
	return ""
}

func TestRefusedProcesses(t *testing.T) {
	tools.NeedPrivilege(t)
	const python = "/usr/bin/python3"
	for name, c := range map[string]struct {
		state string
		does  func(pid int)
		want  string
	}{
		"of seccomp":            {"filtered", nil, "seccomp filters its system calls"},
		"of a thread's seccomp": {"thread-filtered", nil, "seccomp filters its system calls"},
		"with a profiler":       {"profiled", nil, "a profiler is at work in it"},
		"that is stopped":       {"profiled", func(pid int) { _ = unix.Kill(pid, unix.SIGSTOP); time.Sleep(50 * time.Millisecond) }, "it is stopped by SIGSTOP"},
		"that is asleep":        {"asleep", func(int) { time.Sleep(fallAsleep) }, "its main thread has not run Python code for 2s"},
		"that has ended":        {"asleep", func(pid int) { _ = unix.Kill(pid, unix.SIGKILL); time.Sleep(50 * time.Millisecond) }, "its main thread has ended"},
		"traced otherwise":      {"profiled", func(pid int) { tracer(t, pid) }, "traces it"},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, python, "state.py", c.state)
			if c.does != nil {
				c.does(p.pid())
			}
			before := p.belongings()
			if got := tryAttach(p.pid()); !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if after := p.belongings(); c.state != "asleep" && after != before {
				t.Errorf("in the process are %s, before %s", after, before)
			}
			if unix.Kill(p.pid(), 0) != nil {
				t.Error("it has ended")
			}
		})
	}
}

// tracer traces a process by strace-like means until the test ends.
func tracer(t *testing.T, pid int) {
	ready, end := make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if err := ptrace(ptraceSeize, pid, 0, 0); err != nil {
			t.Error(err)
		}
		close(ready)
		<-end
	}()
	<-ready
	t.Cleanup(func() { close(end) })
}

func TestOtherProgramsAreNoPython(t *testing.T) {
	tools.NeedPrivilege(t)
	cmd := exec.Command("sleep", "10")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	time.Sleep(20 * time.Millisecond)
	if _, err := Attach(cmd.Process.Pid, Options{}); !errors.Is(err, ErrNoPython) {
		t.Errorf("sleep: %v", err)
	}
	if _, err := Attach(os.Getpid(), Options{}); err == nil {
		t.Error("this process can be traced")
	}
}

// TestStartMeetsObstacles: neither hooks that raise exceptions nor a stack without room change what the program does.
func TestStartMeetsObstacles(t *testing.T) {
	eachPython(t, func(t *testing.T, python string) {
		for _, state := range []string{"audited", "deep"} {
			p := start(t, python, "state.py", state)
			t.Logf("%s: %q", state, tryAttach(p.pid()))
			if line := p.line(); line != "right" {
				t.Errorf("%s: the program says %q", state, line)
			}
			if p.inUse() {
				t.Errorf("%s: left in the process: %s", state, p.belongings())
			}
		}
	})
}

// TestSleeperStaysAsItIs: the start that waits in the queue does nothing when the program goes on after the recorder has given up.
func TestSleeperStaysAsItIs(t *testing.T) {
	tools.NeedPrivilege(t)
	p := start(t, "/usr/bin/python3", "state.py", "asleep")
	time.Sleep(fallAsleep)
	if got := tryAttach(p.pid()); got == "" {
		t.Fatal("it has started")
	}
	p.enter()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the program ended: %v", err)
	}
}
