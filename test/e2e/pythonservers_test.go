//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

const servedRequests = 60

// Where servers wait for their backends is what their answers say: in gunicorn's forked workers and in an asyncio server.
func TestPythonServersWaitWhereTheySay(t *testing.T) {
	tools.NeedPrivilege(t)
	if _, err := exec.LookPath("gunicorn"); err != nil {
		t.Skip("gunicorn is not installed")
	}
	said := map[string][]pythonStay{}
	capture := tools.Record(t, filepath.Join(t.TempDir(), "servers.wprof"), []string{"-f", "py-stacks", "--stacks=+offcpu", "--offcpu-min=0"}, func() {
		said["gunicorn"] = askGunicorn(t)
		for _, python := range tools.Pythons(t) {
			w := tools.StartWorkload(t, exec.Command(python, "testdata/python/served.py"))
			said[python] = askServer(t, strings.Join(w.Until("ready"), ""))
		}
	})
	taken := pythonStacksOf(t, capture)
	for name, stays := range said {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", "-"), func(t *testing.T) { checkServed(t, stays, taken) })
	}
}

// askGunicorn returns what three workers say, which gunicorn forks.
func askGunicorn(t *testing.T) []pythonStay {
	port := freePort(t)
	gunicorn := exec.Command("gunicorn", "--workers=3", "--log-level=error", "--bind=127.0.0.1:"+port, "--chdir=testdata/python", "served:application")
	if err := gunicorn.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = gunicorn.Process.Signal(syscall.SIGTERM)
		_ = gunicorn.Wait()
	}()
	stays := askServer(t, port)
	workers := map[int32]bool{}
	for _, stay := range stays {
		workers[stay.TID] = true
	}
	if len(workers) < 2 {
		t.Errorf("only %d workers have answered", len(workers))
	}
	return stays
}

// askServer asks from three clients, and returns the answers since the recorder must know the interpreter.
func askServer(t *testing.T, port string) (stays []pythonStay) {
	t.Helper()
	known := time.Now().Add(500 * time.Millisecond)
	var asking sync.WaitGroup
	var mu sync.Mutex
	for range 3 {
		asking.Go(func() {
			for n := 0; n < servedRequests/3 && time.Since(known) < 20*time.Second; {
				begun := time.Now()
				response, err := http.Get("http://127.0.0.1:" + port)
				if err != nil {
					time.Sleep(10 * time.Millisecond) // it has not begun to listen
					continue
				}
				var stay pythonStay
				err = json.NewDecoder(response.Body).Decode(&stay)
				_ = response.Body.Close()
				if err != nil {
					t.Errorf("read the answer of the server at port %s: %v", port, err)
					return
				}
				if begun.After(known) {
					n++
					mu.Lock()
					stays = append(stays, stay)
					mu.Unlock()
				}
			}
		})
	}
	asking.Wait()
	if len(stays) != servedRequests {
		t.Errorf("the server at port %s has answered %d requests", port, len(stays))
	}
	return stays
}

// checkServed compares the waits. Few have no end, as in checkBrief.
func checkServed(t *testing.T, stays []pythonStay, taken map[int32][]takenStack) {
	t.Helper()
	missing := 0
	for _, stay := range stays {
		waits := 0
		for _, s := range taken[stay.TID] {
			if s.at <= stay.From || s.at >= stay.To {
				continue
			}
			waits++
			if !slices.EqualFunc(s.frames, stay.Stack, sameFrame) {
				t.Fatalf("recorded %s\n%s\nthe server says\n%s", s.text, lines(s.frames), lines(stay.Stack))
			}
		}
		if waits == 0 {
			missing++
		}
	}
	if missing > len(stays)/10 {
		t.Errorf("%d of %d waits have no stack", missing, len(stays))
	}
}

// Each of 50 processes that sleep for 5 ms has Python's functions where it slept.
func TestBriefProcessesHavePythonsFrames(t *testing.T) {
	tools.NeedPrivilege(t)
	const processes = 50
	for _, python := range tools.Pythons(t) {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-"), func(t *testing.T) {
			// The recorder reads the interpreters of running processes before the window opens.
			running := exec.Command(python, "-c", "import sys; sys.stdin.read()")
			stdin, err := running.StdinPipe()
			if err == nil {
				err = running.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stdin.Close(); _ = running.Wait() }()
			var pids []int32
			capture := tools.Record(t, filepath.Join(t.TempDir(), "brief.wprof"), []string{"-f", "py-stacks", "--stacks=+offcpu", "--offcpu-min=0"}, func() {
				for range processes + 3 {
					out, err := exec.Command(python, "-S", "-E", "testdata/python/brief.py").Output()
					pid, wrong := strconv.Atoi(strings.TrimSpace(string(out)))
					if err != nil || wrong != nil {
						t.Fatalf("%v: %s", err, out)
					}
					pids = append(pids, int32(pid))
				}
			})
			checkBrief(t, capture, pids[3:]) // the C library's unwind table may be read when the first one has needed it
		})
	}
}

// checkBrief compares the sleeps of 5 ms. Few have no end, because some hypervisors' agents leave a CPU without a switch (perf lacks those, too).
func checkBrief(t *testing.T, capture string, pids []int32) {
	t.Helper()
	slept := 0
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		if e.Kind != format.KindSwitch {
			return
		}
		since, whole := e.Switch().Since()
		state, _ := e.Switch().NextState()
		thread := r.Task(e.Switch().Next())
		if !whole || state != format.StateInterruptible || thread == nil || !slices.Contains(pids, thread.Tid) || e.Time-since < 5_000_000 {
			return
		}
		slept++
		stacks := map[int32][]takenStack{}
		stack, _ := e.Switch().Stack()
		addPython(stacks, r, e.Switch().Next(), since, stack)
		if s := stacks[thread.Tid]; len(s) != 1 || functionsOf(s[0]) != "brief.rest brief.main brief.<module>" {
			t.Errorf("process %d slept in %+v", thread.Tid, s)
		}
	}, func(*format.Reader) {})
	if slept < len(pids)*9/10 {
		t.Errorf("%d of %d processes have slept", slept, len(pids))
	}
}

func functionsOf(s takenStack) string {
	var names []string
	for _, f := range s.frames {
		names = append(names, f.function)
	}
	return strings.Join(names, " ")
}
