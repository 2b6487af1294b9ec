//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"wprof/test/tools"
)

// pythonsWithTasks are those whose tasks know what awaits them.
func pythonsWithTasks(t *testing.T) []string {
	t.Helper()
	all := slices.DeleteFunc(tools.Pythons(t), func(python string) bool {
		return exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 14))").Run() != nil
	})
	if len(all) == 0 {
		t.Skip("no python3 of 3.14 or later is installed")
	}
	return all
}

// Each stack of a task has what awaits it, as asyncio itself says it.
func TestPythonStacksHaveWhatAwaitsTheirTask(t *testing.T) {
	tools.NeedPrivilege(t)
	said, taken := recordPythons(t, pythonsWithTasks(t), "testdata/python/tasks.py")
	for python, log := range said {
		t.Run(pythonName(python), func(t *testing.T) { checkPython(t, log.Stays, taken) })
	}
}

// A task that is blocked when the window closes has what awaits it.
func TestBlockedTasksHaveWhatAwaitsThem(t *testing.T) {
	tools.NeedPrivilege(t)
	said := map[string]pythonStay{}
	capture := tools.Record(t, filepath.Join(t.TempDir(), "tasks.wprof"), []string{"-f", "py-stacks"}, func() {
		for _, python := range pythonsWithTasks(t) {
			cmd, stays, err := startBlocks(python, "testdata/python/tasks.py", "blocks")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
			said[python] = stays[0]
		}
	})
	blocked := blockedPythonStacks(t, capture)
	for python, stay := range said {
		s := blocked[stay.TID]
		if len(s) != 1 || !slices.EqualFunc(s[0].frames, stay.Stack, sameFrame) {
			t.Errorf("%s: recorded %+v\nthe program says\n%s", python, s, lines(stay.Stack))
		}
	}
}

// What a task says of tasks that await it may be anything: a stack has some frames more, and still all that run.
func TestTasksMayLie(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, python := range pythonsWithTasks(t) {
		t.Run(pythonName(python), func(t *testing.T) {
			capture := filepath.Join(t.TempDir(), "lies.wprof")
			out := tools.Run(t, "wprof-record", "-f", "py-stacks", "-Stimer=1khz", "--stacks=+offcpu", "--offcpu-min=0", "-o", capture, "--", python, "testdata/python/liestasks.py")
			if string(out) != "sound\n" {
				t.Errorf("the program says %q", out)
			}
			compared := map[string]int{}
			for _, all := range pythonStacksOf(t, capture) {
				for _, s := range all {
					if checkLie(t, &s) {
						compared[s.frames[1].function]++
					}
				}
			}
			t.Log(compared)
			for _, lie := range []string{"circle", "chain", "coil", "wide", "random_lies"} {
				if compared["liestasks."+lie] < 20 {
					t.Errorf("%d stacks of %s", compared["liestasks."+lie], lie)
				}
			}
			for line := range bytes.Lines(tools.Run(t, "wprof-json", capture)) {
				if !json.Valid(line) {
					t.Fatalf("a line is no JSON: %.200q", line)
				}
			}
		})
	}
}

// checkLie checks a stack of the program that lies, and returns whether it is one in which it does.
func checkLie(t *testing.T, s *takenStack) bool {
	t.Helper()
	if len(s.frames) == 0 || s.frames[0].function != "liestasks.stay" {
		return false
	}
	named := map[string]int{}
	running := 0
	for _, f := range s.frames {
		named[f.function]++
		if !f.awaits {
			running++
		}
	}
	want := map[string]map[string]int{
		"liestasks.circle": {"[awaiting task]": 3, "liestasks.awaits_forever": 3},
		"liestasks.chain":  {"[awaiting task]": 64, "liestasks.awaits_forever": 64, "[more tasks await]": 1},
		"liestasks.coil":   {"[awaiting task]": 1, "liestasks.awaits_forever": 512, "[more tasks await]": 1},
	}[s.frames[1].function]
	for function, count := range want {
		if named[function] != count {
			t.Errorf("%s: %s is there %d times, want %d", s.frames[1].function, function, named[function], count)
		}
	}
	// Those that run: stay, the lie, lies, and six of asyncio up to the program's first.
	if last := s.frames[len(s.frames)-1]; running != 10 || last.function != "liestasks.<module>" {
		t.Errorf("%s: %d frames run, the last is %s:\n%s", s.frames[1].function, running, last.function, lines(s.frames))
	}
	return true
}
