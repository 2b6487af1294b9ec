//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"math"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// pythonShares is what testdata/shares/shares.py says.
type pythonShares struct {
	TID  int32
	Took map[string]float64 // ns by function
}

// Functions of Python have the shares of samples that they have of the program's CPU time by its own clock.
func TestSharesOfPythonsFunctionsAreTheirs(t *testing.T) {
	tools.NeedPrivilege(t)
	checkSharesOf(t, tools.Pythons(t), "shares")
}

// Time that tasks take is that of the functions that await them: one function computes for all, and which of the tasks it runs shows only what awaits.
func TestSharesOfAwaitingFunctionsAreTheirs(t *testing.T) {
	tools.NeedPrivilege(t)
	checkSharesOf(t, pythonsWithTasks(t), "server")
}

// checkSharesOf records a module of testdata/shares in each of the interpreters.
func checkSharesOf(t *testing.T, pythons []string, module string) {
	t.Helper()
	said := map[string]pythonShares{}
	capture := tools.Record(t, filepath.Join(t.TempDir(), "shares.wprof"), []string{"-f", "py-stacks", "-Stimer=997hz"}, func() {
		var running sync.WaitGroup
		var mu sync.Mutex
		for _, python := range pythons {
			running.Go(func() {
				out, err := exec.Command(python, "testdata/shares/"+module+".py", "1.5").Output()
				mu.Lock()
				defer mu.Unlock()
				var shares pythonShares
				if err != nil || json.Unmarshal(out, &shares) != nil {
					t.Errorf("%s: %v, %s", python, err, out)
					return
				}
				said[python] = shares
			})
		}
		running.Wait()
	})
	taken := sampledFunctions(t, capture)
	for python, shares := range said {
		checkPythonShares(t, python, module, shares, taken[shares.TID])
	}
}

// sampledFunctions counts the samples of each thread in which a function is.
func sampledFunctions(t *testing.T, capture string) map[int32]map[string]float64 {
	t.Helper()
	all := map[int32]map[string]float64{}
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		thread := r.Task(e.Task)
		if e.Kind != format.KindSample || thread == nil {
			return
		}
		stacks := map[int32][]takenStack{}
		addPython(stacks, r, e.Task, e.Time, e.Sample().Stack())
		for _, s := range stacks[thread.Tid] {
			if all[thread.Tid] == nil {
				all[thread.Tid] = map[string]float64{}
			}
			for _, f := range s.frames {
				all[thread.Tid][f.function]++
			}
		}
	}, func(*format.Reader) {})
	return all
}

func checkPythonShares(t *testing.T, python, module string, said pythonShares, taken map[string]float64) {
	t.Helper()
	samples, total := 0.0, 0.0
	for function, ns := range said.Took {
		samples += taken[module+"."+function]
		total += ns
	}
	if samples < 1000 {
		t.Errorf("%s: %v samples in the three functions: %v", python, samples, taken)
		return
	}
	for function, ns := range said.Took {
		want, got := ns/total, taken[module+"."+function]/samples
		t.Logf("%s: %s %.1f%% of %v samples, %.1f%% of the time", python, function, 100*got, samples, 100*want)
		// Of 10,000 samples of that size one is farther off than four standard deviations of the binomial distribution.
		if slack := 4 * math.Sqrt(want*(1-want)/samples); math.Abs(got-want) > slack {
			t.Errorf("%s: %s has %.1f%% of %v samples, not %.1f%% ± %.1f%%", python, function, 100*got, samples, 100*want, 100*slack)
		}
	}
}
