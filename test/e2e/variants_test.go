//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wprof/test/tools"
)

// recording is one capture with everything in it that the checks of it need.
type recording struct {
	happened
	capture, trace string
	did            []did
}

// happened is what is known about a recording without the recorder. It is kept beside captures that are checked
// elsewhere.
type happened struct {
	Work     string // what the workload has printed
	Taken    int64  // from all CPUs while it recorded, by hypervisor and interrupts, ns
	Sleeper  int    // pid of a sleep(1) that outlived the window at both ends; 0: none was recorded
	CPUs     int
	Emulated bool // some of a sleep passes before the thread has left its CPU
}

// variants are how a capture comes about.
var variants = []struct {
	name   string
	record func(t *testing.T, file string) happened
}{
	{"default", recordMachine},
	{"all-stacks", func(t *testing.T, file string) happened { return recordCommand(t, file, "-Sall") }},
	{"command", func(t *testing.T, file string) happened { return recordCommand(t, file) }},
	{"killed", recordKilled},
}

var checks = []struct {
	name  string
	check func(*testing.T, recording)
}{
	{"loads without errors", loadsWithoutErrors},
	{"slices of each CPU cover the window without overlap", slicesOfEachCPUCoverTheWindowWithoutOverlap},
	{"time on CPU is what schedstat counted", timeOnCPUIsWhatSchedstatCounted},
	{"states last as long as the workload says", statesLastAsLongAsTheWorkloadSays},
	{"two spinners on one CPU are preempted", twoSpinnersOnOneCPUArePreempted},
	{"sleeper is asleep for the whole window", sleeperIsAsleepForTheWholeWindow},
	{"ping-pong wakes both ways", pingPongWakesBothWays},
	{"names follow the thread", namesFollowTheThread},
}

// Captures of other kernels, in the folder that WPROF_TEST_CAPTURES names, are held against the same. WPROF_TEST_KEEP
// names the folder into which they are put there.
func TestEachVariantOfARecordingShowsWhatHappened(t *testing.T) {
	for n := range variants {
		t.Run(variants[n].name, func(t *testing.T) {
			r := recordedBy(t, n)
			for _, c := range checks {
				t.Run(c.name, func(t *testing.T) { c.check(t, r) })
			}
		})
	}
}

// theRecording is the first variant.
func theRecording(t *testing.T) recording {
	t.Helper()
	return recordedBy(t, 0)
}

var (
	recordOnce [4]sync.Once
	shared     [len(recordOnce)]recording
)

// recordedBy records a variant, once for all tests.
func recordedBy(t *testing.T, n int) recording {
	t.Helper()
	recordOnce[n].Do(func() {
		name := variants[n].name
		r := recording{trace: filepath.Join(tools.Folder(), name+".pb")}
		if from := os.Getenv("WPROF_TEST_CAPTURES"); from != "" {
			r.capture = filepath.Join(from, name+".wprof")
			r.happened = readHappened(t, filepath.Join(from, name+".json"))
		} else {
			tools.NeedPrivilege(t)
			r.capture = filepath.Join(tools.Folder(), name+".wprof")
			r.happened = variants[n].record(t, r.capture)
			keep(t, r)
		}
		r.did = parseWork(t, r.Work)
		tools.Convert(t, r.trace, "wprof-perfetto", r.capture)
		shared[n] = r
	})
	if shared[n].capture == "" {
		t.Fatal("the recording that this test looks at failed")
	}
	return shared[n]
}

func readHappened(t *testing.T, path string) (h happened) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func keep(t *testing.T, r recording) {
	t.Helper()
	dir := os.Getenv("WPROF_TEST_KEEP")
	if dir == "" {
		return
	}
	text, err := json.Marshal(r.happened)
	if err != nil {
		t.Fatal(err)
	}
	capture, err := os.ReadFile(r.capture)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, strings.TrimSuffix(filepath.Base(r.capture), ".wprof"))
	for name, content := range map[string][]byte{path + ".json": text, path + ".wprof": capture} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// modes ends with one that lasts: the kernel frees a thread some time after its end, and a recording ends with its command.
var modes = []string{"life", "spin", "nap", "blocked", "stopped", "preempted", "pingpong"}

// recordMachine records the workload in all its modes, and a thread that sleeps beside it.
func recordMachine(t *testing.T, file string) happened {
	t.Helper()
	return beside(t, func() (said string) {
		tools.Record(t, file, nil, func() { said = workAll(t) })
		return said
	})
}

// recordCommand records the workload as the recorder's command.
func recordCommand(t *testing.T, file string, flags ...string) happened {
	t.Helper()
	script := `for mode in "$@"; do "$0" $mode || exit; done`
	h := beside(t, func() string {
		command := append([]string{"-o", file, "--", "sh", "-c", script, tools.Path("workload")}, modes...)
		return string(tools.Run(t, "wprof-record", append(flags, command...)...))
	})
	h.Sleeper = 0
	return h
}

// recordKilled kills the recorder and finishes what it has left.
func recordKilled(t *testing.T, file string) happened {
	t.Helper()
	h := beside(t, func() string {
		r := tools.Start(t, "-d120s", "-o", file)
		said := workAll(t)
		time.Sleep(3 * time.Second) // several rounds
		if err := r.Cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r.Wait()
		return said
	})
	if r := tools.Try(t, 5*time.Minute, nil, "wprof-symbolize", file+".part", "-o", file); r.Status != 4 {
		t.Fatalf("wprof-symbolize of a spool that was cut short: status %d, want 4: %s", r.Status, r.Stderr)
	}
	return h
}

// beside notes what happens while a recording is made.
func beside(t *testing.T, record func() (work string)) happened {
	t.Helper()
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatalf("start sleep: %v", err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	time.Sleep(50 * time.Millisecond)
	before := tools.TakenNow(t)
	work := record()
	return happened{Work: work, Taken: tools.TakenNow(t) - before, Sleeper: sleeper.Process.Pid, CPUs: runtime.NumCPU(), Emulated: tools.Emulated(t)}
}

func workAll(t *testing.T) string {
	t.Helper()
	var said bytes.Buffer
	for _, mode := range modes {
		said.Write(runWorkload(t, mode))
	}
	return said.String()
}
