//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// pythonCall is a line of JSON.
type pythonCall struct {
	Type  string  `json:"t"`
	Name  string  `json:"name"`
	TS    float64 `json:"ts"`
	Start float64 `json:"start_ts"`
	Dur   float64 `json:"dur"`
	Open  string  `json:"open"`
	Count int     `json:"count"` // of lost events
	Task  struct{ TID, PID int }
	Args  struct {
		Function, Module, File string
		Line                   int
		Self                   float64
	}
}

const pythonRounds = 1000 // of count.py, in each of two threads

// Each call of a function is a span with its place, in all outputs; what is lost is counted.
func TestCallsOfPython(t *testing.T) {
	tools.NeedPrivilege(t)
	script, _ := filepath.Abs("../../internal/pytrace/testdata/count.py")
	for _, python := range tools.Pythons(t) {
		if strings.Contains(python, "t/bin") {
			continue
		}
		t.Run(strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-"), func(t *testing.T) {
			w := tools.StartWorkload(t, exec.Command(python, script, strconv.Itoa(pythonRounds)))
			w.Until("ready")
			capture := tools.Record(t, filepath.Join(t.TempDir(), "calls.wprof"), []string{"--no-stacks", "-f", "py-trace=" + w.PIDText()}, func() {
				for _, next := range []string{"ready", "done"} {
					w.Send("\n")
					w.Until(next)
				}
			})
			checkCallsOfPython(t, capture, script, w.PID())
			checkFunctionTable(t, capture)
			if strings.HasPrefix(python, "/usr/bin/") {
				checkDrawnCalls(t, capture)
			}
			tools.Run(t, "wprof-info", "--check", capture)
		})
	}
}

// What options leave out is not there: short calls are counted as what a limit left out.
func TestCallsOfPythonThatAreLeftOut(t *testing.T) {
	tools.NeedPrivilege(t)
	script, _ := filepath.Abs("../../internal/pytrace/testdata/count.py")
	for options, want := range map[string]*regexp.Regexp{
		"min:100ms:":      regexp.MustCompile(`(?m)^left out +[0-9,]+ events, by limits\n.* py_call +limit$`),
		"module:!count*:": regexp.MustCompile(`(?m)^lost +nothing$`),
	} {
		w := tools.StartWorkload(t, exec.Command(tools.Pythons(t)[0], script, strconv.Itoa(pythonRounds)))
		w.Until("ready")
		capture := tools.Record(t, filepath.Join(t.TempDir(), "calls.wprof"), []string{"--no-stacks", "-f", "py-trace=" + options + w.PIDText()}, func() {
			for _, next := range []string{"ready", "done"} {
				w.Send("\n")
				w.Until(next)
			}
		})
		if table := tools.Run(t, "wprof-info", "--calls", capture); bytes.Contains(table, []byte("count.leaf")) {
			t.Errorf("%s: %s", options, table)
		}
		if about := tools.Run(t, "wprof-info", capture); !want.Match(about) {
			t.Errorf("%s: %s", options, about)
		}
		tools.Run(t, "wprof-info", "--check", capture)
	}
}

func checkCallsOfPython(t *testing.T, capture, script string, pid int) {
	t.Helper()
	counts, tids, lost, open := map[string]int{}, map[int]bool{}, 0, 0
	for line := range bytes.Lines(tools.Run(t, "wprof-json", capture)) {
		var c pythonCall
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Type == "lost" {
			lost += c.Count
		}
		if c.Name != "py_call" || c.Args.File != script {
			continue
		}
		if c.Open != "" {
			open++
		}
		counts[c.Args.Function[strings.LastIndex(c.Args.Function, ".")+1:]]++
		if c.Task.PID != pid || c.Args.Module != "count" || c.Args.Line == 0 || c.Args.Self > c.Dur {
			t.Fatalf("%s", line)
		}
		tids[c.Task.TID] = true
	}
	for name, n := range map[string]int{"leaf": 1, "recurse": 4, "generate": 3, "guarded": 2, "fail": 1, "value": 1, "method": 1, "<lambda>": 2, "coroutine": 1} {
		if want := 2 * pythonRounds * n; counts[name] > want || counts[name] < want-lost {
			t.Errorf("%d calls of %s, want %d; %d events are lost", counts[name], name, want, lost)
		}
	}
	if len(tids) != 2 || open != 1 {
		t.Errorf("calls are of %d threads, and %d are open, want 2 and 1", len(tids), open)
	}
}

