//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/test/engine"
	"wprof/test/fromtext"
	"wprof/test/tools"
)

// pythonCapture has a sample in a call from Python to C and back to Python, and a wait, each with functions of the program and the kernel.
const pythonCapture = `
section host=box boot_id=b kernel_release=6.18.0 machine=x86_64 open=1000000000 close=+10000000
  cpu 0
  clock monotonic=1000000000 boottime=1000000000 realtime=1700000000000000000
  source 1 name=timer period=1000000
task 1 tid=0 pid=0 comm=swapper flags=2
task 2 tid=100 pid=100 comm=app process_comm=app start=5
module 1 path="/usr/bin/python3" build_id=01abcd kind=file
module 2 path="[python]" kind=python
module 3 path="[kernel]" kind=kernel
module 4 path="[python awaiting]" kind=python_awaiting
frame 1 module=1 offset=0x1100 caller
  line function="main"
frame 2 module=1 offset=0x1200 caller
  line function="_PyEval_EvalFrameDefault"
frame 3 module=1 offset=0x1300 caller
  line function="list_sort"
frame 4 module=2 offset=0x100001 loop=2
  line function="app.serve" file="/srv/app.py" line=10
frame 5 module=2 offset=0x200001
  line function="app.handle" file="/srv/app.py" line=20
frame 6 module=2 offset=0x300001 loop=2
  line function="app.key" file="/srv/app.py" line=30
frame 7 module=1 offset=0x1400
  line function="long_compare"
frame 8 module=3 offset=0x10
  line function="vfs_read"
frame 9 module=4 offset=0x400001 loop=2
  line function="await.main" file="/srv/app.py" line=40
frame 10 module=4 offset=0x500001
  line function="[running-task]"
stack 1 frames=1,4,5,3,6,7
stack 2 frames=1,4,8 kernel_frames=1
stack 3 frames=1,4,3,9,10,5,7
+0 cpu0 state_cpu 2 prio=120
+1000000 cpu0 sample 2 stack=1 source=1
+2000000 cpu0 switch 2 next=1 prev_state=S prev_prio=120 next_prio=120
+6000000 cpu0 switch 1 next=2 prev_state=R prev_prio=120 next_prio=120 since=+2000000 next_state=S stack=2
+7000000 cpu0 sample 2 stack=3 source=1
end close=+10000000
`

// pythonView is a choice of frames: its flags, and the two stacks that it shows.
type pythonView struct {
	flags                []string
	onCPU, wait, inATask string
}

func pythonViews() map[string]pythonView {
	combined := pythonView{nil, "main;app.serve;app.handle;list_sort;app.key;long_compare", "main;app.serve;vfs_read", "main;app.serve;list_sort;await.main;[running-task];app.handle;long_compare"}
	again := combined
	again.flags = []string{"-e", "py-stacks-only", "-e", "py-combine"}
	return map[string]pythonView{
		"default": combined, "py-combine": again,
		"py-stacks-only": {[]string{"-e", "py-stacks-only"}, "app.serve;app.handle;app.key", "app.serve;vfs_read", "app.serve;await.main;[running-task];app.handle"},
		"py-running":     {[]string{"-e", "py-running"}, combined.onCPU, combined.wait, "main;app.serve;list_sort;app.handle;long_compare"},
		"both":           {[]string{"-e", "py-running", "-e", "py-stacks-only"}, "app.serve;app.handle;app.key", "app.serve;vfs_read", "app.serve;app.handle"},
		"no-py":          {[]string{"--no-py"}, "main;_PyEval_EvalFrameDefault;list_sort;_PyEval_EvalFrameDefault;long_compare", "main;_PyEval_EvalFrameDefault;vfs_read", "main;_PyEval_EvalFrameDefault;list_sort;_PyEval_EvalFrameDefault;long_compare"},
	}
}

