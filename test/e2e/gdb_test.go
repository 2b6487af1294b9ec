//go:build linux && amd64

package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// Threads that are blocked throughout the window have stacks as deep as gdb's, in programs that are built in several ways.
func TestBlockedStacksAreThoseOfGdb(t *testing.T) {
	tools.NeedPrivilege(t)
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Fatal("gdb is missing (Debian: gdb)")
	}
	const threads = "import threading, time\nfor i in range(5): threading.Thread(target=time.sleep, args=(600,)).start()\ntime.sleep(600)"
	programs := []struct {
		name    string
		command []string
	}{
		{"chains", []string{tools.Path("chains"), "0", tools.Path("chains-library.so")}},
		{"chains, through the dynamic linker", []string{tools.Path("chains"), "lazy", tools.Path("chains-lazy.so")}},
		{"bash", []string{"/bin/bash", "-c", "f() { sleep 600; :; }; f"}},
		{"perl", []string{"/usr/bin/perl", "-e", "sub f { select(undef, undef, undef, 600) } f"}},
		{"python3", []string{"/usr/bin/python3", "-c", threads}},
		{"sleep", []string{"/bin/sleep", "600"}},
	}
	file := filepath.Join(t.TempDir(), "blocked.wprof")
	record := []string{"-f", "no-py-stacks", "-Soffcpu", "-d4s", "--no-kernel-stacks", "--unwind=tables", "--unwind-cache", filepath.Join(t.TempDir(), "cache"), "-o", file}
	pids := map[string]int{}
	for _, p := range programs {
		if _, err := exec.LookPath(p.command[0]); err != nil {
			continue
		}
		w := tools.StartWorkload(t, exec.Command(p.command[0], p.command[1:]...))
		w.WaitAsleep()
		pids[p.name] = w.PID()
		record = append(record, "-p", strconv.Itoa(w.PID()))
	}
	tools.Run(t, "wprof-record", record...)
	ours := blockedByThread(t, file)
	for name, pid := range pids {
		same := 0
		for tid, want := range gdbStacks(t, pid) {
			got := ours[tid]
			if len(got) == len(want) && got[0] != "[cut]" {
				same++
				continue
			}
			t.Errorf("%s, thread %d:\nwe have %s\ngdb has %s", name, tid, strings.Join(got, ";"), strings.Join(want, ";"))
		}
		t.Logf("%s: %d stacks are as deep as gdb's", name, same)
	}
}

// blockedByThread returns the user stack in which each thread was off the CPU, from the root.
func blockedByThread(t *testing.T, file string) map[int][]string {
	t.Helper()
	all := map[int][]string{}
	for line := range strings.Lines(string(tools.Run(t, "wprof-flame", "--off-cpu", "--by=thread", "--folded", file))) {
		frames := strings.Split(line[:strings.LastIndexByte(line, ' ')], ";")
		_, text, _ := strings.Cut(frames[0], "/")
		if tid, err := strconv.Atoi(text); err == nil {
			all[tid] = slices.DeleteFunc(frames[1:], func(name string) bool { return name == "[idle]" })
		}
	}
	return all
}

var (
	gdbThread = regexp.MustCompile(`^Thread .*(?:LWP|process) (\d+)`)
	gdbFrame  = regexp.MustCompile(`^#\d+ +(?:0x[0-9a-f]+ in )?(\S+)`)
)

// gdbStacks returns the stacks of a process's threads, from the root. Without debug files, functions that are inlined are no frames.
func gdbStacks(t *testing.T, pid int) map[int][]string {
	t.Helper()
	out, err := exec.Command("gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set debug-file-directory /nonexistent", "-p", strconv.Itoa(pid),
		"-ex", "set width 0", "-ex", "set backtrace past-main on", "-ex", "thread apply all bt").Output()
	if err != nil {
		t.Fatalf("gdb: %v", err)
	}
	all := map[int][]string{}
	tid := 0
	for line := range strings.Lines(string(out)) {
		if m := gdbThread.FindStringSubmatch(line); m != nil {
			tid, _ = strconv.Atoi(m[1])
		} else if m := gdbFrame.FindStringSubmatch(line); m != nil && tid != 0 {
			all[tid] = append([]string{m[1]}, all[tid]...)
		}
	}
	if len(all) == 0 {
		t.Fatalf("gdb shows no stack of process %d", pid)
	}
	return all
}
