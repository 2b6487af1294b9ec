//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

func TestCommandsStatusIsPassedOn(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want    int
		command []string
	}{
		{0, []string{"true"}}, {3, []string{"sh", "-c", "exit 3"}}, {128 + 15, []string{"sh", "-c", "kill -TERM $$"}},
		{127, []string{"no-such-command"}}, {127, []string{dir + "/none"}}, {127, []string{""}}, {126, []string{plain}}, {126, []string{dir}},
	} {
		file := filepath.Join(t.TempDir(), "x.wprof")
		r := recorder(t, append([]string{"--no-stacks", "-o", file, "--"}, c.command...)...).start()
		if got := r.wait(); got != c.want {
			t.Errorf("%v: status %d, want %d: %s", c.command, got, c.want, r.stderr.String())
		}
		if _, err := os.Stat(file); (err == nil) != (c.want < 126 || c.want > 127) {
			t.Errorf("%v: its capture: %v", c.command, err)
		}
	}
}

func TestCommandIsRecordedFromItsExecToItsLastSwitch(t *testing.T) {
	tools.NeedPrivilege(t)
	c := recorded(t, "--", "sh", "-c", "sleep 0.05; true")
	var exec, exit, last *event
	for i := range c.events {
		e := &c.events[i]
		switch {
		case e.Kind == format.KindExec && exec == nil:
			exec = e
		case e.Kind == format.KindExit && exec != nil && e.tid == exec.tid:
			exit = e
		case e.Kind == format.KindSwitch && exec != nil && e.tid == exec.tid:
			last = e
		}
	}
	if exec == nil || !strings.HasSuffix(string(exec.Data), "/sh") {
		t.Fatalf("the command's exec is not there: %v", exec)
	}
	if old, changed := exec.Exec().OldTID(); changed {
		t.Errorf("the command's thread had the id %d before its exec: another thread than the first one of the waiting process has called it", old)
	}
	if exit == nil || exit.Flags&format.ExitLast == 0 || exit.Args[format.ExitCode] != 0 {
		t.Errorf("the command's exit is not there, or wrong: %+v", exit)
	}
	if state := format.State(last.Args[format.SwitchPrevState]); state&(format.StateDead|format.StateZombie) == 0 || last.Time < exit.Time {
		t.Errorf("its last switch leaves in state %v", state)
	}
	child := 0
	for i := range c.events {
		if e := &c.events[i]; e.Kind == format.KindExec && strings.HasSuffix(string(e.Data), "/sleep") {
			child++
		}
	}
	if child != 1 {
		t.Errorf("%d execs of the command's child", child)
	}
}

// The process that becomes the command is the recorder's until its exec.
func TestNothingBeforeTheCommandsExecIsRecorded(t *testing.T) {
	tools.NeedPrivilege(t)
	c := recorded(t, "-Sall", "--offcpu-min=0", "--", "sh", "-c", "sleep 0.2; true")
	exec := 0
	for c.events[exec].Kind == format.KindWaking { // in an interrupt, while the exec is being recorded
		exec++
	}
	if first := c.events[exec]; first.Kind != format.KindExec || !strings.HasSuffix(string(first.Data), "/sh") {
		t.Errorf("the first event is of kind %v, want the command's exec", first.Kind)
	} else if then := c.events[exec+1]; then.Kind != format.KindStateCPU || then.Time != first.Time || then.CPU != first.CPU || then.Task != first.Task {
		t.Errorf("after the exec comes %+v, want that the command runs from then on", then)
	}
	for i := range c.events {
		e := &c.events[i]
		if task := c.tasks[e.Task]; e.Flags&format.FlagSubject != 0 && string(task.GetComm()) == "wprof-record" {
			t.Errorf("event %d, of kind %v, is of thread %d of the recorder, process %d", i, e.Kind, task.GetTid(), task.GetPid())
		}
	}
}

func TestOnlyTheCommandAndItsChildrenAreRecorded(t *testing.T) {
	tools.NeedPrivilege(t)
	other := workload(t, "nap", "10m") // longer than two recordings take on an emulated CPU
	c := recorded(t, "--no-stacks", "--", "sh", "-c", "sleep 0.1; true")
	all := recorded(t, "--no-stacks", "-a", "--", "sh", "-c", "sleep 0.1; true")
	if n := c.switchesOf(other.Process.Pid); n > 0 {
		t.Errorf("%d switches of another process", n)
	}
	if n := all.switchesOf(other.Process.Pid); n == 0 {
		t.Error("-a does not record another process")
	}
}

// switchesOf counts the switches away from a process that are there for its own sake.
func (c *recording) switchesOf(pid int) (n int) {
	for i := range c.events {
		if e := &c.events[i]; e.Kind == format.KindSwitch && e.Flags&format.FlagSubject != 0 && c.tasks[e.Task].GetPid() == int32(pid) {
			n++
		}
	}
	return n
}

func TestCommandsOutputStaysOffTheStream(t *testing.T) {
	tools.NeedPrivilege(t)
	r := recorder(t, "--", "sh", "-c", "echo to the user; echo to the log >&2").start()
	if status := r.wait(); status != 0 {
		t.Fatalf("status %d: %s", status, r.stderr.String())
	}
	read(t, strings.NewReader(r.stdout.String()))
	for _, want := range []string{"to the user\n", "to the log\n"} {
		if !strings.Contains(r.stderr.String(), want) {
			t.Errorf("standard error lacks %q", want)
		}
	}
	r = recorder(t, "-o", filepath.Join(t.TempDir(), "x"), "--", "echo", "to the user").start()
	if status := r.wait(); status != 0 || r.stdout.String() != "to the user\n" {
		t.Errorf("with -o: status %d, standard output %q", status, r.stdout.String())
	}
}

