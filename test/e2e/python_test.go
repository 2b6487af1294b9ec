//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// pythonFrame is a function of Python as testdata/python/truth.py prints it.
type pythonFrame struct {
	function, file string
	line           uint32
	awaits         bool // it does not run
}

func (f *pythonFrame) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&f.function, &f.file, &f.line, &f.awaits})
}

// pythonStay is a time in which a thread was in one stack, innermost frame first.
type pythonStay struct {
	TID      int32
	From, To int64
	Stack    []pythonFrame
	// Innermost is the function in which the thread is compared, if it is also in others in that time.
	Innermost string
}

// pythonLog is what a program says.
type pythonLog struct {
	Stays    []pythonStay
	Children []int32 // that it has forked
}

// Each stack that is taken of a Python program is the one that the program itself says it was in.
func TestPythonStacksAreThoseOfTheProgram(t *testing.T) {
	tools.NeedPrivilege(t)
	said, taken := recordPythons(t, tools.Pythons(t), "testdata/python/truth.py")
	for python, log := range said {
		t.Run(pythonName(python), func(t *testing.T) {
			if checkPython(t, log.Stays, taken) == 0 {
				t.Error("no stack is in another interpreter")
			}
			checkChildren(t, log.Children, taken)
		})
	}
}

// pythonName is the name of the test of an interpreter.
func pythonName(python string) string {
	return strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-")
}

// recordPythons records a program, which each of the interpreters runs, and returns what it says, and the stacks that were taken.
func recordPythons(t *testing.T, pythons []string, program string) (said map[string]pythonLog, taken map[int32][]takenStack) {
	t.Helper()
	said = map[string]pythonLog{}
	capture := tools.Record(t, filepath.Join(t.TempDir(), "python.wprof"), []string{"-f", "py-stacks", "-Stimer=1khz", "--stacks=+offcpu", "--offcpu-min=0"}, func() {
		var running sync.WaitGroup
		var mu sync.Mutex
		for _, python := range pythons {
			running.Go(func() {
				out, err := exec.Command(python, program).Output()
				var log pythonLog
				if err = errors.Join(err, json.Unmarshal(out, &log)); err != nil {
					t.Errorf("%s: %v", python, err)
				}
				mu.Lock()
				defer mu.Unlock()
				said[python] = log
			})
		}
		running.Wait()
	})
	return said, pythonStacksOf(t, capture)
}

// takenStack is one that the recorder has taken, of a time at which the thread stood still.
type takenStack struct {
	at     int64
	frames []pythonFrame
	text   string // with the native frames
	outer  string // of text, from Python's innermost frame on
	whole  bool   // it reaches the thread's first function, which is a native one
}