// Every tool that shows stacks shows those of Python as -e and --no-py say, and its functions as such.
func TestPythonViewsInAllTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "python.wprof")
	if err := os.WriteFile(file, fromtext.Stream(t, pythonCapture), 0o600); err != nil {
		t.Fatal(err)
	}
	filtered := filepath.Join(t.TempDir(), "filtered.wprof")
	tools.Run(t, "wprof-filter", "-p", "100", "-o", filtered, file)
	named := filepath.Join(t.TempDir(), "named.wprof")
	tools.Run(t, "wprof-symbolize", "-o", named, file)
	for name, view := range pythonViews() {
		for _, file := range []string{file, filtered, named} {
			t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), ".wprof"), func(t *testing.T) {
				for tool, stacks := range view.shown(t, file) {
					for _, want := range []string{view.onCPU, view.wait, view.inATask} {
						if !slices.Contains(stacks, want) {
							t.Errorf("%s shows %q\nwithout %s", tool, stacks, want)
						}
					}
				}
			})
		}
	}
}

// shown returns the stacks that each tool shows, and checks what it says of the functions.
func (v *pythonView) shown(t *testing.T, file string) map[string][]string {
	t.Helper()
	run := func(tool string, args ...string) []byte {
		return tools.Run(t, tool, append(append(args, v.flags...), file)...)
	}
	all := map[string][]string{
		"wprof-flame":            foldedStacks(string(run("wprof-flame", "--by", "none"))),
		"wprof-flame --pprof":    pprofStacks(t, run("wprof-flame", "--pprof")),
		"wprof-flame speedscope": speedscopeStacks(t, run("wprof-flame", "--speedscope")),
		"wprof-json":             jsonStacks(t, run("wprof-json")),
		"wprof-json --stream":    jsonStacks(t, run("wprof-json", "--stream")),
		"wprof-json --firefox":   firefoxStacks(t, run("wprof-json", "--firefox")),
		"wprof-json --chrome":    chromeStacks(t, run("wprof-json", "--chrome")),
	}
	return all
}

// isOfPython reports whether a function is one of Python in pythonCapture.
func isOfPython(function string) bool { return strings.HasPrefix(function, "app.") }

// awaits reports whether it is one that does not run.
func awaits(function string) bool {
	return function == "await.main" || function == "[running-task]"
}

func foldedStacks(text string) (all []string) {
	for line := range strings.Lines(text) {
		stack, _, _ := strings.Cut(line, "_[")
		stack, _, _ = strings.Cut(stack, " ")
		all = append(all, stack)
	}
	return all
}

func pprofStacks(t *testing.T, file []byte) (all []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	// What pprof itself finds in the mapping of Python's functions.
	shown, _ := tools.Pprof(t, "-traces", "-sample_index=wall", path)
	for _, trace := range strings.Split(shown, "-----------+") {
		var stack []string
		for line := range strings.Lines(trace) {
			if fields := strings.Fields(line); len(fields) > 0 && !strings.Contains(line, ":") && !strings.HasPrefix(fields[0], "--") {
				stack = append(stack, fields[len(fields)-1])
			}
		}
		slices.Reverse(stack)
		all = append(all, strings.Join(stack, ";"))
	}
	return all
}

func speedscopeStacks(t *testing.T, b []byte) (all []string) {
	t.Helper()
	var file struct {
		Profiles []struct{ Samples [][]int }
		Shared   struct{ Frames []struct{ Name, File string } }
	}
	decode(t, b, &file)
	for _, p := range file.Profiles {
		for _, s := range p.Samples {
			var names []string
			for _, i := range s {
				f := file.Shared.Frames[i]
				if isOfPython(f.Name) && f.File != "/srv/app.py" {
					t.Errorf("speedscope: %s is in %s", f.Name, f.File)
				}
				names = append(names, f.Name)
			}
			all = append(all, strings.TrimSuffix(strings.Join(names, ";"), ";[unknown (interruptible)]"))
		}
	}
	return all
}

func jsonStacks(t *testing.T, b []byte) (all []string) {
	t.Helper()
	for line := range strings.Lines(string(b)) {
		var s struct {
			T      string
			Frames []string
		}
		decode(t, []byte(line), &s)
		var names []string
		for _, f := range s.Frames {
			place, name, _ := strings.Cut(f, " ")
			if (place == "[Py]") != isOfPython(name) || (place == "[Await]") != awaits(name) {
				t.Errorf("JSON lines: %s", f)
			}
			name, _, _ = strings.Cut(name, "+0x")
			names = append(names, name)
		}
		all = append(all, strings.Join(names, ";"))
	}
	return all
}

