//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/waits"
	"wprof/test/tools"
)

// gilTruth is what a thread of testdata/python/gil.py says of a time in which it needed the global lock all the time.
type gilTruth struct {
	TID           int32
	Works         string
	Others        []int32 // the threads that needed it too
	From, To, CPU int64   // ns; CPU is how long it had a CPU
}

// gilTime is what a capture says of a time of a thread off its CPU.
type gilTime struct {
	from, to int64
	class    waits.Class // of a wait for a CPU Runnable
	owner    int32
}

// A thread waits for the global lock for as long as its own clocks say, and for one of the threads that need it too.
func TestWaitsForTheGIL(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, python := range tools.Pythons(t) {
		if exec.Command(python, "-c", "import sys; sys.exit(not getattr(sys, '_is_gil_enabled', lambda: True)())").Run() != nil {
			continue // it has no such lock
		}
		t.Run(strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-"), func(t *testing.T) {
			// The recorder reads the interpreters of running processes before the window opens.
			running := exec.Command(python, "-c", "import sys; sys.stdin.read()")
			stdin, err := running.StdinPipe()
			if err = errors.Join(err, running.Start()); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stdin.Close(); _ = running.Wait() }()
			var said []gilTruth
			capture := tools.Record(t, filepath.Join(t.TempDir(), "gil.wprof"), []string{"-f", "py-stacks", "--offcpu-min=0"}, func() {
				out, err := exec.Command(python, "testdata/python/gil.py").Output()
				if err = errors.Join(err, json.Unmarshal(out, &said)); err != nil {
					t.Fatalf("%s: %v", python, err)
				}
			})
			times := offCPUTimes(t, capture)
			var gil, owned int64
			for i := range said {
				waited, behind := said[i].check(t, times[said[i].TID])
				gil, owned = gil+waited, owned+behind
			}
			// A thread that has given the lock away waits until another one has it, which on a busy machine may take long.
			if gil == 0 || owned < gil/2 {
				t.Errorf("of %.1f ms of waits for the GIL, %.1f have a holder", ms(gil), ms(owned))
			}
			pid := findGILProcess(t, capture, said[0].TID)
			checkGILOutputs(t, capture, pid)
		})
	}
}

// check returns the time of waits for the lock, and that of those with a holder.
func (g *gilTruth) check(t *testing.T, times []gilTime) (gil, owned int64) {
	t.Helper()
	var cpu, other, wrong int64
	named, classes := map[int32]int64{}, map[waits.Class]int64{}
	for _, one := range times {
		ns := min(one.to, g.To) - max(one.from, g.From)
		switch {
		case ns <= 0:
		case one.class == waits.Runnable:
			cpu += ns
		case one.class != waits.GIL:
			other += ns
			classes[one.class] += ns
		default:
			gil += ns
			if one.owner != 0 {
				owned += ns
			}
			if one.owner != 0 && !slices.Contains(g.Others, one.owner) {
				wrong += ns
				named[one.owner] += ns
			}
		}
	}
	off := g.To - g.From - g.CPU
	t.Logf("%s: off its CPU for %.1f ms by its own clocks; recorded %.1f ms for the GIL, %.1f ms of that with the holder, %.1f ms for a CPU, %.1f ms for something else",
		g.Works, ms(off), ms(gil), ms(owned), ms(cpu), ms(other))
	// Interrupts and the hypervisor take time that is neither the thread's nor off the CPU.
	if recorded := gil + cpu + other; abs(recorded-off) > off/10+5e6 {
		t.Errorf("%s: recorded are %.1f ms off the CPU, its clocks say %.1f ms", g.Works, ms(recorded), ms(off))
	}
	if missed := classes[waits.Condition] + classes[waits.Lock] + classes[waits.Unknown]; missed > (gil+missed)/10 { // the first wait of a process may come before a stack of it
		t.Errorf("%s: %.1f of %.1f ms of waits in a futex are for something else than the GIL: %v", g.Works, ms(missed), ms(gil+missed), classes)
	}
	if wrong > 0 {
		t.Errorf("%s: of %.1f ms of waits for the GIL, %.1f have the wrong holder, of %v for thread %d: %v", g.Works, ms(gil), ms(wrong), g.Others, g.TID, named)
	}
	return gil, owned
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

func abs(n int64) int64 { return max(n, -n) }

// offCPUTimes returns the times of all threads off their CPUs by tid.
func offCPUTimes(t *testing.T, capture string) map[int32][]gilTime {
	t.Helper()
	all := map[int32][]gilTime{}
	woken := map[int32]int64{}
	var classes *waits.Classifier
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		switch e.Kind {
		case format.KindWaking:
			woken[r.Task(e.Waking().Wakee()).GetTid()] = e.Time
		case format.KindSwitch:
			v := e.Switch()
			tid := r.Task(v.Next()).GetTid()
			since, known := v.Since()
			state, _ := v.NextState()
			if tid == 0 || !known {
				return
			}
			if state.IsRunnable() {
				all[tid] = append(all[tid], gilTime{since, e.Time, waits.Runnable, 0})
				return
			}
			until := e.Time
			if at := woken[tid]; at > since {
				until = at
				all[tid] = append(all[tid], gilTime{at, e.Time, waits.Runnable, 0})
			}
			wait, _ := v.Wait()
			stack, _ := v.Stack()
			all[tid] = append(all[tid], gilTime{since, until, classes.Blocked(stack, wait, state, false).Class, r.Wait(wait).GetOwner()})
		}
	}, func(r *format.Reader) {
		if classes == nil {
			classes = waits.NewClassifier(r)
		}
		r.OnSectionDone(classes.NewSection)
	})
	return all
}

func findGILProcess(t *testing.T, capture string, tid int32) (pid string) {
	t.Helper()
	for line := range bytes.Lines(tools.Run(t, "wprof-json", "-k", "switch", "--no-stacks", capture)) {
		var e struct{ Next struct{ TID, PID int32 } }
		if json.Unmarshal(line, &e) == nil && e.Next.TID == tid {
			return itoa(e.Next.PID)
		}
	}
	t.Fatalf("no switch to thread %d", tid)
	return ""
}

func itoa(n int32) string { b, _ := json.Marshal(n); return string(b) }

// checkGILOutputs checks that the tools show the class.
func checkGILOutputs(t *testing.T, capture, pid string) {
	t.Helper()
	json := string(tools.Run(t, "wprof-json", "-k", "switch", "--no-stacks", capture))
	flame := string(tools.Run(t, "wprof-flame", "-p", pid, "--off-cpu", "--state", capture))
	byWait := string(tools.Run(t, "wprof-flame", "-p", pid, "--off-cpu", "--by", "wait", capture))
	report := string(tools.Run(t, "wprof-info", "--report", "-p", pid, capture))
	trace := filepath.Join(t.TempDir(), "gil.pb")
	tools.Run(t, "wprof-perfetto", "-o", trace, capture)
	drawn, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for what, in := range map[string]bool{
		"JSON lines": strings.Contains(json, `"wait_class":"gil"`) && strings.Contains(json, `"lock_owner":`), "--state": strings.Contains(flame, ";[gil] "),
		"--by wait": strings.Contains(byWait, "gil;"), "Perfetto": bytes.Contains(drawn, []byte("GIL")),
		"the report": strings.Contains(report, "GIL") && strings.Contains(report, "gil:"),
	} {
		if !in {
			t.Errorf("%s does not have the class gil", what)
		}
	}
	if testing.Verbose() {
		t.Logf("%s", report)
	}
}