func pythonStacksOf(t *testing.T, capture string) map[int32][]takenStack {
	t.Helper()
	f, err := os.Open(capture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[int32][]takenStack{}
	tools.Walk(t, f, func(r *format.Reader, e *format.Event) {
		switch e.Kind {
		case format.KindSample:
			addPython(all, r, e.Task, e.Time, e.Sample().Stack())
		case format.KindSwitch:
			if since, ok := e.Switch().Since(); ok {
				stack, _ := e.Switch().Stack()
				addPython(all, r, e.Switch().Next(), since, stack)
			}
		}
	})
	return all
}

func addPython(all map[int32][]takenStack, r *format.Reader, task format.TaskID, at int64, id format.StackID) {
	thread, stack := r.Task(task), r.Stack(id)
	if thread == nil || stack == nil || stack.UserEnd != uint32(format.StackEnd_STACK_END_ROOT) && stack.UserEnd != uint32(format.StackEnd_STACK_END_DEPTH) {
		return
	}
	s := takenStack{at: at, whole: stack.UserEnd == uint32(format.StackEnd_STACK_END_ROOT)}
	var text []string
	for _, id := range slices.Backward(stack.Frames[:len(stack.Frames)-int(stack.KernelFrames)]) {
		frame := r.Frame(id)
		name := "?"
		if len(frame.Lines) > 0 {
			name = string(frame.Lines[0].Function)
		}
		text = append(text, name)
		if m := r.Module(frame.Module); m.IsInterpreted() {
			s.frames = append(s.frames, pythonFrame{name, string(frame.Lines[0].File), frame.Lines[0].Line, m.IsAwaiting()})
		}
		if len(s.frames) > 0 {
			s.outer += ";" + name
		}
	}
	s.text = strings.Join(text, ";")
	all[thread.Tid] = append(all[thread.Tid], s)
}

// checkPython compares stacks with those that a program says. It returns how many of them were in another interpreter.
func checkPython(t *testing.T, stays []pythonStay, taken map[int32][]takenStack) (inSub int) {
	t.Helper()
	compared, wrong := 0, 0
	for _, stay := range stays {
		for _, s := range taken[stay.TID] {
			if s.at <= stay.From || s.at >= stay.To || isOfTheLog(s) || !stay.isIn(s) {
				continue
			}
			compared++
			if stay.Innermost != "" {
				inSub++
			}
			// The interpreter may just have been called for a function, or be about to return from it.
			if strings.Contains(s.outer, "_PyEval_EvalFrame") || s.isMisplaced() || !slices.EqualFunc(s.frames, stay.Stack, sameFrame) {
				if wrong++; wrong <= 5 {
					t.Errorf("recorded %s\n%s\nthe program says\n%s", s.text, lines(s.frames), lines(stay.Stack))
				}
			}
		}
	}
	t.Logf("%d of %d stacks differ, in %d places", wrong, compared, len(stays))
	if compared < len(stays)/3 {
		t.Errorf("only %d stacks were taken in %d places", compared, len(stays))
	}
	return inSub
}

// checkChildren checks that processes that lived for some ms have the names of their functions.
func checkChildren(t *testing.T, children []int32, taken map[int32][]takenStack) {
	named := 0
	for _, pid := range children {
		if slices.ContainsFunc(taken[pid], func(s takenStack) bool { return len(s.frames) == 3 && s.frames[0].function == "truth.child" }) {
			named++
		}
	}
	if named < len(children)*9/10 {
		t.Errorf("%d of %d children have a stack of where they waited", named, len(children))
	}
}

// Threads that are blocked when the window closes have the stack that the program says they block in, whether they have run in the window or not.
func TestBlockedThreadsHavePythonsFrames(t *testing.T) {
	tools.NeedPrivilege(t)
	all := tools.Pythons(t)
	var running []*exec.Cmd
	said := map[string][]pythonStay{}
	start := func(when string) {
		var starting sync.WaitGroup
		var mu sync.Mutex
		for _, python := range all {
			for _, interpreters := range []string{"one", "sub"} {
				starting.Go(func() {
					cmd, stays, err := startBlocks(python, "testdata/python/blocks.py", interpreters)
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Errorf("%s: %v", python, err)
						return
					}
					running = append(running, cmd)
					said[fmt.Sprintf("%s/%s/%s", pythonName(python), when, interpreters)] = stays
				})
			}
		}
		starting.Wait()
	}
	start("before")
	capture := tools.Record(t, filepath.Join(t.TempDir(), "python.wprof"), []string{"-f", "py-stacks"}, func() { start("in") })
	for _, cmd := range running {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	blocked := blockedPythonStacks(t, capture)
	for name, stays := range said {
		t.Run(name, func(t *testing.T) {
			for _, stay := range stays {
				s, ok := blocked[stay.TID]
				if !ok || len(s) != 1 || s[0].isMisplaced() || !slices.EqualFunc(s[0].frames, stay.Stack, sameFrame) || strings.Contains(s[0].outer, "_PyEval_EvalFrame") {
					t.Errorf("%d: recorded %+v\nthe program says\n%s", stay.TID, s, lines(stay.Stack))
				}
			}
		})
	}
}

// startBlocks starts a program whose threads block, and returns what it says about them.
func startBlocks(python, program, argument string) (cmd *exec.Cmd, stays []pythonStay, err error) {
	cmd = exec.Command(python, program, argument)
	if _, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	var log pythonLog
	if err := json.NewDecoder(out).Decode(&log); err != nil {
		return nil, nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd, log.Stays, nil
}

// blockedPythonStacks are the stacks of threads that are blocked at the end of a capture.
func blockedPythonStacks(t *testing.T, capture string) map[int32][]takenStack {
	t.Helper()
	all := map[int32][]takenStack{}
	tools.WalkFile(t, capture, func(r *format.Reader, e *format.Event) {
		if e.Kind == format.KindStateThread && e.Flags&format.FlagOpen != 0 {
			if stack, ok := e.StateThread().Stack(); ok {
				addPython(all, r, e.Task, e.Time, stack)
			}
		}
	}, func(*format.Reader) {})
	return all
}

// isMisplaced reports whether Python's functions stand elsewhere than between the native ones that call them, as sorted() does here.
func (s *takenStack) isMisplaced() bool {
	const called = `(truth\.(Shape\.)?__lt__;truth\.main|blocks\.(calls_back\.<locals>\.)?<lambda>;blocks\.calls_back)(;|$)`
	return regexp.MustCompile(called).MatchString(s.text) || s.whole && len(s.frames) > 0 && strings.HasSuffix(s.text, ";"+s.frames[len(s.frames)-1].function)
}

// isIn reports whether a stack is one of the place.
func (s *pythonStay) isIn(taken takenStack) bool {
	return s.Innermost == "" || len(taken.frames) > 0 && strings.HasSuffix(taken.frames[0].function, s.Innermost)
}

// isOfTheLog reports whether the program was in the functions that write its log.
func isOfTheLog(s takenStack) bool {
	return len(s.frames) > 0 && (regexp.MustCompile(`^(truth|tasks)\.(begin|end)$`).MatchString(s.frames[0].function))
}

func sameFrame(recorded, said pythonFrame) bool {
	return recorded.awaits == said.awaits && strings.HasSuffix(recorded.function, said.function) && (said.file == "" || recorded.file == said.file && recorded.line == said.line)
}

func lines(frames []pythonFrame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "  %s %s:%d\n", f.function, f.file, f.line)
	}
	return b.String()
}