func firefoxStacks(t *testing.T, b []byte) (all []string) {
	t.Helper()
	var file struct {
		Meta   struct{ Categories []struct{ Name string } }
		Shared struct {
			StackTable  struct{ Frame, Prefix []*int }
			FrameTable  struct{ Func, Category []int }
			FuncTable   struct{ Name []int }
			StringArray []string
		}
	}
	decode(t, b, &file)
	s := &file.Shared
	for i := range s.StackTable.Frame {
		var names []string
		for at := &i; at != nil; at = s.StackTable.Prefix[*at] {
			frame := *s.StackTable.Frame[*at]
			name := s.StringArray[s.FuncTable.Name[s.FrameTable.Func[frame]]]
			if category := file.Meta.Categories[s.FrameTable.Category[frame]].Name; (category == "Python") != isOfPython(name) || (category == "Awaiting") != awaits(name) {
				t.Errorf("Firefox: %s has the category %s", name, category)
			}
			names = append(names, name)
		}
		slices.Reverse(names)
		all = append(all, strings.Join(names, ";"))
	}
	return all
}

func chromeStacks(t *testing.T, b []byte) (all []string) {
	t.Helper()
	var file struct {
		StackFrames map[string]struct{ Name, Category, Parent string }
	}
	decode(t, b, &file)
	for id := range file.StackFrames {
		var names []string
		for ; id != ""; id = file.StackFrames[id].Parent {
			f := file.StackFrames[id]
			if (f.Category == "[python]") != isOfPython(f.Name) || (f.Category == "[python awaiting]") != awaits(f.Name) {
				t.Errorf("Chrome: %s has the category %s", f.Name, f.Category)
			}
			names = append(names, f.Name)
		}
		slices.Reverse(names)
		all = append(all, strings.Join(names, ";"))
	}
	return all
}

func decode(t *testing.T, b []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatalf("%v in %.200s", err, b)
	}
}

