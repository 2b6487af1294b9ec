//go:build linux

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// generatedNames returns the names of the innermost frames of samples in generate, in the order of time, each once in a row.
func generatedNames(t *testing.T, capture []byte) (names []string, samples int) {
	t.Helper()
	eachSample(t, bytes.NewReader(capture), func(r *format.Reader, e *format.Event) {
		stack := r.Stack(e.Sample().Stack())
		task := r.Task(e.Task)
		if stack == nil || task == nil || string(task.Comm) != "generate" || len(stack.Frames) == int(stack.KernelFrames) {
			return
		}
		frame := r.Frame(stack.Frames[len(stack.Frames)-int(stack.KernelFrames)-1])
		m := r.Module(frame.Module)
		if m == nil || !strings.HasSuffix(string(m.Path), ".dump") && string(m.Path) != "//anon" {
			return
		}
		name := string(m.Path)
		if len(frame.Lines) > 0 {
			name = string(frame.Lines[0].Function)
		}
		samples++
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	})
	return names, samples
}

// TestGeneratedCodeHasTheNameOfItsTime in a jitdump, where two functions are at one address one after the other, also if the program
// removes the dump before it ends.
func TestGeneratedCodeHasTheNameOfItsTime(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, flags := range [][]string{{"500"}, {"500", "remove"}} {
		dir := t.TempDir()
		file := filepath.Join(dir, "g.wprof")
		cmd := exec.Command(tools.Path("wprof-record"), append([]string{"-Stimer=997hz", "-o", file, "--", tools.Path("generate")}, flags...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "generated code") {
			t.Fatalf("record generate %v: %v: %s", flags, err, out)
		}
		capture, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names, samples := generatedNames(t, capture)
		if got := strings.Join(names, " "); got != "first second" || samples < 20 {
			t.Errorf("generate %v: %d samples are in %s", flags, samples, got)
		}
		if len(flags) > 1 {
			continue
		}
		lines := tools.Run(t, "wprof-info", "--dump", tools.Convert(t, filepath.Join(dir, "lines.wprof"), "wprof-symbolize", file))
		for _, want := range []string{`function="first" file="/src/generated.src" line=11`, `function="second" file="/src/generated.src" line=22`} {
			if !bytes.Contains(lines, []byte(want)) {
				t.Errorf("there is no line with %s", want)
			}
		}
	}
}

// TestLiveStreamHasNamesOfGeneratedCode that is listed while it is recorded.
func TestLiveStreamHasNamesOfGeneratedCode(t *testing.T) {
	tools.NeedPrivilege(t)
	cmd := exec.Command(tools.Path("wprof-record"), "--live", "-Stimer=997hz", "--", tools.Path("generate"), "5000", "remove")
	cmd.Dir = t.TempDir()
	capture, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	names, _ := generatedNames(t, capture)
	for _, want := range []string{"first", "second"} {
		if got := strings.Join(names, " "); !strings.Contains(got, want) {
			t.Errorf("%s() has no name: samples are in %s", want, got)
		}
	}
}

// TestNodeHasNamesFromItsJitdump, which it writes when it ends.
func TestNodeHasNamesFromItsJitdump(t *testing.T) {
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "compute.js")
	if err := os.WriteFile(script, []byte(strings.Replace(computing, "10000", "1500", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "node.wprof")
	cmd := exec.Command(tools.Path("wprof-record"), "-Stimer=499hz", "-o", file, "--",
		"node", "--perf-prof", "--logfile="+filepath.Join(dir, "v8.log"), "--no-logfile-per-isolate", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	folded := tools.Run(t, "wprof-flame", "--folded", file)
	if inner := regexp.MustCompile(`;JS:\*inner [^;]*compute.js:2:[0-9]+[^;]*_\[c\] `); len(inner.FindAll(folded, -1)) == 0 {
		t.Errorf("inner() has no name:\n%s", folded)
	}
}
