//go:build linux && amd64

package e2e

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wprof/internal/ruby"
	"wprof/test/tools"
)

// Each stack that is taken of a Ruby program is the one that the program itself says it was in.
func TestRubyStacksAreThoseOfTheProgram(t *testing.T) {
	tools.NeedPrivilege(t)
	for _, interpreter := range tools.Rubies(t) {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(interpreter, "/"), "/", "-"), func(t *testing.T) {
			var log pythonLog
			capture := tools.Record(t, filepath.Join(t.TempDir(), "ruby.wprof"), []string{"-f", "ruby-stacks", "-Stimer=1khz", "--stacks=+offcpu", "--offcpu-min=0"}, func() {
				out, err := exec.Command(interpreter, "testdata/ruby/truth.rb").Output()
				if err = errors.Join(err, json.Unmarshal(out, &log)); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
			taken := pythonStacksOf(t, capture)
			checkRuby(t, log.Stays, taken)
			checkRubyChildren(t, log.Children, taken)
		})
	}
}

func checkRuby(t *testing.T, stays []pythonStay, taken map[int32][]takenStack) {
	compared, wrong := 0, 0
	places := map[string]bool{}
	for _, stay := range stays {
		for i, f := range stay.Stack {
			stay.Stack[i].function = ruby.FunctionName(f.file, f.function)
		}
		for _, s := range taken[stay.TID] {
			if s.at <= stay.From || s.at >= stay.To || len(s.frames) > 0 && strings.HasSuffix(s.frames[0].function, "_stay") {
				continue
			}
			compared++
			places[lines(stay.Stack)] = true
			if !slices.Equal(s.frames, stay.Stack) || isRubyMisplaced(&s) {
				if wrong++; wrong <= 5 {
					t.Errorf("recorded %s\n%s\nthe program says\n%s", s.text, lines(s.frames), lines(stay.Stack))
				}
			}
		}
	}
	all := map[string]bool{}
	for _, stay := range stays {
		all[lines(stay.Stack)] = true
	}
	for place := range all {
		if !places[place] {
			t.Logf("no stack of\n%s", place)
		}
	}
	t.Logf("%d of %d stacks differ, in %d of %d places", wrong, compared, len(places), len(all))
	if len(places) < len(all)*9/10 {
		t.Errorf("stacks were taken in only %d of %d places", len(places), len(all))
	}
}

// isRubyMisplaced reports whether a block stands elsewhere than below the native function that calls it.
func isRubyMisplaced(s *takenStack) bool {
	return strings.Contains(s.text, "truth.block in in_each;truth.in_each")
}

// checkRubyChildren checks that processes that lived for 5 ms have the names of their methods.
func checkRubyChildren(t *testing.T, children []int32, taken map[int32][]takenStack) {
	named := 0
	for _, pid := range children {
		if slices.ContainsFunc(taken[pid], func(s takenStack) bool { return len(s.frames) > 3 && s.frames[0].function == "truth.child_of" }) {
			named++
		}
	}
	if named < len(children)*9/10 || len(children) == 0 {
		t.Errorf("%d of %d children have a stack of where they waited", named, len(children))
	}
}

// What a process has in the place of the virtual machine's memory does no more than to make frames that are none.
func TestProcessesMayLieAboutRuby(t *testing.T) {
	tools.NeedPrivilege(t)
	libraries, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.*")
	if len(libraries) == 0 {
		t.Skip("ruby is not installed")
	}
	dir := t.TempDir()
	liar, capture := filepath.Join(dir, "rubyliar"), filepath.Join(dir, "liar.wprof")
	if out, err := exec.Command("gcc", "-O1", "-o", liar, "testdata/rubyliar.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	tools.Run(t, "wprof-record", "-f", "ruby-stacks=rubyliar", "-Stimer=1khz", "--stacks=+offcpu", "--offcpu-min=0", "-o", capture, "--", liar, libraries[0],
		fmt.Sprint(rubyVariable(t, libraries[0])))
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

// rubyVariable is the address in a library of what describes the thread-local variable with the execution context.
func rubyVariable(t *testing.T, library string) uint64 {
	t.Helper()
	f, err := os.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := ruby.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parsed.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			return in.Context - (p.Off - p.Vaddr)
		}
	}
	t.Fatalf("%s has no code", library)
	return 0
}