// Calls are whole also where the recorder is behind: eight threads call while it is stopped.
func TestCallsAreWholeIfTheRecorderIsBehind(t *testing.T) {
	tools.NeedPrivilege(t)
	const calls = 10_000 // of each thread
	script, _ := filepath.Abs("testdata/python/busycalls.py")
	for _, python := range tools.Pythons(t) {
		if strings.Contains(python, "t/bin") {
			continue
		}
		t.Run(strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-"), func(t *testing.T) {
			w := tools.StartWorkload(t, exec.Command(python, script, strconv.Itoa(calls)))
			w.Until("ready")
			capture := tools.Record(t, filepath.Join(t.TempDir(), "calls.wprof"), []string{"--no-stacks", "-f", "py-trace=" + w.PIDText()}, func() {
				defer stopRecorder(t)()
				w.Send("\n")
				w.Until("done")
			})
			leaves, lost := 0, 0
			for line := range bytes.Lines(tools.Run(t, "wprof-json", capture)) {
				var c pythonCall
				if err := json.Unmarshal(line, &c); err != nil {
					t.Fatal(err)
				}
				if c.Type == "lost" {
					lost += c.Count
				}
				if c.Name != "py_call" {
					continue
				}
				if c.Args.Function == "busycalls.leaf" {
					leaves++
				}
				if c.Task.PID != w.PID() || c.Args.Function == "" || c.Start < 0 || math.Abs(c.Start+c.Dur-c.TS) > 2e-9 || c.Args.Self > c.Dur {
					t.Fatalf("%s", line)
				}
			}
			if leaves > 8*calls || leaves < 8*calls-lost {
				t.Errorf("%d calls of leaf, want %d; %d events are lost", leaves, 8*calls, lost)
			}
		})
	}
}

// stopRecorder stops the recorder that this test has started, until what it returns is called.
func stopRecorder(t *testing.T) func() {
	t.Helper()
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(os.Getpid()), "wprof-record").Output()
	pid, wrong := strconv.Atoi(strings.TrimSpace(string(out)))
	if err = errors.Join(err, wrong); err != nil {
		t.Fatalf("find the recorder in %q: %v", out, err)
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	return func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
}

// checkFunctionTable compares the table of functions with the calls.
func checkFunctionTable(t *testing.T, capture string) {
	t.Helper()
	table := string(tools.Run(t, "wprof-info", "--calls", capture))
	if !regexp.MustCompile(`(?m)^ *8,000 .* count\.recurse$`).MatchString(table) {
		t.Errorf("the table lacks 8,000 calls of count.recurse:\n%s", table)
	}
}

// checkDrawnCalls looks for calls within each other on a track of their thread.
func checkDrawnCalls(t *testing.T, capture string) {
	t.Helper()
	engine.Need(t)
	trace := tools.Convert(t, filepath.Join(t.TempDir(), "trace.pb"), "wprof-perfetto", capture)
	engine.CheckStats(t, trace)
	answers := engine.Query(t, trace,
		`select count(*) as n, count(distinct s.track_id) as tracks, sum(p.name = 'count.recurse') as within from slice s left join slice p on p.id = s.parent_id where s.name = 'count.recurse'`,
		`select count(*) as n from slice s join slice p on p.id = s.parent_id where s.name = 'count.recurse' and p.name = 'count.work'`)
	for i, want := range []string{"[map[n:8000 tracks:2 within:6000]]", "[map[n:2000]]"} {
		if got := fmt.Sprint(answers[i]); got != want {
			t.Errorf("query %d: %s, want %s", i, got, want)
		}
	}
}
