//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/tools"
)

const (
	familyCalls = 1000 // of each function in family.py
	// familyArgs are in what the program prints: its process, that which it has executed by a shell, and its child.
	familyArgs = 3
)

// familyPythons are the interpreters that find themselves by sys.executable.
func familyPythons(t *testing.T) (all []string) {
	for _, python := range tools.Pythons(t) {
		if exec.Command(python, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)").Run() == nil && !strings.Contains(python, "t/bin") {
			all = append(all, python)
		}
	}
	return all
}

// TestCommandsCallsOfPython: the command is traced from its first line on, and what it executes and forks from a moment after that on.
func TestCommandsCallsOfPython(t *testing.T) {
	tools.NeedPrivilege(t)
	script, _ := filepath.Abs("../../internal/pytrace/testdata/family.py")
	for _, python := range familyPythons(t) {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-"), func(t *testing.T) {
			capture := filepath.Join(t.TempDir(), "family.wprof")
			said := tools.Run(t, "wprof-record", "--no-stacks", "-f", "py-trace", "-o", capture, "--", python, script)
			pids := familyPIDs(t, said)
			calls := callsByProcess(t, capture, script)
			for pid, function := range map[int]string{pids[0]: "first", pids[1]: "executed", pids[2]: "forked"} {
				if n := calls[pid][function]; n != familyCalls {
					t.Errorf("%d calls of %s in process %d, want %d", n, function, pid, familyCalls)
				}
			}
			if calls[pids[0]]["executed"]+calls[pids[0]]["forked"]+calls[pids[2]]["first"] > 0 {
				t.Errorf("calls are of other processes: %v", calls)
			}
		})
	}
}

// TestProcessesOfPythonThatBeginLater: those are traced whose name is chosen.
func TestProcessesOfPythonThatBeginLater(t *testing.T) {
	tools.NeedPrivilege(t)
	script, _ := filepath.Abs("../../internal/pytrace/testdata/family.py")
	for _, python := range familyPythons(t) {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-"), func(t *testing.T) {
			for name, isChosen := range map[string]bool{"python3*": true, "nothing*": false} {
				var said []byte
				capture := tools.Record(t, filepath.Join(t.TempDir(), "family.wprof"), []string{"--no-stacks", "-f", "py-trace=" + name}, func() {
					var err error
					if said, err = exec.Command(python, script).Output(); err != nil {
						t.Error(err)
					}
				})
				pids := familyPIDs(t, said)
				calls := callsByProcess(t, capture, script)
				for pid, function := range map[int]string{pids[1]: "executed", pids[2]: "forked"} {
					if n := calls[pid][function]; n != map[bool]int{true: familyCalls}[isChosen] {
						t.Errorf("%s: %d calls of %s in process %d", name, n, function, pid)
					}
				}
			}
		})
	}
}

func familyPIDs(t *testing.T, said []byte) (pids [familyArgs]int) {
	t.Helper()
	if _, err := fmt.Sscan(string(said), &pids[0], &pids[1], &pids[2]); err != nil {
		t.Fatalf("the program says %q: %v", said, err)
	}
	return pids
}

// callsByProcess counts the calls of a script's functions.
func callsByProcess(t *testing.T, capture, script string) map[int]map[string]int {
	t.Helper()
	counts := map[int]map[string]int{}
	for line := range bytes.Lines(tools.Run(t, "wprof-json", capture)) {
		var c pythonCall
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Name != "py_call" || c.Args.File != script {
			continue
		}
		if counts[c.Task.PID] == nil {
			counts[c.Task.PID] = map[string]int{}
		}
		counts[c.Task.PID][c.Args.Function[strings.LastIndex(c.Args.Function, ".")+1:]]++
	}
	return counts
}