// TestCommandInheritsOpenFiles: what a user opens for a command under any number is there in it, and nothing else.
func TestCommandInheritsOpenFiles(t *testing.T) {
	tools.NeedPrivilege(t)
	const script = "ls /proc/self/fd; cat <&3; cat <&4; cat <&6; echo back >&5"
	plain := exec.Command("sh", "-c", script)
	want := withOpenFiles(t, plain, plain.Output)
	r := recorder(t, "-o", filepath.Join(t.TempDir(), "x"), "--", "sh", "-c", script)
	got := withOpenFiles(t, r.cmd, func() ([]byte, error) {
		if status := r.start().wait(); status != 0 {
			t.Errorf("status %d: %s", status, r.stderr.String())
		}
		return []byte(r.stdout.String()), nil
	})
	if got != want || !strings.HasSuffix(want, "file 3\nfile 4\nfile 6\nback 5\n") {
		t.Errorf("with the recorder a command reads %q, without it %q", got, want)
	}
}

// withOpenFiles runs a program with files under the numbers 3 to 6, and returns what it has printed and written into the one
// of number 5.
func withOpenFiles(t *testing.T, cmd *exec.Cmd, run func() ([]byte, error)) string {
	t.Helper()
	for fd := 3; fd <= 6; fd++ {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, fmt.Appendln(nil, "file", fd), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, file)
	}
	printed, err := run()
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(cmd.ExtraFiles[2].Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(printed) + strings.Replace(string(written), "\n", " ", 1)
}

func TestRecordingEndsBeforeTheCommand(t *testing.T) {
	tools.NeedPrivilege(t)
	file := filepath.Join(t.TempDir(), "x.wprof")
	begin := time.Now()
	r := recorder(t, "-d200ms", "-o", file, "--", "sh", "-c", "sleep 1; exit 9").start()
	if status := r.wait(); status != 9 {
		t.Errorf("status %d, want 9: %s", status, r.stderr.String())
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("the command was ended after %v", took)
	}
	if w := readFile(t, file).window(); w < 200*time.Millisecond || w > 600*time.Millisecond {
		t.Errorf("recorded for %v, want 200ms", w)
	}
}

const ctrlC = 3

// atTerminal gives the recorder a terminal of its own, in the foreground of which it is, and returns the keyboard.
func (r *run) atTerminal() io.Writer {
	tty, keyboard, _ := tools.Terminal(r.t)
	r.cmd.Stdin, r.cmd.SysProcAttr = tty, &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return keyboard
}

func TestInterruptReachesTheCommand(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	file, ready := filepath.Join(dir, "x.wprof"), filepath.Join(dir, "ready")
	r := recorder(t, "-o", file, "--", "sh", "-c", `trap 'sleep 0.2; exit 7' INT; : >"$0"; while :; do sleep 0.02; done`, ready)
	keyboard := r.atTerminal()
	r.start().opened(file + ".part")
	r.waitForFile(ready) // the command's trap is set
	if _, err := keyboard.Write([]byte{ctrlC}); err != nil {
		t.Fatal(err)
	}
	if status := r.wait(); status != 7 {
		t.Errorf("status %d, want 7: %s", status, r.stderr.String())
	}
	c := readFile(t, file)
	last := c.events[len(c.events)-1]
	exits := 0
	for i := range c.events {
		if e := &c.events[i]; e.Kind == format.KindExit && e.Args[format.ExitCode] == 7<<8 {
			exits++
		}
	}
	if exits != 1 {
		t.Errorf("the command's end is not in the capture, which ends with %+v", last)
	}
}

func TestSignalToTheRecorderIsPassedToTheCommand(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, c := range []struct {
		sig      syscall.Signal
		terminal bool
		want     int
	}{
		{syscall.SIGTERM, false, 128 + 15}, {syscall.SIGTERM, true, 128 + 15}, {syscall.SIGHUP, false, 128 + 1},
		{syscall.SIGINT, false, 7},
		{syscall.SIGINT, true, 0}, // of Ctrl-C there the command has its own
	} {
		t.Run(fmt.Sprintf("%v, terminal %v", c.sig, c.terminal), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, end, ready := filepath.Join(dir, "x.wprof"), filepath.Join(dir, "end"), filepath.Join(dir, "ready")
			r := recorder(t, "--no-stacks", "-o", file, "--", "sh", "-c", `trap 'exit 7' INT; : >"$1"; while [ ! -e "$0" ]; do sleep 0.02; done`, end, ready)
			if c.terminal {
				r.atTerminal()
			}
			r.start().opened(file + ".part")
			r.waitForFile(ready) // the command's trap is set
			if err := r.cmd.Process.Signal(c.sig); err != nil {
				t.Fatal(err)
			}
			if c.want == 0 {
				time.Sleep(500 * time.Millisecond) // enough for a signal that is passed on
				if err := os.WriteFile(end, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if status := r.wait(); status != c.want {
				t.Errorf("status %d, want %d: %s", status, c.want, r.stderr.String())
			}
			readFile(t, file)
		})
	}
}

func TestFailureBesideACommandIs125(t *testing.T) {
	tools.NeedPrivilege(t)
	r := recorder(t, "-o", "/no/such/folder/x", "--", "touch", filepath.Join(t.TempDir(), "made")).start()
	if status := r.wait(); status != 125 || !bytes.Contains([]byte(r.stderr.String()), []byte("/no/such/folder")) {
		t.Errorf("status %d: %s", status, r.stderr.String())
	}
}