// A frame that stands in place of one that itself stands in place of another, or that is none of Python, is damage, and does no harm.
func TestFramesMayLieAboutTheLoop(t *testing.T) {
	for _, c := range []struct{ from, to, says string }{
		{"offset=0x300001 loop=2", "offset=0x300001 loop=4", "frame 6 stands in place of frame 4, which stands in place of another one"},
		{"offset=0x1400\n", "offset=0x1400 loop=2\n", "frame 7 stands in place of frame 2, but is none of an interpreter"},
		{"offset=0x100001 loop=2", "offset=0x100001 loop=4", "frame 4 stands in place of frame 4, which stands in place of another one"},
	} {
		file := filepath.Join(t.TempDir(), "lies.wprof")
		if err := os.WriteFile(file, fromtext.Stream(t, strings.Replace(pythonCapture, c.from, c.to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		r := tools.Try(t, time.Minute, nil, "wprof-filter", "-o", filepath.Join(t.TempDir(), "out.wprof"), file)
		if r.Status != 4 || !strings.Contains(string(r.Stderr), c.says) {
			t.Errorf("wprof-filter: status %d: %s\nwant %s", r.Status, r.Stderr, c.says)
		}
		for _, tool := range []string{"wprof-flame", "wprof-json"} {
			if r := tools.Try(t, time.Minute, nil, tool, "--no-py", file); r.Status != 0 && r.Status != 4 {
				t.Errorf("%s: status %d: %s", tool, r.Status, r.Stderr)
			}
		}
	}
}

// Perfetto has the functions of Python in a mapping of their own, and their slices in a category.
func TestPythonInPerfetto(t *testing.T) {
	engine.Need(t)
	file := filepath.Join(t.TempDir(), "python.wprof")
	if err := os.WriteFile(file, fromtext.Stream(t, pythonCapture), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, view := range pythonViews() {
		trace := filepath.Join(t.TempDir(), name+".pb")
		tools.Run(t, "wprof-perfetto", append(append([]string{"-e", "embed-stacks", "-o", trace}, view.flags...), file)...)
		rows := engine.Query(t, trace,
			"select f.name as name, m.name as module from stack_profile_frame f join stack_profile_mapping m on m.id = f.mapping",
			"select name, category from slice where category in ('STACK', 'PYTHON', 'AWAITING')")
		got := map[string]bool{}
		for _, row := range rows[0] {
			got[text(row, "name")] = true
			if (text(row, "module") == "/[python]") != isOfPython(text(row, "name")) || (text(row, "module") == "/[python awaiting]") != awaits(text(row, "name")) {
				t.Errorf("%s: %s is in %s", name, text(row, "name"), text(row, "module"))
			}
		}
		want := map[string]bool{}
		for _, function := range strings.Split(view.onCPU+";"+view.inATask, ";") {
			want[function] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: Perfetto has the functions %v, want %v", name, got, want)
		}
		slices := 0
		for _, row := range rows[1] {
			slices++
			if (text(row, "category") == "PYTHON") != isOfPython(text(row, "name")) || (text(row, "category") == "AWAITING") != awaits(text(row, "name")) {
				t.Errorf("%s: the slice %s has the category %s", name, text(row, "name"), text(row, "category"))
			}
		}
		if slices == 0 {
			t.Errorf("%s: no slices of functions", name)
		}
	}
}

func text(row engine.Row, column string) string {
	s, _ := row[column].(string)
	return s
}

// Flame graphs draw functions of Python in colours of their own, and name their kind.
func TestPythonInFlameGraphs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "python.wprof")
	if err := os.WriteFile(file, fromtext.Stream(t, pythonCapture), 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, isThere := range map[string]bool{"-epy-combine": true, "--no-py": false} {
		svg := string(tools.Run(t, "wprof-flame", "--svg", flag, file))
		for _, item := range []string{">on CPU, Python or Ruby<", ">on and off, Python or Ruby<", ">on CPU, awaiting<"} {
			if strings.Contains(svg, item) != isThere {
				t.Errorf("%s: %s is in the legend: %v", flag, item, !isThere)
			}
		}
	}
}

// Without Python's functions a recording shows the stacks that one without -f py-stacks has.
func TestNoPythonIsAsWithoutPyStacks(t *testing.T) {
	tools.NeedPrivilege(t)
	program := filepath.Join(t.TempDir(), "sorts.py")
	const source = `
import time
class Key:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return spin(self.n, other.n)
def spin(a, b):
    for _ in range(300): a + b
    return a < b
def work(until):
    while time.monotonic() < until: sorted([Key(n) for n in range(50)])
list(map(work, [time.monotonic() + 1]))
`
	if err := os.WriteFile(program, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, python := range tools.Pythons(t) {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(python, "/"), "/", "-"), func(t *testing.T) {
			stacks := map[bool]string{}
			for _, withPython := range []bool{true, false} {
				capture := filepath.Join(t.TempDir(), strconv.FormatBool(withPython)+".wprof")
				args := []string{"-Stimer=500hz", "-o", capture}
				if withPython {
					args = append(args, "-f", "py-stacks")
				}
				tools.Run(t, "wprof-record", append(args, "--", python, program)...)
				stacks[withPython] = usualCalls(string(tools.Run(t, "wprof-flame", "--on-cpu", "--no-py", "--by", "none", "--unit", "samples", capture)))
				if withPython {
					shown := string(tools.Run(t, "wprof-flame", "--on-cpu", "-e", "py-stacks-only", "--by", "none", capture))
					if !strings.Contains(shown, "sorts.<module>;sorts.work;sorts.Key.__lt__;sorts.spin ") && !strings.Contains(shown, "sorts.<module>;sorts.work;sorts.__lt__;sorts.spin ") {
						t.Errorf("-e py-stacks-only does not show the program's stack:\n%.2000s", shown)
					}
				}
			}
			if !strings.Contains(stacks[false], loopFunction) {
				return // the file is stripped: nothing shows where the calls end that are always there
			}
			if stacks[true] != stacks[false] {
				t.Errorf("recorded with Python's functions, and shown without:\n%s\nrecorded without:\n%s", stacks[true], stacks[false])
			}
		})
	}
}

const loopFunction = "_PyEval_EvalFrameDefault"

// usualCalls are the calls up to the innermost one of the interpreter's loop that most samples have.
func usualCalls(text string) (most string) {
	all := map[string]int{}
	for line := range strings.Lines(text) {
		stack, count, _ := strings.Cut(line, " ")
		n, _ := strconv.Atoi(strings.TrimSpace(count))
		if at := strings.LastIndex(stack, loopFunction); at >= 0 {
			stack = stack[:at+len(loopFunction)]
		}
		if all[stack] += n; all[stack] > all[most] {
			most = stack
		}
	}
	return most
}