// What a process has in the place of an interpreter's memory does no more than to make frames that are none.
func TestProcessesMayLieAboutPython(t *testing.T) {
	tools.NeedPrivilege(t)
	const library = "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"
	if _, err := os.Stat(library); err != nil {
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	liar, capture := filepath.Join(dir, "liar"), filepath.Join(dir, "liar.wprof")
	if out, err := exec.Command("gcc", "-O1", "-o", liar, "testdata/liar.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	tools.Run(t, "wprof-record", "-f", "py-stacks=liar", "-Stimer=1khz", "--stacks=+offcpu", "--offcpu-min=0", "-o", capture, "--", liar, library)
	stacks, deepest := 0, 0
	for _, all := range pythonStacksOf(t, capture) {
		for _, s := range all {
			if len(s.frames) > 0 {
				stacks++
				deepest = max(deepest, len(s.frames))
			}
		}
	}
	t.Logf("%d stacks with up to %d frames", stacks, deepest)
	if stacks < 20 || deepest < 100 {
		t.Errorf("%d stacks have frames, the deepest %d: too few for a test", stacks, deepest)
	}
	for line := range bytes.Lines(tools.Run(t, "wprof-json", capture)) {
		if !json.Valid(line) {
			t.Fatalf("a line is no JSON: %.200q", line)
		}
	}
}

// Code that a stack cannot be walked out of, as that of some numeric libraries, is called by the functions of Python that call it.
func TestPythonCallsCodeWithoutUnwindTables(t *testing.T) {
	tools.NeedPrivilege(t)
	library := filepath.Join(t.TempDir(), "bare.so")
	if out, err := exec.Command("gcc", "-shared", "-nostdlib", "-o", library, "testdata/python/bare.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, python := range tools.Pythons(t) {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-"), func(t *testing.T) {
			program := exec.Command(python, "testdata/python/bare.py")
			program.Env = append(os.Environ(), "LD_PRELOAD="+library)
			var w *tools.Workload
			capture := tools.Record(t, filepath.Join(t.TempDir(), "bare.wprof"), []string{"-f", "py-stacks"}, func() {
				w = tools.StartWorkload(t, program)
				w.Until("ready")
			})
			for view, want := range map[string]string{
				"--on-cpu":  ";bare.<module>;bare.computes;getloadavg",
				"--off-cpu": ";bare.sleeps;sync",
			} {
				stacks := tools.Run(t, "wprof-flame", view, "-p", w.PIDText(), capture)
				of := []byte(want[strings.LastIndexByte(want, ';'):])
				taken, wrong := 0, 0
				for stack := range bytes.Lines(stacks) {
					if bytes.Contains(stack, of) {
						taken++
						if !bytes.Contains(stack, []byte(want)) {
							wrong++
							t.Logf("%s", stack)
						}
					}
				}
				if taken == 0 || wrong > 0 {
					t.Errorf("%s: %d of %d stacks lack %s:\n%s", view, wrong, taken, want, stacks)
				}
			}
			summary := tools.Run(t, "wprof-info", tools.Convert(t, filepath.Join(t.TempDir(), "one.wprof"), "wprof-filter", "-p", w.PIDText(), capture))
			if !bytes.Contains(summary, []byte("  "+library+"\n")) || bytes.Contains(summary, []byte("  [python]\n")) {
				t.Errorf("stacks do not end in %s:\n%s", library, summary)
			}
		})
	}
}
