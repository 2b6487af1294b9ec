//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

func TestFirstSignalKeepsEverything(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		file := filepath.Join(t.TempDir(), "x.wprof")
		r := recorder(t, "-d60s", "--no-stacks", "-o", file).start()
		r.opened(file + ".part")
		if err := r.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if status := r.wait(); status != 0 {
			t.Errorf("%v: status %d: %s", sig, status, r.stderr.String())
		}
		if c := readFile(t, file); c.window() > 20*time.Second || len(c.events) == 0 {
			t.Errorf("%v: %d events in %v", sig, len(c.events), c.window())
		}
		if _, err := os.Stat(file + ".part"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: the spool is still there: %v", sig, err)
		}
	}
}

func TestClosedPipeLeavesTheCommandItsStatus(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, flags := range [][]string{nil, {"--live"}} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		runs := filepath.Join(t.TempDir(), "runs")
		r := recorder(t, append(flags, "--no-stacks", "--", "sh", "-c", `: > "$0"; sleep 0.7; yes | head -n1; exit 6`, runs)...)
		r.cmd.Stdout = in
		r.start()
		in.Close()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(runs); err == nil {
				break
			}
		}
		out.Close()
		// The command's own pipes must still end by SIGPIPE: head's end has to end yes without a word.
		if status := r.wait(); status != 6 || r.stderr.String() != "y\n" {
			t.Errorf("%v: status %d: %q", flags, status, r.stderr.String())
		}
	}
}

// reader is a process that ends when its standard input does.
func reader(t *testing.T, name string, args ...string) (pid string, end func()) {
	t.Helper()
	cmd := exec.Command(name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	return strconv.Itoa(cmd.Process.Pid), end
}

func TestRecordingEndsWithTheLastOfItsProcesses(t *testing.T) {
	tools.NeedPrivilege(t)
	first, endFirst := reader(t, "cat")
	second, endSecond := reader(t, "cat")
	file := filepath.Join(t.TempDir(), "x.wprof")
	r := recorder(t, "-d0", "--no-stacks", "-o", file, "-p", first+","+second+",4194304").start()
	r.opened(file + ".part")
	endFirst()
	time.Sleep(time.Second) // more than a check takes
	endSecond()
	want := "wprof-record: record process 4194304: there is no such process; ps -e lists them; the others are recorded\n" +
		"wprof-record: the last of the recorded processes, " + second + ", has ended, and the recording with it\n"
	checkBothEnded(t, r, file, want)
}

// checkBothEnded waits for the end of a recording, whose messages begin with want and which has the ends of both its processes.
func checkBothEnded(t *testing.T, r *run, file, want string) {
	t.Helper()
	if status := r.wait(); status != 0 || !strings.HasPrefix(r.stderr.String(), want) {
		t.Errorf("status %d: %q, want %q", status, r.stderr.String(), want)
	}
	if c := readFile(t, file); c.count(format.KindExit) != 2 {
		t.Errorf("%d of the two processes end in the recording", c.count(format.KindExit))
	}
}

func TestRecordingEndsWithTheLastDescendant(t *testing.T) {
	tools.NeedPrivilege(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	parent, endParent := reader(t, "sh", "-c", `cat "$0" & exec cat`, fifo)
	child, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits until the child reads it
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.wprof")
	r := recorder(t, "-d0", "--no-stacks", "-o", file, "-p", parent, "--children").start()
	r.opened(file + ".part")
	endParent()
	time.Sleep(time.Second)
	_ = child.Close()
	want := "wprof-record: process " + parent + " and its descendants have ended, and the recording with it\n"
	checkBothEnded(t, r, file, want)
}

func TestProcessesThatCannotBeRecordedAreRefusedAtOnce(t *testing.T) {
	tools.NeedPrivilege(t)
	tids, err := filepath.Glob("/proc/self/task/*") // a Go program has several threads
	if err != nil || len(tids) < 2 {
		t.Fatalf("the threads of this test are %v, %v", tids, err)
	}
	self, ended := strconv.Itoa(os.Getpid()), exec.Command("true")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ended.Wait() })
	for zombie := false; !zombie; time.Sleep(time.Millisecond) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", ended.Process.Pid))
		zombie = bytes.Contains(stat, []byte(") Z "))
	}
	tid := filepath.Base(tids[slices.IndexFunc(tids, func(path string) bool { return filepath.Base(path) != self })])
	for pids, want := range map[string]string{
		"4194304":                       "record process 4194304: there is no such process; ps -e lists them",
		tid:                             "record process " + tid + ": it is a thread of process " + self + "; record that",
		self + "," + tid:                "record process " + tid + ": it is a thread of process " + self + "; record that",
		strconv.Itoa(ended.Process.Pid): fmt.Sprintf("record process %d: it has ended already", ended.Process.Pid),
	} {
		r := recorder(t, "-d60s", "-p", pids, "-o", filepath.Join(t.TempDir(), "x")).start()
		if status := r.wait(); status != 1 || r.stderr.String() != "wprof-record: "+want+"\n" {
			t.Errorf("-p %s: status %d: %q, want 1: %q", pids, status, r.stderr.String(), want)
		}
	}
}

// A terminal shows what an unlimited recording has recorded so far.
func TestTerminalShowsTheEventsOfAnUnlimitedRecording(t *testing.T) {
	tools.NeedPrivilege(t)
	tty, _, shown := tools.Terminal(t)
	file := filepath.Join(t.TempDir(), "x.wprof")
	r := recorder(t, "-d0", "--no-stacks", "-o", file)
	r.cmd.Stderr = tty
	r.start()
	counts := regexp.MustCompile(`recording for (\d+)s: ([\d,]+) events?, nothing lost; Ctrl-C ends it`)
	for end := time.Now().Add(2 * time.Minute); len(counts.FindAllString(shown.String(), -1)) < 4 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	before := counts.FindAllStringSubmatch(shown.String(), -1)
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if status := r.wait(); status != 0 {
		t.Fatalf("status %d: %q", status, shown.String())
	}
	c := readFile(t, file)
	states := c.count(format.KindStateCPU) + c.count(format.KindStateThread)
	last, seconds := 0, -1
	for _, m := range before {
		n, _ := strconv.Atoi(strings.ReplaceAll(m[2], ",", ""))
		at, _ := strconv.Atoi(m[1])
		if n < last || at <= seconds || n > len(c.events)-states {
			t.Errorf("after %d s and %d events it shows %q; %d are in the capture", seconds, last, m[0], len(c.events)-states)
		}
		last, seconds = n, at
	}
	if len(before) < 4 || last == 0 {
		t.Errorf("it shows %q", shown.String())
	}
}
